// Copies of many bytes, which use what the copy before has left in the caches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/cpu.hpp"

namespace lci {

/// Which way a thread's next large copy goes: one between the same places as the copy before goes the other way,
/// because the bytes that were copied last are still in the caches. Others go upwards. One for each thread; not thread-safe.
class copy_direction {
 public:
  bool goes_down(const void* to, const void* from) {
    down_ = to == to_ && from == from_ && !down_;
    to_ = to;
    from_ = from;
    return down_;
  }

 private:
  const void* to_ = nullptr;
  const void* from_ = nullptr;
  bool down_ = false;
};

/// memmove() of any size, for copies by a program's puts and gets, which are often repeated between the same buffers.
/// Above largest_usual bytes, which fit in the first cache twice, the order of the bytes changes as copy_direction says.
class large_copy {
 public:
  static constexpr size_t largest_usual = size_t{16} << 10;

  static void copy(void* to, const void* from, size_t size) {
    if (LCI_LIKELY(size <= largest_usual) || !copy_by_pieces(to, from, size)) std::memmove(to, from, size);
  }
  /// Copies `size` bytes, the last piece first. The ranges must not overlap.
  static void copy_down(void* to, const void* from, size_t size) {
    const size_t piece = size < fewest_in_long ? short_piece : long_piece;
    auto* const dest = static_cast<std::byte*>(to);
    const auto* const src = static_cast<const std::byte*>(from);
    while (size > 0) {
      const size_t n = std::min(size, piece);
      size -= n;
      std::memcpy(dest + size, src + size, n);
    }
  }

 private:
  // Pieces are copied upwards, as that is what memcpy() is fastest at. The shorter they are, the more of the copy before
  // is found again in the first cache; the longer, the less they cost.
  static constexpr size_t short_piece = size_t{8} << 10;
  static constexpr size_t long_piece = size_t{16} << 10;
  static constexpr size_t fewest_in_long = size_t{128} << 10;

  /// False: the copy goes upwards, and was not done.
  LCI_NOINLINE static bool copy_by_pieces(void* to, const void* from, size_t size) {
    static constinit thread_local copy_direction mine;
    const bool down = mine.goes_down(to, from);
    const uintptr_t distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
    if (!down || distance < size || -distance < size) return false;
    copy_down(to, from, size);
    return true;
  }
};

}  // namespace lci
