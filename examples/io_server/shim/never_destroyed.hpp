// Global objects of this library.
#pragma once

#include <new>

namespace io_shim {

/// The one object of this type that this function is called for. Not destroyed, since programs call functions until
/// they exit. It takes no memory of malloc(), which may be the program's and call functions of this library when it
/// begins: jemalloc calls readlink(), open(), read() and close() while it holds a lock.
template <class T>
T& never_destroyed() {
  alignas(T) static char memory[sizeof(T)];
  static T& object = *new (memory) T;
  return object;
}

}  // namespace io_shim
