// ARMCI without memory, between two hosts: an operation returns a code, or succeeds later, and none waits for ever.
// Rank 0 issues operations, while allocations fail there or at rank 1, which only answers; or both call a collective
// operation, while allocations fail at rank 0. The sweep goes on until an operation needs no further allocation.
#include <armci.h>
#include <armcix.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/failing_memory.hpp"
#include "tests/support/ordered_shortage.hpp"

namespace {

using lci_test::failing_memory;
using lci_test::ordered_shortage;

int me = 0, failed = 0;
ordered_shortage* shared = nullptr;
std::vector<void*> bases(2);
constexpr int rows = 1000, elements = 30000;
double local[elements], one = 1;

#define EXPECT(condition, what)                                                           \
  do {                                                                                    \
    if (!(condition)) std::printf("%d: FAILED %s: %s\n", me, what, #condition), ++failed; \
  } while (false)

struct list {
  std::vector<void*> src, dst;
  armci_giov_t v{};
  /// Its segments are some elements of the local array and of rank 1's.
  explicit list(bool to_rank_1) {
    for (int i = 0; i < rows; ++i) {
      src.push_back(local + 2 * i);
      dst.push_back(static_cast<double*>(bases[1]) + 3 * i);
    }
    if (!to_rank_1) src.swap(dst);
    v.src_ptr_array = src.data();
    v.dst_ptr_array = dst.data();
    v.bytes = 8;
    v.ptr_array_len = rows;
  }
};

int stride[] = {24}, shape[] = {8, rows};

struct operation {
  const char* name;
  std::function<int()> call;
};
/// The operations that rank 0 does with rank 1's memory.
std::vector<operation> operations() {
  static list put(true), get(false);
  static armci_hdl_t handle;
  const auto wait = [](int rc) { return rc != 0 ? rc : ARMCI_Wait(&handle); };
  return {
      {"put", [] { return ARMCI_Put(local, bases[1], 8, 1); }},
      {"large put", [] { return ARMCI_Put(local, bases[1], sizeof local, 1); }},
      {"put strided", [] { return ARMCI_PutS(local, stride, bases[1], stride, shape, 1, 1); }},
      {"put list", [] { return ARMCI_PutV(&put.v, 1, 1); }},
      {"get", [] { return ARMCI_Get(bases[1], local, 8, 1); }},
      {"large get", [] { return ARMCI_Get(bases[1], local, sizeof local, 1); }},
      {"get strided", [] { return ARMCI_GetS(bases[1], stride, local, stride, shape, 1, 1); }},
      {"get list", [] { return ARMCI_GetV(&get.v, 1, 1); }},
      {"accumulate", [] { return ARMCI_Acc(ARMCI_ACC_DBL, &one, local, bases[1], sizeof local, 1); }},
      {"accumulate strided",
       [] { return ARMCI_AccS(ARMCI_ACC_DBL, &one, local, stride, bases[1], stride, shape, 1, 1); }},
      {"accumulate list", [] { return ARMCI_AccV(ARMCI_ACC_DBL, &one, &put.v, 1, 1); }},
      {"non-blocking put", [=] { return wait(ARMCI_NbPut(local, bases[1], sizeof local, 1, &handle)); }},
      {"non-blocking get", [=] { return wait(ARMCI_NbGetV(&get.v, 1, 1, &handle)); }},
      {"read-modify-write",
       [] {
         long old = 0;
         return ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, static_cast<double*>(bases[1]) + elements, 1, 1);
       }},
      {"put and fence",
       [] {
         const int rc = ARMCI_Put(local, bases[1], 8, 1);
         return rc != 0 ? rc : ARMCI_Fence(1);
       }},
      {"put and fence of all",
       [] {
         const int rc = ARMCI_Put(local, bases[1], 8, 1);
         return rc != 0 ? rc : ARMCI_AllFence();
       }},
  };
}

/// Allocations fail while rank 0 locks a mutex of rank 1. The job ends if rank 0 can't send its request for long, or
/// rank 1 its answer.
void lock() {
  lci_test::sweep_allocations([&](long good) {
    shared->begin(good, 1);
    ARMCI_Lock(0, 1);
    ARMCI_Unlock(0, 1);
    const long failures = shared->end();
    EXPECT(ARMCI_AllFence() == 0, "mutex");
    return failures;
  });
}

void issue(long bad) {
  for (const operation& o : operations()) {
    for (const bool at_rank_1 : {false, true}) {
      const std::string name = std::string(o.name) + (at_rank_1 ? ", none at its target" : "");
      lci_test::sweep_allocations([&](long good) {
        int rc = 0;
        const long failures = shared->fail_during(at_rank_1, good, bad, [&] { rc = o.call(); });
        EXPECT(rc == 0 || (rc == -6 && failures > 0), name.c_str());
        (void)ARMCI_AllFence();  // may report what this operation has not done
        EXPECT(o.call() == 0, name.c_str());
        EXPECT(ARMCI_AllFence() == 0, name.c_str());
        return failures;
      });
    }
  }
}

void meet() {
  ARMCI_Group world;
  ARMCI_Group_get_world(&world);
  const auto at_both = [](const char* name, const std::function<int()>& call) {
    for (long good = 0; good < 100; ++good) {
      std::optional<failing_memory> shortage;
      if (me == 0) shortage.emplace(0, good, 1);
      const int rc = call();
      int least = me == 0 && failing_memory::failures() == 0 ? 1 : 0, worst = rc;
      shortage.reset();
      char max[] = "max", min[] = "min";
      armci_msg_igop(&least, 1, max);
      armci_msg_igop(&worst, 1, min);
      EXPECT(rc == worst && (rc == 0 || rc == -6), name);
      if (least == 1) return;
    }
  };
  at_both("allocation", [] {
    void* p[2];
    const int rc = ARMCI_Malloc(p, 4096);
    if (rc == 0 && ARMCI_Free(p[me]) != 0) return 1;
    return rc;
  });
  at_both("mutexes", [] {
    const int rc = ARMCI_Create_mutexes(2);
    if (rc == 0 && ARMCI_Destroy_mutexes() != 0) return 1;
    return rc == -2 ? -6 : rc;
  });
  at_both("split", [&] {
    ARMCI_Group part;
    const int rc = ARMCIX_Group_split(&world, 0, me, &part);
    if (rc == 0) ARMCI_Group_free(&part);
    return rc;
  });
  at_both("sum", [] {
    char plus[] = "+";
    int ones[500];
    for (int& i : ones) i = 1;
    armci_msg_igop(ones, 500, plus);
    return ones[499] == 2 ? 0 : 1;
  });
  // Rank 0 waits for so long that it asks whether rank 1 is alive.
  at_both("barrier", [] {
    if (me == 1) usleep(120000);
    armci_msg_barrier();
    return 0;
  });
}

}  // namespace

int main() {
  alarm(200);
  ARMCI_Init();
  me = armci_msg_me();
  ordered_shortage orders("armci-no-memory");
  shared = &orders;
  if (ARMCI_Malloc(bases.data(), sizeof local + 64) != 0) return 3;
  ARMCI_Barrier();
  orders.use();
  meet();
  ARMCI_Create_mutexes(1);
  if (me == 0) {
    for (const long bad : {1, 25}) issue(bad);
    lock();
    shared->dismiss();
  } else {
    shared->obey([] { usleep(20); });
  }
  ARMCI_Barrier();
  ARMCI_Destroy_mutexes();
  ARMCI_Free(bases[static_cast<size_t>(me)]);
  ARMCI_Finalize();
  std::printf("%d: done\n", me);
  return failed == 0 ? 0 : 1;
}
