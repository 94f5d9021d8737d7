// Each function of ARMCI, on one to four ranks, near and far: what the document and the programs of its time promise.
#include <armci.h>
#include <armcix.h>
#include <parmci.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <complex>
#include <numeric>
#include <utility>

#include "tests/layers/armci/functions.hpp"

using namespace armci_test;

namespace {

void life() {
  EXPECT_EQ(ARMCI_Initialized(), 1);
  EXPECT_EQ(ARMCI_Init(), 0);
  EXPECT_EQ(ARMCI_Init_args(nullptr, nullptr), 0);
  EXPECT_EQ(ARMCI_Finalize(), 0);
  EXPECT_EQ(ARMCI_Finalize(), 0);
  EXPECT_EQ(ARMCI_Initialized(), 1);
}

void memory() {
  // Of different sizes, also 0.
  std::vector<void*> p(static_cast<size_t>(n));
  EXPECT_EQ(ARMCI_Malloc(p.data(), me % 2 == 0 ? 1000 * (me + 1) : 0), 0);
  for (int r = 0; r < n; ++r) EXPECT_EQ(p[static_cast<size_t>(r)] != nullptr, r % 2 == 0);
  EXPECT_EQ(ARMCI_Free(p[static_cast<size_t>(me)]), 0);
  EXPECT_EQ(ARMCI_Malloc(p.data(), 0), 0);
  EXPECT_EQ(ARMCI_Free(nullptr), 0);
  // Invalid arguments of one process are an error at all.
  const bool is_last = me == n - 1;
  EXPECT_EQ(ARMCI_Malloc(is_last ? nullptr : p.data(), 8), is_last ? -1 : -6);
  EXPECT_EQ(ARMCI_Malloc(p.data(), is_last ? -8 : 8), -6);
  EXPECT_EQ(ARMCI_Create_mutexes(is_last ? -1 : 1), is_last ? -1 : -2);
  EXPECT_EQ(ARMCI_Create_mutexes(is_last ? 1 << 20 : 1), is_last ? -1 : -2);
  void* local = ARMCI_Malloc_local(100);
  EXPECT(local != nullptr);
  EXPECT_EQ(ARMCI_Free_local(local), 0);
  // Memory of others is refused, at any alignment, and remains; so is a large block that the library keeps.
  alignas(64) static char foreign[256];
  EXPECT(ARMCI_Free_local(foreign + 64) != 0 && ARMCI_Free_local(foreign + 8) != 0);
  local = ARMCI_Malloc_local(2 << 20);
  EXPECT(ARMCI_Free_local(local) == 0 && ARMCI_Free_local(local) != 0);
  EXPECT_EQ(ARMCI_Free_local(nullptr), 0);
  // Large blocks begin with a page, also those that are used again.
  const auto begins_with_page = [](void* block) { return reinterpret_cast<uintptr_t>(block) % 4096 == 0; };
  for (const int bytes : {1 << 20, (2 << 20) - 4096, (2 << 20) - 64, 2 << 20}) {
    for (int round = 0; round < 2; ++round) {
      local = ARMCI_Malloc_local(bytes);
      EXPECT(local != nullptr && begins_with_page(local));
      std::memset(local, round, static_cast<size_t>(bytes));
      EXPECT_EQ(ARMCI_Free_local(local), 0);
    }
    EXPECT_EQ(ARMCI_Malloc(p.data(), bytes), 0);
    EXPECT(begins_with_page(p[static_cast<size_t>(me)]));
    EXPECT_EQ(ARMCI_Free(p[static_cast<size_t>(me)]), 0);
  }
  EXPECT_EQ(ARMCI_Malloc_memdev(p.data(), 64, "none"), 0);
  EXPECT_EQ(ARMCI_Free_memdev(p[static_cast<size_t>(me)]), 0);
  char text[8] = "abcdef";
  ARMCI_Copy(text, text + 1, 5);
  EXPECT(std::strcmp(text, "aabcde") == 0);
}

void no_memory() {
  std::vector<void*> p(static_cast<size_t>(n));
  for (int round = 0; round < 3; ++round) {
    // One process requests more memory than there is: an error at all processes, and no memory leaks.
    EXPECT(ARMCI_Malloc(p.data(), me == n - 1 ? armci_size_t{1} << 60 : 1 << 20) != 0);
    EXPECT(ARMCI_Malloc(p.data(), me == 0 ? -1 : 1 << 20) != 0);
  }
  EXPECT_EQ(ARMCI_Malloc(p.data(), 1 << 20), 0);
  EXPECT_EQ(ARMCI_Free(p[static_cast<size_t>(me)]), 0);
}

void contiguous() {
  auto p = allocate<char>(300000);
  std::vector<char> out(100000), in(100000);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(i * 7 + static_cast<size_t>(me));
  int bytes = static_cast<int>(out.size());
  EXPECT_EQ(ARMCI_Put(out.data(), p[static_cast<size_t>(right())] + 11, bytes, right()), 0);
  EXPECT_EQ(ARMCI_Get(p[static_cast<size_t>(right())] + 11, in.data(), bytes, right()), 0);
  EXPECT(in == out);
  EXPECT_EQ(ARMCI_Put(out.data(), p[static_cast<size_t>(right())], 0, right()), 0);
  ARMCI_Barrier();
  for (size_t i = 0; i < out.size(); ++i)
    if (p[static_cast<size_t>(me)][11 + i] != static_cast<char>(i * 7 + static_cast<size_t>(left()))) {
      EXPECT(!"a plain load sees what was put");
      break;
    }
  // Both ends in this process's own memory.
  char mine[4] = "abc", copy[4] = "";
  EXPECT_EQ(ARMCI_Put(mine, copy, 4, me), 0);
  EXPECT(std::strcmp(copy, "abc") == 0);
  release(p);
}

void values() {
  auto p = allocate<double>(8);
  double* const there = p[static_cast<size_t>(right())];
  EXPECT_EQ(ARMCI_PutValueDouble(1.5 + me, there, right()), 0);
  EXPECT_EQ(ARMCI_PutValueLong(1234567890123L + me, there + 1, right()), 0);
  EXPECT_EQ(ARMCI_PutValueInt(-me, there + 2, right()), 0);
  EXPECT_EQ(ARMCI_PutValueFloat(0.25F, there + 3, right()), 0);
  armci_hdl_t h;
  EXPECT_EQ(ARMCI_NbPutValueInt(77, there + 4, right(), &h), 0);
  EXPECT_EQ(ARMCI_Wait(&h), 0);
  EXPECT_EQ(ARMCI_GetValueDouble(there, right()), 1.5 + me);
  EXPECT_EQ(ARMCI_GetValueLong(there + 1, right()), 1234567890123L + me);
  EXPECT_EQ(ARMCI_GetValueInt(there + 2, right()), -me);
  EXPECT_EQ(ARMCI_GetValueFloat(there + 3, right()), 0.25F);
  EXPECT_EQ(ARMCI_GetValueInt(there + 4, right()), 77);
  ARMCI_Barrier();
  release(p);
}

/// The example of the document: a block of 3 x 6 of A[10][20] to B[20][30].
void strided_example() {
  double a[10][20];
  auto b = allocate<double>(600);
  for (int i = 0; i < 200; ++i) a[i / 20][i % 20] = i + 1000 * me;
  int src_stride[1] = {20 * sizeof(double)}, dst_stride[1] = {30 * sizeof(double)}, count[2] = {6 * sizeof(double), 3};
  double* const there = b[static_cast<size_t>(right())];
  EXPECT_EQ(ARMCI_PutS(&a[1][2], src_stride, there + 3 * 30 + 4, dst_stride, count, 1, right()), 0);
  double back[10][20] = {};
  EXPECT_EQ(ARMCI_GetS(there + 3 * 30 + 4, dst_stride, &back[1][2], src_stride, count, 1, right()), 0);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 6; ++j) EXPECT_EQ(back[1 + i][2 + j], a[1 + i][2 + j]);
  ARMCI_Barrier();
  for (int i = 0; i < 20; ++i)
    for (int j = 0; j < 30; ++j) {
      const bool inside = i >= 3 && i < 6 && j >= 4 && j < 10;
      EXPECT_EQ(b[static_cast<size_t>(me)][i * 30 + j], inside ? (i - 2) * 20 + j - 2 + 1000.0 * left() : 0);
    }
  ARMCI_Barrier();
  int bytes = 16;
  EXPECT_EQ(ARMCI_PutS(a, nullptr, there, nullptr, &bytes, 0, right()), 0);
  ARMCI_Barrier();
  release(b);
}

