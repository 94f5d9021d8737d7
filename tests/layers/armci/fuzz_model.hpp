// What the random operations of fuzz.cpp share: the model of what must be in each memory, sizes, sections, and checks.
#pragma once

#include <armci.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/layers/armci/ranks.hpp"

namespace armci_fuzz {

constexpr size_t part = 3 << 20, shared_numbers = 4096, n_counters = 16;

struct world {
  int me, n;
  std::vector<char*> bases;              // of all ranks: parts, then shared doubles, then shared longs, then counters
  std::vector<std::vector<char>> model;  // of my part of each rank
  std::vector<double> doubles;           // what I have added, by rank and index
  std::vector<long> longs, counted;
  std::mt19937_64 random;

  char* mine(int proc) const { return bases[static_cast<size_t>(proc)] + static_cast<size_t>(me) * part; }
  double* shared_doubles(int proc) const {
    return reinterpret_cast<double*>(bases[static_cast<size_t>(proc)] + static_cast<size_t>(n) * part);
  }
  long* shared_longs(int proc) const { return reinterpret_cast<long*>(shared_doubles(proc) + shared_numbers); }
  long* counters(int proc) const { return shared_longs(proc) + shared_numbers; }
  size_t up_to(size_t most) { return random() % (most + 1); }
};

/// Sizes around each switch of protocol: an injected message, a packet, a request of a get, what is under way at once.
inline size_t some_size(world& w) {
  constexpr size_t edges[] = {8, 64, 128, 4096, 8000, 8192, 16384, 65536, 131072, 1 << 20};
  switch (w.up_to(9)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return 1 + w.up_to(63);
    case 4:
    case 5:
    case 6: {
      const size_t e = edges[w.up_to(w.up_to(30) == 0 ? 9 : 6)];
      return e - 40 + w.up_to(80) + (e < 64 ? 40 : 0);
    }
    default:
      return 1 + w.up_to(3000);
  }
}

/// A random array section within `room` bytes: counts, and two sets of strides.
struct section {
  int levels, counts[9], there[8], here[8];
  size_t size, extent_there, extent_here;
};
inline section some_section(world& w, size_t unit) {
  section s{};
  s.levels = static_cast<int>(w.up_to(3));
  s.counts[0] = static_cast<int>(unit * (1 + w.up_to(w.up_to(3) == 0 ? 200 : 12)));
  size_t there = static_cast<size_t>(s.counts[0]), here = there;
  s.size = there;
  for (int i = 0; i < s.levels; ++i) {
    s.counts[i + 1] = static_cast<int>(1 + w.up_to(i == 0 ? 40 : 4));
    s.there[i] = static_cast<int>(there + unit * w.up_to(w.up_to(1) * 6));
    s.here[i] = static_cast<int>(here + unit * w.up_to(w.up_to(1) * 6));
    there = static_cast<size_t>(s.there[i]) * static_cast<size_t>(s.counts[i + 1]);
    here = static_cast<size_t>(s.here[i]) * static_cast<size_t>(s.counts[i + 1]);
    s.size *= static_cast<size_t>(s.counts[i + 1]);
  }
  s.extent_there = there;
  s.extent_here = here;
  return s;
}
/// Calls f(offset there, offset here) for each block.
template <class F>
void each_block(const section& s, F f, int level = -1, size_t there = 0, size_t here = 0) {
  if (level == -1) level = s.levels;
  if (level == 0) return f(there, here);
  for (int i = 0; i < s.counts[level]; ++i)
    each_block(s, f, level - 1, there + static_cast<size_t>(i) * static_cast<size_t>(s.there[level - 1]),
               here + static_cast<size_t>(i) * static_cast<size_t>(s.here[level - 1]));
}

inline std::vector<char> some_bytes(world& w, size_t n) {
  std::vector<char> b(n + 8);
  for (size_t i = 0; i < n; i += 8) {
    const uint64_t r = w.random();
    std::memcpy(b.data() + i, &r, 8);
  }
  b.resize(n);
  return b;
}

inline void check(const char* what, const char* got, const char* expected, size_t n) {
  if (n > 0 && std::memcmp(got, expected, n) != 0) {
    size_t i = 0;
    while (got[i] == expected[i]) ++i;
    armci_test::fail(__FILE__, __LINE__,
                     std::string(what) + " of " + std::to_string(n) + " bytes: wrong at " + std::to_string(i));
  }
}

}  // namespace armci_fuzz
