// Iterates over the runs of a shape from any packed byte on. The only state is that position, so a transfer can stop
// and continue anywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/layers/ccs/shape.hpp"

namespace ccs {

/// Calls visit.one(address, bytes) for each run, or part of one, and visit.loop(address, stride, bytes, n) for n runs
/// at regular distances, in the order of the packed bytes [from, from + n) of the shape at address `base`.
template <class Visit>
void walk(const shape& s, uintptr_t base, size_t from, size_t n, Visit& visit);

namespace walking {

inline uintptr_t add(uintptr_t base, intptr_t by) { return base + static_cast<uintptr_t>(by); }

template <class Visit>
void loop(const shape& s, uintptr_t base, size_t from, size_t n, Visit& visit) {
  const size_t body = s.body_size();
  size_t i = from / body, skip = from % body;
  while (n > 0) {
    const uintptr_t at = add(base, static_cast<intptr_t>(i) * s.stride);
    if (s.body == nullptr && skip == 0 && n >= body) {
      const size_t whole = n / body;
      visit.loop(at, s.stride, body, whole);
      i += whole;
      n -= whole * body;
      continue;
    }
    const size_t now = std::min(n, body - skip);
    if (s.body == nullptr)
      visit.one(at + skip, now);
    else
      walk(*s.body, at, skip, now, visit);
    n -= now;
    skip = 0;
    ++i;
  }
}

/// The index of the element that contains packed byte `from`. Sets `skip` to the element's bytes before that one.
inline size_t find(const std::vector<size_t>& starts, size_t from, size_t& skip) {
  const auto behind = std::upper_bound(starts.begin(), starts.end(), from);
  const auto i = static_cast<size_t>(behind - starts.begin()) - 1;
  skip = from - starts[i];
  return i;
}

template <class Visit>
void runs(const run_list& list, uintptr_t base, size_t from, size_t n, Visit& visit) {
  const run* r = list.runs.data();
  size_t skip = 0;
  if (list.starts.empty()) {
    const size_t size = r->size;
    r += from / size;
    skip = from % size;
    if (skip == 0 && n >= size) {
      const size_t whole = n / size;
      visit.same(base, r, size, whole);
      r += whole;
      n -= whole * size;
    }
  } else if (from > 0) {
    r += find(list.starts, from, skip);
  }
  while (n > 0) {
    const size_t now = std::min(n, r->size - skip);
    visit.one(add(base, r->at) + skip, now);
    n -= now;
    skip = 0;
    ++r;
  }
}

template <class Visit>
void parts(const shape_list& list, uintptr_t base, size_t from, size_t n, Visit& visit) {
  size_t skip = 0;
  for (size_t i = find(list.starts, from, skip); n > 0; ++i) {
    const size_t now = std::min(n, list.parts[i].size - skip);
    walk(list.parts[i], base, skip, now, visit);
    n -= now;
    skip = 0;
  }
}

}  // namespace walking

template <class Visit>
void walk(const shape& s, uintptr_t base, size_t from, size_t n, Visit& visit) {
  if (n == 0) return;
  base = walking::add(base, s.at);
  switch (s.what) {
    case shape::kind::none:
      return;
    case shape::kind::one:
      return visit.one(base + from, n);
    case shape::kind::loop:
      return walking::loop(s, base, from, n, visit);
    case shape::kind::runs:
      return walking::runs(*s.list, base, from, n, visit);
    case shape::kind::parts:
      return walking::parts(*s.sequence, base, from, n, visit);
  }
}

/// Copies between runs and contiguous memory, and advances the pointer to the latter. `Pack`: copy from the runs.
template <bool Pack>
struct copier {
  std::byte* packed;

  void one(uintptr_t at, size_t n) {
    move(packed, at, n);
    packed += n;
  }
  // In these loops all that changes is a local variable: a store to the destination may change a member or what a
  // closure refers to, as far as the compiler knows, which would read it again for each run.
  void loop(uintptr_t at, intptr_t stride, size_t n, size_t count) {
    packed = each_size(n, [=, to = packed](auto size) mutable {
      for (size_t i = 0; i < count; ++i, at = walking::add(at, stride), to += size) move(to, at, size);
      return to;
    });
  }
  void same(uintptr_t base, const run* r, size_t n, size_t count) {
    packed = each_size(n, [=, to = packed](auto size) mutable {
      for (size_t i = 0; i < count; ++i, to += size) move(to, walking::add(base, r[i].at), size);
      return to;
    });
  }

 private:
  template <size_t N>
  struct fixed {
    constexpr operator size_t() const { return N; }  // NOLINT: a number
  };
  /// Calls f with the size: common sizes as constants, for which the compiler generates a few instructions per copy.
  template <class F>
  static std::byte* each_size(size_t n, F f) {
    switch (n) {
      case 1:
        return f(fixed<1>());
      case 2:
        return f(fixed<2>());
      case 4:
        return f(fixed<4>());
      case 8:
        return f(fixed<8>());
      case 16:
        return f(fixed<16>());
      case 32:
        return f(fixed<32>());
      case 64:
        return f(fixed<64>());
      default:
        break;
    }
    if (n > 8 && n < 16) return f(overlapping<8>{n});
    if (n > 16 && n < 32) return f(overlapping<16>{n});
    if (n > 32 && n < 64) return f(overlapping<32>{n});
    return f(n);
  }
  /// A size from `Half` to 2 * `Half` bytes. Two copies of `Half` bytes, which may overlap, cover it.
  template <size_t Half>
  struct overlapping {
    size_t size;
    constexpr operator size_t() const { return size; }  // NOLINT: a number
  };
  template <size_t N>
  static void copy(std::byte* to, const std::byte* from, fixed<N>) {
    std::memcpy(to, from, N);
  }
  template <size_t Half>
  static void copy(std::byte* to, const std::byte* from, overlapping<Half> n) {
    std::memcpy(to, from, Half);
    std::memcpy(to + n.size - Half, from + n.size - Half, Half);
  }
  static void copy(std::byte* to, const std::byte* from, size_t n) { std::memcpy(to, from, n); }
  template <class Size>
  static void move(std::byte* here, uintptr_t at, Size n) {
    auto* there = reinterpret_cast<std::byte*>(at);
    if constexpr (Pack)
      copy(here, there, n);
    else
      copy(there, here, n);
  }
};

/// Copies the packed bytes [from, from + n) of the shape at `base` to contiguous memory.
inline void pack(const shape& s, const void* base, size_t from, size_t n, void* to) {
  copier<true> copy{static_cast<std::byte*>(to)};
  walk(s, reinterpret_cast<uintptr_t>(base), from, n, copy);
}
/// Copies contiguous memory to the packed bytes [from, from + n) of the shape at `base`.
inline void unpack(const shape& s, void* base, size_t from, size_t n, const void* packed) {
  copier<false> copy{static_cast<std::byte*>(const_cast<void*>(packed))};
  walk(s, reinterpret_cast<uintptr_t>(base), from, n, copy);
}

}  // namespace ccs
