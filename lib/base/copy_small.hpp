// Inline copies of a few bytes.
#pragma once

#include <cstddef>
#include <cstring>

#include "lib/base/cpu.hpp"

namespace lci {

/// Copies whole words from the front, and a last one that ends where the data ends. For less than a cache line:
/// for more, memcpy() is faster. The ranges must not overlap.
inline void copy_small(std::byte* to, const void* from, size_t n) {
  const auto* src = static_cast<const std::byte*>(from);
  if (LCI_LIKELY(n >= 8)) {
    std::memcpy(to, src, 8);
    for (size_t i = 8; i + 8 < n; i += 8) std::memcpy(to + i, src + i, 8);
    std::memcpy(to + n - 8, src + n - 8, 8);
  } else if (n >= 4) {
    std::memcpy(to, src, 4);
    std::memcpy(to + n - 4, src + n - 4, 4);
  } else {
    for (size_t i = 0; i < n; ++i) to[i] = src[i];
  }
}

}  // namespace lci
