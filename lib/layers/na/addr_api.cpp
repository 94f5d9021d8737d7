// Addresses.
#include <cstring>

#include "lib/layers/na/arguments.hpp"
#include "lib/layers/na/direct.hpp"

using na::addr;
using na::check;
using na::check_not_null;

na_return_t NA_Addr_lookup(na_class_t* na_class, na_context_t* context, na_cb_t callback, void* arg, const char* name,
                           na_op_id_t* op_id) {
  constexpr const char* function = "NA_Addr_lookup";
  if (const na_return_t bad = check(function, na_class, context)) return bad;
  if (const na_return_t bad = check_not_null(function, "name", name)) return bad;
  return na::guarded(function, [&] {
    (void)na::url::parse(name);  // a malformed name fails here, not in the callback
    na::operation* const op = na_class->begin(context, NA_CB_LOOKUP, callback, arg);
    op->found = NA_ADDR_NULL;
    na::tell(op_id, na::operation_pool::id_of(*op));
    try {
      na_class->searching.start(*na_class, op, name);
    } catch (...) {
      na_class->operations.give_back(op);
      throw;
    }
    return NA_SUCCESS;
  });
}

na_return_t NA_Addr_lookup_wait(na_class_t* na_class, const char* name, na_addr_t* found) {
  constexpr const char* function = "NA_Addr_lookup_wait";
  if (const na_return_t bad = check(function, na_class)) return bad;
  if (const na_return_t bad = check_not_null(function, "name", name)) return bad;
  if (const na_return_t bad = check_not_null(function, "addr", found)) return bad;
  const std::atomic<bool> never{false};
  return NA_Direct_lookup(na_class, name, found, never);
}

na_return_t NA_Direct_lookup(na_class_t* na_class, const char* name, na_addr_t* found,
                             const std::atomic<bool>& gives_up) {
  return na::guarded("NA_Addr_lookup_wait",
                     [&] { return *found = na_class->searching.find(*na_class, name, gives_up), NA_SUCCESS; });
}

na_return_t NA_Addr_free(na_class_t* na_class, na_addr_t value) {
  constexpr const char* function = "NA_Addr_free";
  if (const na_return_t bad = check(function, na_class)) return bad;
  addr a;
  // Addresses own no memory. The program may also free the address of a peer that has disconnected.
  const na_return_t code = check(function, na_class, value, &a);
  return code == NA_INVALID_PARAM ? code : NA_SUCCESS;
}

na_return_t NA_Addr_self(na_class_t* na_class, na_addr_t* found) {
  constexpr const char* function = "NA_Addr_self";
  if (const na_return_t bad = check(function, na_class)) return bad;
  if (const na_return_t bad = check_not_null(function, "addr", found)) return bad;
  *found = na_class->book->of(0);
  return NA_SUCCESS;
}

na_return_t NA_Addr_dup(na_class_t* na_class, na_addr_t value, na_addr_t* new_addr) {
  constexpr const char* function = "NA_Addr_dup";
  if (const na_return_t bad = check(function, na_class)) return bad;
  if (const na_return_t bad = check_not_null(function, "new_addr", new_addr)) return bad;
  addr a;
  const na_return_t code = check(function, na_class, value, &a);
  if (code == NA_INVALID_PARAM) return code;
  *new_addr = value;
  return NA_SUCCESS;
}

na_bool_t NA_Addr_is_self(na_class_t* na_class, na_addr_t value) {
  constexpr const char* function = "NA_Addr_is_self";
  addr a;
  if (check(function, na_class) || check(function, na_class, value, &a)) return NA_FALSE;
  return a.rank == 0 ? NA_TRUE : NA_FALSE;
}

na_return_t NA_Addr_to_string(na_class_t* na_class, char* buf, na_size_t buf_size, na_addr_t value) {
  constexpr const char* function = "NA_Addr_to_string";
  if (const na_return_t bad = check(function, na_class)) return bad;
  if (const na_return_t bad = check_not_null(function, "buf", buf)) return bad;
  addr a;
  if (const na_return_t bad = na::check_last(function, na_class, value, &a)) return bad;
  return na::guarded(function, [&] {
    std::string name;
    if (!na_class->book->name_of(a, &name)) return NA_PROTOCOL_ERROR;
    if (name.size() >= buf_size)
      return na::refuse(NA_SIZE_ERROR, function, "buf_size is %llu, the address needs %zu bytes",
                        static_cast<unsigned long long>(buf_size), name.size() + 1);
    std::memcpy(buf, name.c_str(), name.size() + 1);
    return NA_SUCCESS;
  });
}
