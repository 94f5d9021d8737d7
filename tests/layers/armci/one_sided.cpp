// A process that computes, or waits in MPI's barrier, without a call of ARMCI, does not delay others. A process that
// sleeps uses no processor time.
#include <armci.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "tests/layers/armci/ranks.hpp"
#include "tests/support/testing.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

/// Some tries of an operation that must not wait for its target: the time until it is complete there. Processes share
/// few processors with others here, which may take one away for long: so the bound is for the median, and a far one for
/// all.
template <class F>
void quick(const char* what, bool measured, F f) {
  if (!measured) return f();
  std::array<double, 21> times;
  for (double& t : times) {
    const auto begin = clock_type::now();
    f();
    t = seconds_since(begin);
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2], longest = times.back();
  std::printf("%-12s %8.1f us, at most %8.1f\n", what, median * 1e6, longest * 1e6);
  if (median > 0.05 * lci_test::time_scale || longest > 0.5 * lci_test::time_scale)
    armci_test::fail(__FILE__, __LINE__, std::string(what) + " has waited");
}

struct world {
  int me = armci_msg_me(), n = armci_msg_nproc();
  std::vector<void*> bases = std::vector<void*>(static_cast<size_t>(n));
};

/// By rank 0, on the last.
void work_on_the_last(const world& w, bool measured = true) {
  const int last = w.n - 1;
  auto* const there = static_cast<char*>(w.bases.back());
  std::vector<char> data(100000, 'x');
  double one = 1, scale = 2;
  quick("put, fence", measured, [&] { ARMCI_Put(data.data(), there, 100000, last), ARMCI_Fence(last); });
  quick("put 8, fence", measured, [&] { ARMCI_Put(data.data(), there, 8, last), ARMCI_Fence(last); });
  quick("get", measured, [&] { ARMCI_Get(there, data.data(), 100000, last); });
  quick("accumulate", measured,
        [&] { ARMCI_Acc(ARMCI_ACC_DBL, &scale, &one, there + 200000, 8, last), ARMCI_Fence(last); });
  quick("rmw", measured, [&] {
    long old;
    ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, there + 300000, 1, last);
  });
  quick("lock", measured, [&] { ARMCI_Lock(0, last), ARMCI_Unlock(0, last); });
}

/// The last rank computes for two seconds.
void while_it_computes(const world& w) {
  ARMCI_Barrier();
  const auto begin = clock_type::now();
  if (w.me == w.n - 1) {
    volatile double x = 1;
    while (seconds_since(begin) < 2 * lci_test::time_scale) x = std::sqrt(x + 1);
  } else if (w.me == 0) {
    usleep(100000);  // until earlier requests have been handled
    work_on_the_last(w);
    EXPECT(seconds_since(begin) < 1.9 * lci_test::time_scale);  // the target still computes
  }
  ARMCI_Barrier();
}

#ifdef MPI_VERSION
/// All but rank 0 are in MPI's barrier, which knows nothing of ARMCI.
void while_it_is_in_a_barrier(const world& w) {
  ARMCI_Barrier();
  if (w.me == 0) {
    usleep(100000);
    work_on_the_last(w);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  ARMCI_Barrier();
}
#endif

#ifndef MPI_VERSION
double processor_time() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/// The least of some intervals: on a busy machine each wake-up costs more.
void while_idle() {
  double share = 1;
  for (int i = 0; i < 3; ++i) {
    const double before = processor_time();
    sleep(1);
    share = std::min(share, processor_time() - before);
  }
  std::printf("idle: %.3f %% of a core\n", share * 100);
  EXPECT(share < MOST_IDLE);
}
#endif

void run() {
  ARMCI_Init();
  world w;
  EXPECT_EQ(ARMCI_Malloc(w.bases.data(), 1 << 20), 0);
  std::memset(w.bases[static_cast<size_t>(w.me)], 0, 1 << 20);
  EXPECT_EQ(ARMCI_Create_mutexes(1), 0);
  if (w.n > 1) {
    if (w.me == 0) work_on_the_last(w, false);  // networks make connections and buffers with the first messages
    while_it_computes(w);
#ifdef MPI_VERSION
    while_it_is_in_a_barrier(w);
#endif
  }
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_Destroy_mutexes(), 0);
#ifndef MPI_VERSION  // MPI has threads of its own
  while_idle();
#endif
  ARMCI_Barrier();
  EXPECT_EQ(ARMCI_Free(w.bases[static_cast<size_t>(w.me)]), 0);
  ARMCI_Finalize();
}

}  // namespace

#ifdef MPI_VERSION
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int status = armci_test::on_ranks(run);
  MPI_Finalize();
  return status;
}
#else
int main() { return armci_test::on_ranks(run); }
#endif
