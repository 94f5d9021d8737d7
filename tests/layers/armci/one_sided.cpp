// A process that computes, without a call of ARMCI, delays nobody; and one that waits costs no processor.
#include <armci.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>

#include "tests/layers/armci/ranks.hpp"
#include "tests/support/testing.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

double processor_time() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/// The longest of some tries of an operation that must not wait for its target: the time until it is complete there.
template <class F>
void quick(const char* what, F f) {
  double longest = 0;
  for (int i = 0; i < 20; ++i) {
    const auto begin = clock_type::now();
    f();
    longest = std::max(longest, seconds_since(begin));
  }
  std::printf("%-12s %8.1f us at most\n", what, longest * 1e6);
  // Processes share few cores with others here: much less than the two seconds that the target computes.
  if (longest > 0.5 * lci_test::time_scale) armci_test::fail(__FILE__, __LINE__, std::string(what) + " has waited");
}

void run() {
  ARMCI_Init();
  const int me = armci_msg_me(), n = armci_msg_nproc();
  std::vector<void*> bases(static_cast<size_t>(n));
  EXPECT_EQ(ARMCI_Malloc(bases.data(), 1 << 20), 0);
  std::memset(bases[static_cast<size_t>(me)], 0, 1 << 20);
  EXPECT_EQ(ARMCI_Create_mutexes(1), 0);
  ARMCI_Barrier();
  if (me == n - 1 && n > 1) {
    const auto begin = clock_type::now();
    volatile double x = 1;
    while (seconds_since(begin) < 2) x = std::sqrt(x + 1);
  } else if (me == 0 && n > 1) {
    auto* const there = static_cast<char*>(bases.back());
    std::vector<char> data(100000, 'x');
    double one = 1, scale = 2;
    usleep(100000);  // all that was under way is over
    const auto begin = clock_type::now();
    quick("put, fence", [&] { ARMCI_Put(data.data(), there, 100000, n - 1), ARMCI_Fence(n - 1); });
    quick("get", [&] { ARMCI_Get(there, data.data(), 100000, n - 1); });
    quick("accumulate", [&] { ARMCI_Acc(ARMCI_ACC_DBL, &scale, &one, there + 200000, 8, n - 1), ARMCI_Fence(n - 1); });
    quick("rmw", [&] {
      long old;
      ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, there + 300000, 1, n - 1);
    });
    quick("lock", [&] { ARMCI_Lock(0, n - 1), ARMCI_Unlock(0, n - 1); });
    EXPECT(seconds_since(begin) < 1.9);  // the target still computes
  }
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);

  // A process that is idle, outside of ARMCI.
  const double before = processor_time();
  sleep(2);
  const double share = (processor_time() - before) / 2;
  std::printf("idle: %.3f %% of a core\n", share * 100);
  EXPECT(share < 0.01);
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_Free(bases[static_cast<size_t>(me)]), 0);
  ARMCI_Finalize();
}

}  // namespace

int main() { return armci_test::on_ranks(run); }
