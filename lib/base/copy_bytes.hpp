// memcpy() and memmove() without the distances for which they take many times as long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/cpu.hpp"

namespace lci {

/// What decides whether a copy is slow. Processors that copy by `rep movsb`, as glibc and the kernel do there from some
/// size on, may take 5 to 30 times as long where the destination's place in its page is a little behind the source's
/// (AMD EPYC 7003, docs/decisions/0052). Other instructions don't.
struct copy_distance {
  static constexpr uintptr_t page = 4096;
  static constexpr uintptr_t slow_below = 32;  // bytes
  /// Shorter copies use other instructions in any glibc.
  static constexpr size_t largest_unaffected = 2048;
  /// Bytes of a step of a copy in steps: too few for `rep movsb`, and enough for the processor to load ahead.
  static constexpr size_t step = 512;

  static bool is_slow(const void* to, const void* from) {
    const uintptr_t apart = (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from)) % page;
    return apart - 1 < slow_below - 1;
  }
  static bool is_slow(const void* to, const void* from, size_t size) {
    return LCI_UNLIKELY(size > largest_unaffected) && is_slow(to, from);
  }
  LCI_NOINLINE static void copy_in_steps(void* to, const void* from, size_t size) {
    auto* const dest = static_cast<std::byte*>(to);
    const auto* const src = static_cast<const std::byte*>(from);
    for (size_t at = 0; at < size; at += step) {
      size_t n = std::min(step, size - at);
      // A compiler that knew the limit of n could copy inline by the same instruction.
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
  const uintptr_t distance = reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
  const bool apart = distance >= size && -distance >= size;
  if (LCI_UNLIKELY(copy_distance::is_slow(to, from, size)) && apart)
    return copy_distance::copy_in_steps(to, from, size);
  std::memmove(to, from, size);
}

}  // namespace lci