template <class T>
void accumulate(int type, T scale) {
  constexpr size_t k = 3000;
  auto p = allocate<T>(k);
  std::vector<T> x(k);
  for (size_t i = 0; i < k; ++i) x[i] = static_cast<T>(static_cast<int>(i % 9));
  // All add to all, overlapping, in two ways.
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(ARMCI_Acc(type, &scale, x.data(), p[static_cast<size_t>(r)], static_cast<int>(k * sizeof(T)), r), 0);
    int stride = 2 * sizeof(T), count[2] = {sizeof(T), static_cast<int>(k / 2)};
    armci_hdl_t h;
    EXPECT_EQ(ARMCI_NbAccS(type, &scale, x.data(), &stride, p[static_cast<size_t>(r)], &stride, count, 1, r, &h), 0);
    EXPECT_EQ(ARMCI_Wait(&h), 0);
  }
  ARMCI_Barrier();
  for (size_t i = 0; i < k; ++i) {
    const T expected = scale * x[i] * static_cast<T>(n * (i % 2 == 0 ? 2 : 1));
    if (p[static_cast<size_t>(me)][i] != expected) {
      EXPECT(!"the sum of all accumulates");
      break;
    }
  }
  release(p);
}
void accumulates() {
  accumulate<int>(ARMCI_ACC_INT, 3);
  accumulate<long>(ARMCI_ACC_LNG, -2);
  accumulate<float>(ARMCI_ACC_FLT, 0.5F);
  accumulate<double>(ARMCI_ACC_DBL, 2.0);
  accumulate<std::complex<float>>(ARMCI_ACC_CPL, {1, 2});
  accumulate<std::complex<double>>(ARMCI_ACC_DCPL, {-1, 0.5});
}

