// Errors of NA: a code for the program and a line on standard error.
#pragma once

#include <na.h>

#include <exception>
#include <new>

#include "lci.hpp"

namespace na {

/// Prints "na: FUNCTION: TEXT" on standard error. Returns `code`. Thread-safe.
na_return_t refuse(na_return_t code, const char* function, const char* format, ...) noexcept
    __attribute__((format(printf, 3, 4)));

/// Translates the status of an operation to a code of NA. `cancelled`: the program has cancelled the operation. If it
/// has not, the core's status `cancelled` means that the peer has disconnected.
na_return_t code_of(lci::status_t status, bool cancelled) noexcept;

/// Returns whether the exception reports that there was no memory, so that a later attempt may succeed.
inline bool is_shortage(const std::exception& e) {
  return dynamic_cast<const std::bad_alloc*>(&e) != nullptr || dynamic_cast<const lci::resource_error*>(&e) != nullptr;
}

/// Calls `f`, which returns a code, and translates exceptions to codes, since a C program can't catch them. Prints a
/// line for each exception except peer_failure_error, which is no error of the program.
template <class F>
na_return_t guarded(const char* function, F f) noexcept {
  try {
    return f();
  } catch (const lci::peer_failure_error&) {
    return NA_PROTOCOL_ERROR;
  } catch (const lci::invalid_argument_error& e) {
    return refuse(NA_INVALID_PARAM, function, "%s", e.what());
  } catch (const std::bad_alloc&) {
    return refuse(NA_NOMEM_ERROR, function, "no memory is left");
  } catch (const lci::resource_error& e) {
    return refuse(NA_NOMEM_ERROR, function, "%s", e.what());
  } catch (const std::exception& e) {
    return refuse(NA_PROTOCOL_ERROR, function, "%s", e.what());
  }
}

}  // namespace na
