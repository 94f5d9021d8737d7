// Whether a number is a multiple of one that is only known at run time, without a division.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci {

/// The multiples of `n` below 2^32, for `n` in 1..2^32-1. A division of 64-bit numbers takes up to 40 cycles,
/// this a few: see Lemire, Kaser and Kurz, "Faster remainder by direct computation" (2019).
class multiples {
 public:
  static constexpr size_t end = size_t{1} << 32;

  explicit multiples(uint32_t n) : factor_(~uint64_t{0} / n + 1) {}
  /// `k` must be below `end`, or it is none.
  bool contain(size_t k) const { return k < end && k * factor_ <= factor_ - 1; }

 private:
  uint64_t factor_;
};

}  // namespace lci
