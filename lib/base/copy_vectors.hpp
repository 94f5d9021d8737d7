// Copies by vectors of 32 bytes, where the processor has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#define LCI_WITH_VECTORS __attribute__((target("avx2")))
#else
#define LCI_WITH_VECTORS
#endif

namespace lci {

/// Copies by loads and stores of 32 bytes, from the first to the last byte or the other way. On x86 these functions are
/// compiled for AVX2, although the rest of the library is not: call them only if is_usable() is true.
class vector_copy {
 public:
  /// Returns whether this processor has AVX2. Other architectures use memcpy().
  static bool is_usable() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
  }

  /// Copies `size` bytes, the first ones first. The ranges must not overlap.
  LCI_WITH_VECTORS static void up(void* to, const void* from, size_t size) {
    auto* dest = static_cast<std::byte*>(to);
    const auto* src = static_cast<const std::byte*>(from);
    const size_t before = -reinterpret_cast<uintptr_t>(dest) % line;
    if (before + turn > size) return void(std::memcpy(dest, src, size));
    // The loop begins with a line of the target: a store into two lines costs twice.
    std::memcpy(dest, src, before);
    for (dest += before, src += before, size -= before; size >= turn; dest += turn, src += turn, size -= turn)
      move_turn(dest, src);
    std::memcpy(dest, src, size);
  }

  /// Copies `size` bytes, the last ones first. The ranges must not overlap.
  LCI_WITH_VECTORS static void down(void* to, const void* from, size_t size) {
    auto* const dest = static_cast<std::byte*>(to);
    const auto* const src = static_cast<const std::byte*>(from);
    const size_t behind = reinterpret_cast<uintptr_t>(dest + size) % line;
    if (behind + turn > size) return void(std::memcpy(dest, src, size));
    size -= behind;
    std::memcpy(dest + size, src + size, behind);
    while (size >= turn) {
      size -= turn;
      move_turn(dest + size, src + size);
    }
    std::memcpy(dest, src, size);
  }

 private:
  static constexpr size_t line = 64;
  /// Bytes that a turn of the loops loads before it stores them.
  static constexpr size_t turn = 128;
  typedef long long vector __attribute__((vector_size(32)));
  /// At any address, in memory of any type.
  struct __attribute__((packed, may_alias)) unaligned {
    vector content;
  };

  LCI_WITH_VECTORS static void move_turn(std::byte* to, const std::byte* from) {
    const auto* const src = reinterpret_cast<const unaligned*>(from);
    auto* const dest = reinterpret_cast<unaligned*>(to);
    const vector a = src[0].content, b = src[1].content, c = src[2].content, d = src[3].content;
    dest[0].content = a, dest[1].content = b, dest[2].content = c, dest[3].content = d;
  }
};

#undef LCI_WITH_VECTORS

}  // namespace lci
