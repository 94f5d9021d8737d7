// A range of memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci {

struct range {
  uintptr_t begin = 0;
  size_t size = 0;  // less than 2^63

  bool overlaps(const range& other) const {
    return size > 0 && other.size > 0 && (other.begin - begin < size || begin - other.begin < other.size);
  }
};

inline range range_of(const void* begin, size_t size) { return {reinterpret_cast<uintptr_t>(begin), size}; }

}  // namespace lci
