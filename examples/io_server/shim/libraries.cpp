// Replaces dlopen() and dlmopen(). The dynamic linker opens files by system calls of its own, which the shim can't
// replace. So for a remote path these functions fail; otherwise the linker would load a local file of the same name.
#include <dlfcn.h>

#include <cstring>
#include <new>
#include <string>

#include "paths.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

thread_local std::string library_path;

/// The path for the real function, valid until the thread's next call. A name without a slash is searched in folders of
/// the system.
const char* path_of_library(const char* path) noexcept {
  if (path == nullptr || std::strchr(path, '/') == nullptr) return path;
  const place p(path);
  if (!p.remote()) {
    if (p.local() == path) return path;
    library_path = p.local();
    return library_path.c_str();
  }
  try {
    library_path = outer(p.inner()) + "/";  // no file has such a path
    return library_path.c_str();
  } catch (const std::bad_alloc&) {
    return configured().prefix.data();  // a folder, thus no library
  }
}

}  // namespace

}  // namespace io_shim

// The real functions search where their caller's library says. They find the caller by their return address, so these
// calls must be jumps, which needs the optimization.
#define IO_JUMPS __attribute__((optimize("O2")))
IO_EXPORT IO_JUMPS void* dlopen(const char* path, int flags) noexcept {
  path = io_shim::path_of_library(path);
  return IO_REAL(dlopen)(path, flags);
}
IO_EXPORT IO_JUMPS void* dlmopen(Lmid_t space, const char* path, int flags) noexcept {
  path = io_shim::path_of_library(path);
  return IO_REAL(dlmopen)(space, path, flags);
}
