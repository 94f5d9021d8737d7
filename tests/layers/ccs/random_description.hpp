// Random data descriptions, each with a model: a list of its bytes that is computed without the library.
#pragma once

#include <ccs.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace ccs_test {

/// The model of a description: its bytes in packed order, and its bounds by the rules of MPI-1.
struct model {
  std::vector<intptr_t> bytes;
  intptr_t lower = 0, upper = 0;
  bool marks_lower = false, marks_upper = false, bounded = false;
  size_t alignment = 1;

  intptr_t extent() const { return bounded ? upper - lower : 0; }
  void add(const model& old, intptr_t at) {
    for (const intptr_t b : old.bytes) bytes.push_back(at + b);
    if (!old.bounded) return;
    const intptr_t low = at + old.lower, high = at + old.upper;
    if (!bounded || (old.marks_lower && !marks_lower) || (old.marks_lower == marks_lower && low < lower)) lower = low;
    if (!bounded || (old.marks_upper && !marks_upper) || (old.marks_upper == marks_upper && high > upper)) upper = high;
    marks_lower |= old.marks_lower;
    marks_upper |= old.marks_upper;
    bounded = true;
    alignment = std::max(alignment, old.alignment);
  }
  void add(const model& old, intptr_t at, int n) {
    for (int i = 0; i < n; ++i) add(old, at + i * old.extent());
  }
  void pad() {
    if (marks_lower || marks_upper || !bounded || extent() == 0) return;
    while (extent() % static_cast<intptr_t>(alignment) != 0) ++upper;
  }
};

struct described {
  CCS_datadesc_t desc = CCS_DATA_NULL;
  model is;
};

/// Generates random descriptions. `disjoint`: no byte of a description occurs twice.
class generator {
 public:
  explicit generator(uint64_t seed, bool disjoint = false) : random_(seed), disjoint_(disjoint) {}
  ~generator() {
    for (CCS_datadesc_t d : made_) CCS_datadesc_free(&d);
  }

