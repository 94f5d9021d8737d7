// Makes layouts of all shapes, and computes where their bytes are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <lci.hpp>
#include <random>
#include <utility>
#include <vector>

namespace conf {

using lci::layout_segment_t;
using lci::layout_t;

/// A layout with its arrays, and the offset of each of its bytes, computed one byte at a time.
struct pieces {
  std::vector<layout_segment_t> segments;
  std::vector<size_t> counts, strides;
  layout_t layout;
  std::vector<size_t> places;

  void list(std::vector<layout_segment_t> s) {
    segments = std::move(s);
    layout = layout_t::iovec(segments.data(), segments.size());
    for (const auto& piece : segments)
      for (size_t i = 0; i < piece.size; ++i) places.push_back(piece.offset + i);
  }
  void blocks(std::vector<size_t> c, std::vector<size_t> s) {
    counts = std::move(c);
    strides = std::move(s);
    layout = layout_t::strided(counts.data(), strides.data(), strides.size());
    walk(strides.size(), 0);
  }
  size_t size() const { return places.size(); }
  size_t extent() const { return places.empty() ? 0 : *std::max_element(places.begin(), places.end()) + 1; }
  std::vector<char> gather(const char* from) const {
    std::vector<char> out(size());
    for (size_t i = 0; i < size(); ++i) out[i] = from[places[i]];
    return out;
  }
  /// Returns whether all bytes outside of the layout are `value`.
  bool rest_is(const char* at, size_t n, char value) const {
    std::vector<bool> ours(n);
    for (const size_t p : places) ours[p] = true;
    for (size_t i = 0; i < n; ++i)
      if (!ours[i] && at[i] != value) return false;
    return true;
  }

 private:
  void walk(size_t level, size_t base) {
    if (level == 0) {
      for (size_t i = 0; i < counts[0]; ++i) places.push_back(base + i);
      return;
    }
    for (size_t i = 0; i < counts[level]; ++i) walk(level - 1, base + i * strides[level - 1]);
  }
};

/// Makes the layout number `which`, the same at all ranks, of `total` bytes; if `total` is 0, of a size that `which`
/// decides.
inline void make_pieces(pieces& p, int which, size_t total = 0) {
  std::mt19937 random(static_cast<unsigned>(which));
  const auto up_to = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n)(random); };
  if (total == 0 && which % 2 == 0) {
    const size_t block = up_to(40), a = up_to(5), b = up_to(4), c = 1 + up_to(2);
    p.blocks({block, a, b, c}, {block + up_to(9), 400, 2500});
    return;
  }
  // Pieces in any order, some of them empty.
  const size_t n = 1 + up_to(8);
  size_t left = total == 0 ? up_to(6000) : total, at = up_to(50);
  std::vector<layout_segment_t> list;
  for (size_t i = 0; i < n; ++i) {
    const size_t size = i + 1 == n ? left : up_to(left);
    list.push_back({at, size});
    at += size + up_to(30);
    left -= size;
  }
  std::shuffle(list.begin(), list.end(), random);
  p.list(list);
}

/// Tests call make_pieces() with numbers below this one.
constexpr int variety = 24;

}  // namespace conf
