// Checks of the handles that operations get to free their objects.
#pragma once

#include "lib/base/check.hpp"

namespace lci::core {

/// Throws unless the user's handle is that of an object.
template <class Handle>
void check_allocated(const char* operation, const char* argument, const Handle* handle) {
  if (handle == nullptr || handle->is_empty()) throw_invalid(operation, argument, "empty", "an allocated object");
}

/// Returns the object of the user's handle, and empties the handle.
template <class Handle>
auto* take(const char* operation, const char* argument, Handle* handle) {
  check_allocated(operation, argument, handle);
  auto* impl = handle->p_impl;
  *handle = Handle();
  return impl;
}

/// Throws for a default object of a runtime, unless `given` is the runtime's own handle: only the runtime frees it.
template <class Handle>
void refuse_default(const char* operation, const char* argument, const Handle* given, const Handle& its_own) {
  if (given != &its_own && *given == its_own)
    throw_invalid(operation, argument, "a default one of its runtime", "one that the program has allocated",
                  "free_runtime() frees the runtime's own");
}

}  // namespace lci::core
