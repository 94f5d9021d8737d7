// Checks of arguments of the functions of na.h. Each prints a line for misuse and returns an error code.
#pragma once

#include <na.h>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/context.hpp"
#include "lib/layers/na/errors.hpp"

namespace na {

inline na_return_t check(const char* function, const na_class_t* c) {
  return valid(c) ? NA_SUCCESS : refuse(NA_INVALID_PARAM, function, "na_class is no class of NA_Initialize()");
}

inline na_return_t check(const char* function, const na_class_t* c, const na_context_t* x) {
  if (const na_return_t bad = check(function, c)) return bad;
  return valid(c, x) ? NA_SUCCESS
                     : refuse(NA_INVALID_PARAM, function, "context is no context of this class, or was destroyed");
}

/// A stale address is not misuse, since the program can't know when a peer disconnects: no line is printed for it.
inline na_return_t check(const char* function, const na_class_t* c, na_addr_t value, addr* to) {
  if (value == NA_ADDR_NULL) return refuse(NA_INVALID_PARAM, function, "the address is NA_ADDR_NULL");
  if (!c->book->decode(value, to)) return refuse(NA_INVALID_PARAM, function, "the address is none of this class");
  return c->book->valid(*to) ? NA_SUCCESS : NA_PROTOCOL_ERROR;
}

/// For what is possible with a peer that has left, too.
inline na_return_t check_last(const char* function, const na_class_t* c, na_addr_t value, addr* to) {
  const na_return_t code = check(function, c, value, to);
  return code == NA_PROTOCOL_ERROR && c->book->is_last(*to) ? NA_SUCCESS : code;
}

inline na_return_t check_not_null(const char* function, const char* argument, const void* value) {
  return value != nullptr ? NA_SUCCESS : refuse(NA_INVALID_PARAM, function, "%s is NULL", argument);
}

/// Stores the number of the operation, unless the program does not want it.
inline void tell(na_op_id_t* op_id, na_op_id_t id) {
  if (op_id != nullptr && op_id != NA_OP_ID_IGNORE) *op_id = id;
}

}  // namespace na
