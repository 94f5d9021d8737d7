#include "lib/base/mapped.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace lci {

bool is_mapped(const void* base, size_t size) {
  if (size == 0) return true;
  static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t at_once = 1024;
  unsigned char unused[at_once];
  const auto begin = reinterpret_cast<uintptr_t>(base);
  const uintptr_t end = begin + size;
  for (uintptr_t at = begin / page * page; at < end;) {
    const size_t pages = std::min<size_t>(at_once, (end - at + page - 1) / page);
    if (mincore(reinterpret_cast<void*>(at), pages * page, unused) != 0 && errno != EAGAIN) return false;
    at += pages * page;
  }
  return true;
}

}  // namespace lci