void vectors() {
  auto p = allocate<int>(100);
  int mine[10];
  std::iota(mine, mine + 10, 100 * me);
  void *src[10], *dst[10];
  for (int i = 0; i < 10; ++i) {
    src[i] = &mine[i];
    dst[i] = p[static_cast<size_t>(right())] + 10 * i;
  }
  armci_giov_t v = {{src}, {dst}, static_cast<int>(sizeof(int)), {10}};
  EXPECT_EQ(ARMCI_PutV(&v, 1, right()), 0);
  int scale = 2;
  EXPECT_EQ(ARMCI_AccV(ARMCI_ACC_INT, &scale, &v, 1, right()), 0);
  int back[10] = {};
  for (int i = 0; i < 10; ++i) {
    v.src_ptr_array[i] = p[static_cast<size_t>(right())] + 10 * i;
    v.dst_ptr_array[i] = &back[i];
  }
  armci_hdl_t h;
  EXPECT_EQ(ARMCI_NbGetV(&v, 1, right(), &h), 0);
  EXPECT_EQ(ARMCI_Wait(&h), 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(back[i], 3 * mine[i]);
  ARMCI_Barrier();
  release(p);
}

void rmw() {
  auto p = allocate<long>(4);
  long* const at0 = p[0];
  constexpr int rounds = 300;
  long last = -1;
  for (int i = 0; i < rounds; ++i) {
    long before = -5;
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, at0, 2, 0), 0);
    EXPECT(before > last && before % 2 == 0);
    last = before;
    int small = 0;
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &small, at0 + 1, -1, 0), 0);
    EXPECT(small <= 0);
  }
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_GetValueLong(at0, 0), 2L * rounds * n);
  EXPECT_EQ(ARMCI_GetValueInt(at0 + 1, 0), -rounds * n);
  // Each number that is swapped in comes out once.
  long sum = 0, value = me + 1;
  for (int i = 0; i < rounds; ++i) {
    EXPECT_EQ(ARMCI_Rmw(ARMCI_SWAP_LONG, &value, at0 + 2, -8999, 0), 0);
    if (i == rounds - 1) sum = value;
  }
  int small = 7;
  EXPECT_EQ(ARMCI_Rmw(ARMCI_SWAP, &small, p[static_cast<size_t>(me)] + 3, -8999, me), 0);
  EXPECT_EQ(small, 0);
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_GetValueInt(p[static_cast<size_t>(me)] + 3, me), 7);
  char plus[] = "+";
  armci_msg_lgop(&sum, 1, plus);
  EXPECT_EQ(sum + ARMCI_GetValueLong(at0 + 2, 0), static_cast<long>(n) * (n + 1) / 2);
  armci_msg_barrier();
  release(p);
}

