// Where the bytes of one side of a transfer lie: blocks at regular distances, or segments at listed addresses. Both
// have an order of their bytes, so that a transfer can be cut anywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace armci_layer {

constexpr int max_levels = 8;

/// A view: lists are the caller's. Sizes and strides are widened from the interface's int.
struct layout {
  std::byte* base = nullptr;  ///< of blocks at regular distances
  int levels = 0;
  size_t count[max_levels + 1] = {};
  ptrdiff_t stride[max_levels] = {};
  void* const* segments = nullptr;  ///< else null: `n` addresses of segments of count[0] bytes
  size_t n = 0;

  bool is_list() const { return segments != nullptr; }
  size_t size() const {
    if (is_list()) return n * count[0];
    size_t bytes = count[0];
    for (int i = 1; i <= levels; ++i) bytes *= count[i];
    return bytes;
  }
  bool is_contiguous() const { return !is_list() && levels == 0; }
};

inline layout contiguous(const void* base, size_t bytes) {
  layout l;
  l.base = static_cast<std::byte*>(const_cast<void*>(base));
  l.count[0] = bytes;
  return l;
}

/// Levels without effect are left out: those of one block, and those whose blocks follow each other without a gap.
inline layout strided(const void* base, const int* strides, const int* counts, int levels) {
  layout l = contiguous(base, static_cast<size_t>(counts[0]));
  for (int i = 1; i <= levels; ++i) {
    const auto blocks = static_cast<size_t>(counts[i]);
    if (blocks == 1) continue;
    if (l.levels == 0 && static_cast<ptrdiff_t>(l.count[0]) == strides[i - 1]) {
      l.count[0] *= blocks;
      continue;
    }
    l.stride[l.levels] = strides[i - 1];
    l.count[++l.levels] = blocks;
  }
  return l;
}

inline layout listed(void* const* segments, size_t n, size_t bytes) {
  layout l;
  l.count[0] = bytes;
  l.segments = segments;
  l.n = n;
  return l;
}

/// The first and the last address, plus one, of a layout at regular distances; its size must not be 0.
struct extent {
  uint64_t begin, end;
};
inline extent extent_of(const layout& l) {
  extent e{reinterpret_cast<uint64_t>(l.base), reinterpret_cast<uint64_t>(l.base)};
  for (int i = 0; i < l.levels; ++i) {
    const ptrdiff_t reach = l.stride[i] * static_cast<ptrdiff_t>(l.count[i + 1] - 1);
    (reach < 0 ? e.begin : e.end) += static_cast<uint64_t>(reach);
  }
  e.end += l.count[0];
  return e;
}

/// Calls f(address, bytes) for each contiguous piece of the bytes [begin, begin + size) of a layout, in their order.
template <class F>
void for_each_piece(const layout& l, size_t begin, size_t size, F&& f) {
  if (size == 0) return;
  const size_t block = l.count[0];
  if (l.is_contiguous()) {
    f(l.base + begin, size);
    return;
  }
  size_t number = begin / block, skip = begin % block;
  if (l.is_list()) {
    for (; size > 0; ++number, skip = 0) {
      const size_t bytes = std::min(size, block - skip);
      f(static_cast<std::byte*>(l.segments[number]) + skip, bytes);
      size -= bytes;
    }
    return;
  }
  size_t at[max_levels];
  std::byte* p = l.base;
  for (int i = 0; i < l.levels; ++i) {
    at[i] = number % l.count[i + 1];
    number /= l.count[i + 1];
    p += static_cast<ptrdiff_t>(at[i]) * l.stride[i];
  }
  for (;; skip = 0) {
    const size_t bytes = std::min(size, block - skip);
    f(p + skip, bytes);
    size -= bytes;
    if (size == 0) return;
    for (int i = 0;; ++i) {
      p += l.stride[i];
      if (++at[i] < l.count[i + 1]) break;
      p -= static_cast<ptrdiff_t>(at[i]) * l.stride[i];
      at[i] = 0;
    }
  }
}

inline void pack(std::byte* to, const layout& from, size_t begin, size_t size) {
  for_each_piece(from, begin, size, [&](const std::byte* p, size_t n) {
    std::memcpy(to, p, n);
    to += n;
  });
}
inline void unpack(const layout& to, size_t begin, const std::byte* from, size_t size) {
  for_each_piece(to, begin, size, [&](std::byte* p, size_t n) {
    std::memcpy(p, from, n);
    from += n;
  });
}

/// Two arrays whose blocks correspond: as `strided`, with levels joined only where that is right for both.
struct pair {
  layout to, from;
};
inline pair strided_pair(const void* to, const int* to_strides, const void* from, const int* from_strides,
                         const int* counts, int levels) {
  pair p{contiguous(to, static_cast<size_t>(counts[0])), contiguous(from, static_cast<size_t>(counts[0]))};
  for (int i = 1; i <= levels; ++i) {
    const auto blocks = static_cast<size_t>(counts[i]);
    if (blocks == 1) continue;
    if (p.to.levels == 0 && static_cast<ptrdiff_t>(p.to.count[0]) == to_strides[i - 1] &&
        to_strides[i - 1] == from_strides[i - 1]) {
      p.to.count[0] = p.from.count[0] = p.to.count[0] * blocks;
      continue;
    }
    p.to.stride[p.to.levels++] = to_strides[i - 1];
    p.from.stride[p.from.levels++] = from_strides[i - 1];
    p.to.count[p.to.levels] = p.from.count[p.to.levels] = blocks;
  }
  return p;
}

/// Calls f(to, from) for the first bytes of each two blocks of a pair, from level `level` downwards.
template <class F>
void for_each_block(const pair& p, int level, std::byte* to, const std::byte* from, F&& f) {
  if (level == 0) return f(to, from);
  const ptrdiff_t to_stride = p.to.stride[level - 1], from_stride = p.from.stride[level - 1];
  for (size_t i = p.to.count[level]; i > 0; --i, to += to_stride, from += from_stride) {
    if (level == 1)
      f(to, from);
    else
      for_each_block(p, level - 1, to, from, f);
  }
}

/// Copies blocks between arrays of this process's memory, `to` being where the pair's `to` is here.
inline void copy_blocks(const pair& p, std::byte* to) {
  const size_t bytes = p.to.count[0];
  if (p.to.levels == 0) {
    std::memmove(to, p.from.base, bytes);
  } else if (bytes == 8) {  // columns of a matrix: a call for each would cost more than the copy
    for_each_block(p, p.to.levels, to, p.from.base, [](std::byte* t, const std::byte* f) { std::memcpy(t, f, 8); });
  } else {
    for_each_block(p, p.to.levels, to, p.from.base,
                   [bytes](std::byte* t, const std::byte* f) { std::memcpy(t, f, bytes); });
  }
}

}  // namespace armci_layer
