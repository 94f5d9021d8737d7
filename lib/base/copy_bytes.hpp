// memcpy() and memmove(), also where the two addresses make those slow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/cpu.hpp"

namespace lci {

/// Decides by the two addresses whether a copy is slow. From some size on glibc and the kernel copy by the instruction
/// `rep movsb`. On AMD EPYC 7003 it takes 5 to 30 times as long if (destination - source) modulo the page size is 1 to
/// 31; vector instructions don't. See docs/decisions/0052.
struct copy_distance {
  static constexpr uintptr_t page = 4096;
  static constexpr uintptr_t slow_below = 32;  // bytes
  /// Bytes. By default glibc copies so few by vector instructions on every processor.
  static constexpr size_t largest_unaffected = 2048;
  /// Bytes that copy_in_steps() copies by one memcpy(): few enough that glibc uses vector instructions.
  static constexpr size_t step = 512;

  static bool is_slow(const void* to, const void* from) {
    const uintptr_t apart = (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % page;
    return apart - 1 < slow_below - 1;
  }
  static bool is_slow(const void* to, const void* from, size_t size) {
    return LCI_UNLIKELY(size > largest_unaffected) && is_slow(to, from);
  }
  /// Copies without `rep movsb`. The ranges must not overlap.
  LCI_NOINLINE static void copy_in_steps(void* to, const void* from, size_t size) {
    auto* const dest = static_cast<std::byte*>(to);
    const auto* const src = static_cast<const std::byte*>(from);
    for (size_t at = 0; at < size; at += step) {
      size_t n = std::min(step, size - at);
      // Hides n's limit from the compiler, which might otherwise use `rep movsq` instead of the call.
      asm("" : "+r"(n));
      std::memcpy(dest + at, src + at, n);
    }
  }
};

/// As memcpy(): the ranges must not overlap.
inline void copy_bytes(void* to, const void* from, size_t size) {
  if (LCI_UNLIKELY(copy_distance::is_slow(to, from, size))) return copy_distance::copy_in_steps(to, from, size);
  std::memcpy(to, from, size);
}

/// As memmove(): the ranges may overlap.
inline void move_bytes(void* to, const void* from, size_t size) {
  if (LCI_UNLIKELY(copy_distance::is_slow(to, from, size))) {
    const uintptr_t distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
    const bool overlap = distance < size || -distance < size;
    if (!overlap) return copy_distance::copy_in_steps(to, from, size);
  }
  std::memmove(to, from, size);
}

}  // namespace lci