void handles() {
  auto p = allocate<double>(1000);
  double* const there = p[static_cast<size_t>(right())];
  std::vector<double> a(1000, 1 + me), b(1000), c(1000);
  armci_hdl_t h1, h2 = 0, all;
  ARMCI_INIT_HANDLE(&h1);
  EXPECT_EQ(ARMCI_Wait(&h1), 0);
  EXPECT_EQ(ARMCI_Test(&h1), 0);
  EXPECT_EQ(ARMCI_NbPut(a.data(), there, 8000, right(), &h1), 0);
  EXPECT_EQ(ARMCI_NbGet(there, b.data(), 8000, right(), &h2), 0);
  while (ARMCI_Test(&h2) != 0) {
  }
  EXPECT(a == b);
  EXPECT_EQ(ARMCI_Wait(&h1), 0);
  EXPECT_EQ(ARMCI_Wait(&h2), 0);
  ARMCI_SET_AGGREGATE_HANDLE(&all);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(ARMCI_NbGet(there + i, &c[static_cast<size_t>(i)], 8, right(), &all), 0);
  EXPECT_EQ(ARMCI_NbPut(a.data(), there, 8, right(), &all), 0);
  EXPECT_EQ(ARMCI_Wait(&all), 0);
  EXPECT(a == c);
  EXPECT_EQ(ARMCI_NbGet(there, &c[0], 8, right(), &all), 0);
  ARMCI_UNSET_AGGREGATE_HANDLE(&all);
  EXPECT_EQ(ARMCI_Wait(&all), 0);
  std::fill(c.begin(), c.end(), 0);
  EXPECT_EQ(ARMCI_NbGet(there, c.data(), 8000, right(), nullptr), 0);
  EXPECT_EQ(ARMCI_WaitProc(right()), 0);
  EXPECT(a == c);
  EXPECT_EQ(ARMCI_NbGet(there, b.data(), 8000, right(), nullptr), 0);
  EXPECT_EQ(ARMCI_WaitAll(), 0);
  EXPECT(a == b);
  // More requests than the layer has places for: those that only ARMCI_WaitAll completes, and aggregate handles that
  // the program never unsets, hold none.
  std::vector<armci_hdl_t> requests(70000);
  std::vector<int> values(requests.size());
  ARMCI_PutValueInt(4711, there, right());
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(ARMCI_NbGet(there, &values[i], sizeof(int), right(), &requests[i]), 0);
  EXPECT_EQ(ARMCI_WaitAll(), 0);
  EXPECT(std::all_of(values.begin(), values.end(), [](int x) { return x == 4711; }));
  EXPECT_EQ(ARMCI_Wait(&requests.front()), 0);
  EXPECT_EQ(ARMCI_Test(&requests.back()), 0);
  for (armci_hdl_t& r : requests) {
    ARMCI_INIT_HANDLE(&r);
    ARMCI_SET_AGGREGATE_HANDLE(&r);
    ARMCI_SET_AGGREGATE_HANDLE(&r);
  }
  values[0] = 0;
  EXPECT_EQ(ARMCI_NbGet(there, &values[0], sizeof(int), right(), &requests[0]), 0);
  ARMCI_SET_AGGREGATE_HANDLE(&requests[0]);  // keeps what the handle has to wait for
  EXPECT_EQ(ARMCI_Wait(&requests[0]), 0);
  EXPECT_EQ(values[0], 4711);
  ARMCI_Barrier();
  release(p);
}

