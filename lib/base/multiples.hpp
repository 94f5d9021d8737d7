// Divisibility by a number known only at run time, without a division.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci {

/// The set of multiples of `n`, 1..2^32-1. A 64-bit division takes up to 40 cycles, this test a few
/// for numbers below 2^32: see Lemire, Kaser and Kurz, "Faster remainder by direct computation" (2019).
class multiples {
 public:
  static constexpr size_t end = size_t{1} << 32;

  explicit multiples(uint32_t n) : n_(n), factor_(~uint64_t{0} / n + 1) {}
  bool contain(size_t k) const { return LCI_LIKELY(k < end) ? k * factor_ <= factor_ - 1 : k % n_ == 0; }

 private:
  uint64_t n_, factor_;
};

}  // namespace lci