  int number(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  described builtin() {
    static constexpr CCS_datadesc_t all[] = {CCS_DATA8,  CCS_DATA16,  CCS_DATA32,
                                             CCS_DATA64, CCS_DATA128, CCS_DATA_PACKED};
    described d;
    d.desc = all[number(0, 5)];
    const intptr_t n = d.desc == CCS_DATA_PACKED ? 1 : d.desc;
    for (intptr_t i = 0; i < n; ++i) d.is.bytes.push_back(i);
    d.is.upper = n;
    d.is.bounded = true;
    d.is.alignment = static_cast<size_t>(n);
    return d;
  }

  /// Generates a description of at most about `most` bytes.
  described any(int depth, size_t most) {
    if (depth == 0 || most < 2) return builtin();
    described d;
    switch (number(0, 6)) {
      case 0: {
        const described old = any(depth - 1, most / 2);
        const int n = number(0, 4);
        expect(CCS_datadesc_create_contiguous(n, old.desc, &d.desc));
        d.is.add(old.is, 0, n);
        break;
      }
      case 1: {
        const described old = any(depth - 1, most / 8);
        const int n = number(0, 4), block = number(0, 3);
        const int stride = static_cast<int>(old.is.extent()) * block + gap() * (number(0, 3) == 0 ? -1 : 1);
        const int apart = disjoint_ && stride < 0 ? -stride + 2 * static_cast<int>(old.is.extent()) * block : stride;
        expect(CCS_datadesc_create_vector(n, block, apart, old.desc, &d.desc));
        for (int i = 0; i < n; ++i) d.is.add(old.is, static_cast<intptr_t>(i) * apart, block);
        break;
      }
      case 2:
        d = structure(depth, most);
        break;
      case 3: {
        const described old = any(depth - 1, most / 8);
        const int n = number(0, 5);
        std::vector<int> blocks;
        std::vector<CCS_aint_t> at;
        intptr_t next = begin();
        for (int i = 0; i < n; ++i) {
          blocks.push_back(number(0, 3));
          at.push_back(place(old.is, blocks.back(), next));
          d.is.add(old.is, at.back(), blocks.back());
        }
        expect(CCS_datadesc_create_indexed(n, blocks.data(), at.data(), old.desc, &d.desc));
        break;
      }
      case 4: {
        const described old = any(depth - 1, most / 8);
        const int n = number(0, 5), block = number(0, 2);
        std::vector<CCS_aint_t> at;
        intptr_t next = begin();
        for (int i = 0; i < n; ++i) {
          at.push_back(place(old.is, block, next));
          d.is.add(old.is, at.back(), block);
        }
        expect(CCS_datadesc_create_blockindexed(n, block, at.data(), old.desc, &d.desc));
        break;
      }
      case 5: {
        const int counts[] = {number(0, 9), number(0, 3), number(0, 3)};
        const int inner = counts[0] + gap(), outer = inner * (counts[1] + 1) + gap();
        const int strides[] = {inner, outer};
        expect(CCS_datadesc_create_strided(2, strides, counts, &d.desc));
        for (int j = 0; j < counts[2]; ++j)
          for (int i = 0; i < counts[1]; ++i)
            for (int b = 0; b < counts[0]; ++b) d.is.bytes.push_back(intptr_t{j} * outer + intptr_t{i} * inner + b);
        bound_by_bytes(d.is);
        break;
      }
      default: {
        const int n = number(0, 6);
        std::vector<CCS_aint_t> at;
        std::vector<size_t> lengths;
        intptr_t next = begin();
        for (int i = 0; i < n; ++i) {
          next += gap();
          at.push_back(next);
          lengths.push_back(static_cast<size_t>(number(0, 20)));
          for (size_t b = 0; b < lengths.back(); ++b) d.is.bytes.push_back(next + static_cast<intptr_t>(b));
          next += static_cast<intptr_t>(lengths.back());
        }
        expect(CCS_datadesc_create_iov(n, at.data(), lengths.data(), &d.desc));
        bound_by_bytes(d.is);
      }
    }
    made_.push_back(d.desc);
    return d;
  }

  bool failed = false;

 private:
  void expect(int result) { failed |= result != CCS_SUCCESS; }
  int gap() { return number(0, 2) == 0 ? 0 : number(0, 17); }
  intptr_t begin() { return number(-40, 40); }
  static void bound_by_bytes(model& m) {
    if (m.bytes.empty()) return;
    const auto [low, high] = std::minmax_element(m.bytes.begin(), m.bytes.end());
    m.lower = *low;
    m.upper = *high + 1;
    m.bounded = true;
  }
  /// A displacement for `n` elements: at or after `next` if the description must be disjoint, else anywhere.
  intptr_t place(const model& old, int n, intptr_t& next) {
    if (!disjoint_) return number(-200, 200);
    intptr_t low = 0, high = 0;
    for (int i = 0; i < n; ++i)
      for (const intptr_t b : old.bytes) {
        low = std::min(low, b + i * old.extent());
        high = std::max(high, b + i * old.extent() + 1);
      }
    const intptr_t at = next + gap() - low;
    next = at + high;
    return at;
  }
  described structure(int depth, size_t most) {
    described d;
    const int n = number(0, 4);
    std::vector<int> blocks;
    std::vector<CCS_aint_t> at;
    std::vector<CCS_datadesc_t> descs;
    intptr_t next = begin();
    for (int i = 0; i < n; ++i) {
      described member = any(depth - 1, most / 8);
      const int kind = disjoint_ ? 9 : number(0, 9);
      if (kind < 3) {
        member = {kind == 0 ? CCS_DATA_NULL : kind == 1 ? CCS_DATA_LB : CCS_DATA_UB, {}};
        member.is.bounded = kind > 0;
        member.is.marks_lower = kind == 1;
        member.is.marks_upper = kind == 2;
      }
      descs.push_back(member.desc);
      blocks.push_back(number(0, 2));
      at.push_back(place(member.is, blocks.back(), next));
      if (kind > 0) d.is.add(member.is, at.back(), blocks.back());
    }
    d.is.pad();
    expect(CCS_datadesc_create_struct(n, blocks.data(), at.data(), descs.data(), &d.desc));
    return d;
  }

  std::mt19937_64 random_;
  const bool disjoint_;
  std::vector<CCS_datadesc_t> made_;
};

/// The displacements of `count` elements' bytes.
inline std::vector<intptr_t> places(const model& m, size_t count) {
  std::vector<intptr_t> all;
  for (size_t i = 0; i < count; ++i)
    for (const intptr_t b : m.bytes) all.push_back(static_cast<intptr_t>(i) * m.extent() + b);
  return all;
}

}  // namespace ccs_test