/// Waits for a flag that another process sets.
void wait_for(const int* flag, int value) {
  while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value) {
    if (n == 1) break;
  }
}

void flags() {
  auto p = allocate<int>(4000);
  int* const there = p[static_cast<size_t>(right())];
  const int* const mine = p[static_cast<size_t>(me)];
  std::vector<int> data(1000);
  const auto all = [](const int* from, int value) {
    return std::all_of(from, from + 1000, [&](int x) { return x == value; });
  };
  for (int round = 1; round <= 20; ++round) {
    std::fill(data.begin(), data.end(), round);
    EXPECT_EQ(ARMCI_Put_flag(data.data(), there, 4000, there + 1500, round, right()), 0);
    int stride = 8, count[2] = {8, 500};
    EXPECT_EQ(ARMCI_PutS_flag(data.data(), &stride, there + 2000, &stride, count, 1, there + 3500, round, right()), 0);
    wait_for(mine + 1500, round);
    EXPECT(all(mine, round));
    wait_for(mine + 3500, round);
    EXPECT(all(mine + 2000, round));
    armci_msg_barrier();
  }
  armci_notify(right());
  int number = 0;
  EXPECT_EQ(armci_notify_wait(left(), &number), 1);
  EXPECT_EQ(number, 1);
  ARMCI_Barrier();
  release(p);
}

