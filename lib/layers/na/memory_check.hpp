// The check of arguments that are memory handles.
#pragma once

#include "lib/layers/na/errors.hpp"
#include "lib/layers/na/memory.hpp"

namespace na {

/// Prints a line and returns an error code if the argument is not a memory handle. For a freed handle this reads freed
/// memory, which detects most such errors of C programs.
inline na_return_t check_memory(const char* function, const char* argument, na_mem_handle_t handle, memory** to) {
  if (handle == NA_MEM_HANDLE_NULL) return refuse(NA_INVALID_PARAM, function, "%s is NA_MEM_HANDLE_NULL", argument);
  *to = static_cast<memory*>(handle);
  if ((*to)->magic == memory::alive) return NA_SUCCESS;
  return refuse(NA_INVALID_PARAM, function, "%s is no handle of memory, or was freed", argument);
}

}  // namespace na
