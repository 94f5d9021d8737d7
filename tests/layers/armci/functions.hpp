// What the files of the test of functions share.
#pragma once

#include <armci.h>

#include <algorithm>

#include "tests/layers/armci/ranks.hpp"

namespace armci_test {

inline int me, n;

template <class T>
std::vector<T*> allocate(size_t count) {
  std::vector<void*> p(static_cast<size_t>(n));
  EXPECT_EQ(ARMCI_Malloc(p.data(), static_cast<armci_size_t>(count * sizeof(T))), 0);
  std::vector<T*> typed;
  for (void* one : p) typed.push_back(static_cast<T*>(one));
  std::fill_n(typed[static_cast<size_t>(me)], count, T{});
  armci_msg_barrier();
  return typed;
}
template <class T>
void release(const std::vector<T*>& p) {
  EXPECT_EQ(ARMCI_Free(p[static_cast<size_t>(me)]), 0);
}
inline int right() { return (me + 1) % n; }
inline int left() { return (me + n - 1) % n; }

// Of functions_of_groups.cpp.
void mutexes();
void groups();
void domains();
void messages();
void attached_memory();
void iteration();
void packing();
void late_errors();
void second_life();

}  // namespace armci_test