/// The codes that programs know since 2000.
void codes() {
  auto p = allocate<char>(64);
  char x[64] = "";
  int count[2] = {8, 2}, stride[2] = {16, 16}, bad[1] = {-1};
  char* const q = p[0];
  EXPECT_EQ(ARMCI_PutS(nullptr, stride, q, stride, count, 1, 0), -1);
  EXPECT_EQ(ARMCI_GetS(q, stride, nullptr, stride, count, 1, 0), -1);
  EXPECT_EQ(ARMCI_PutS(x, stride, q, stride, bad, 0, 0), -3);
  EXPECT_EQ(ARMCI_PutS(x, stride, q, stride, count, 9, 0), -4);
  EXPECT_EQ(ARMCI_PutS(x, stride, q, stride, count, -1, 0), -4);
  EXPECT_EQ(ARMCI_PutS(x, stride, q, stride, count, 1, -1), -5);
  EXPECT_EQ(ARMCI_PutS(x, stride, q, stride, count, 1, n), -5);
  // Of several errors the first in this order decides.
  EXPECT_EQ(ARMCI_PutS(nullptr, stride, q, stride, bad, 9, n), -1);
  EXPECT_EQ(ARMCI_PutS(x, stride, q, stride, bad, 9, n), -3);
  EXPECT_EQ(ARMCI_PutS(x, stride, q, stride, count, 9, n), -4);
  EXPECT_EQ(ARMCI_Put(x, q, -4, 0), -3);
  EXPECT_EQ(ARMCI_Get(q, x, 4, n), -5);
  double scale = 1;
  EXPECT_EQ(ARMCI_Acc(ARMCI_ACC_DBL, &scale, x, q, 12, 0), -3);
  void *src[1] = {x}, *dst[1] = {q};
  armci_giov_t v{};
  EXPECT_EQ(ARMCI_PutV(&v, 1, 0), -2);
  EXPECT_EQ(ARMCI_PutV(&v, 1, n), -2);
  EXPECT_EQ(ARMCI_PutV(&v, 0, n), -1);
  v.src_ptr_array = src;
  v.dst_ptr_array = dst;
  v.ptr_array_len = 1;
  EXPECT_EQ(ARMCI_PutV(&v, 1, 0), -3);
  v.bytes = 4;
  v.ptr_array_len = 0;
  EXPECT_EQ(ARMCI_GetV(&v, 1, 0), -4);
  EXPECT_EQ(ARMCI_GetV(&v, 1, n), -4);
  v.ptr_array_len = 1;
  EXPECT_EQ(ARMCI_GetV(&v, 1, n), -5);
  // If one address in a list is null, ARMCI copies nothing of any list.
  void* holes[3] = {q, nullptr, q + 4};
  void* whole[3] = {x, x + 4, x + 8};
  armci_giov_t lists[2] = {v, v};
  lists[1].ptr_array_len = 3;
  lists[1].src_ptr_array = whole;
  lists[1].dst_ptr_array = holes;
  x[0] = 'x';
  if (me == 0) q[0] = 'q';
  int unit = 1;
  EXPECT_EQ(ARMCI_PutV(lists, 2, 0), -2);
  EXPECT_EQ(ARMCI_NbPutV(lists, 2, 0, nullptr), -2);
  EXPECT_EQ(ARMCI_AccV(ARMCI_ACC_INT, &unit, lists, 2, 0), -2);
  if (me == 0) EXPECT_EQ(q[0], 'q');
  lists[0].src_ptr_array = dst;
  lists[0].dst_ptr_array = src;
  std::swap(lists[1].src_ptr_array, lists[1].dst_ptr_array);
  EXPECT_EQ(ARMCI_GetV(lists, 2, 0), -2);
  EXPECT_EQ(ARMCI_NbGetV(lists, 2, 0, nullptr), -2);
  EXPECT_EQ(x[0], 'x');
  EXPECT_EQ(ARMCI_PutV(&v, 0, 0), -1);
  EXPECT_EQ(ARMCI_PutV(&v, 1, n), -5);
  long old = 0;
  EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, q, 1, n), -5);
  EXPECT_EQ(ARMCI_Create_mutexes(-1), -1);
  EXPECT_EQ(ARMCI_Create_mutexes(32769), -1);
  if (n > 1) {
    // No memory of ARMCI_Malloc: an error at once, or at the fence.
    void* const nowhere = reinterpret_cast<void*>(uintptr_t{4096});
    int rc = ARMCI_Put(x, nowhere, 8, right());
    if (rc == 0) rc = ARMCI_Fence(right());
    EXPECT_EQ(rc, -6);
    EXPECT_EQ(ARMCI_Get(nowhere, x, 8, right()), -6);
    EXPECT_EQ(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, nowhere, 1, right()), -6);
  }
  ARMCI_Barrier();
  release(p);
}

void run() {
  EXPECT_EQ(ARMCI_Initialized(), 0);
  EXPECT_EQ(ARMCI_Init(), 0);
  me = armci_msg_me();
  n = armci_msg_nproc();
  const struct {
    const char* name;
    void (*test)();
  } tests[] = {{"life", life},
               {"memory", memory},
               {"no memory", no_memory},
               {"contiguous", contiguous},
               {"values", values},
               {"strided example", strided_example},
               {"accumulates", accumulates},
               {"vectors", vectors},
               {"read-modify-write", rmw},
               {"handles", handles},
               {"flags", flags},
               {"mutexes", mutexes},
               {"groups", groups},
               {"domains", domains},
               {"messages", messages},
               {"attached memory", attached_memory},
               {"iteration", iteration},
               {"packing", packing},
               {"late errors", late_errors},
               {"codes", codes}};
  for (const auto& one : tests) {
    if (me == 0) std::printf("%s\n", one.name), std::fflush(stdout);
    one.test();
    ARMCI_Barrier();
  }
  EXPECT_EQ(ARMCI_Finalize(), 0);
  EXPECT_EQ(ARMCI_Finalize(), 0);
  EXPECT_EQ(ARMCI_Initialized(), 0);
  second_life();
}

}  // namespace

int main() { return armci_test::on_ranks(run); }
