// More ranks than processors.
#include <sched.h>

#include <algorithm>
#include <ctime>
#include <vector>

#include "tests/conformance/harness.hpp"

using namespace conf;

namespace {

/// Processor time that the calling thread has used. Other programs don't change it.
double used_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/// Binds the calling thread to a processor that it may use, the same one in all processes, until destruction.
class on_first_processor {
 public:
  on_first_processor() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &before_)) {
        CPU_SET(i, &one);
        break;
      }
    sched_setaffinity(0, sizeof one, &one);
  }
  ~on_first_processor() { sched_setaffinity(0, sizeof before_, &before_); }
  on_first_processor(const on_first_processor&) = delete;
  on_first_processor& operator=(const on_first_processor&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace

TEST_CASE("ranks that poll on one processor don't wait for each other's time slices", "[crowded]") {
  if (ranks_in_one_process()) LCI_SKIP("the ranks are threads, which yield to each other");
  if (on_several_hosts()) LCI_SKIP("the ranks have processors of their own");
  on_ranks([](rank_env& env) {
    constexpr int rounds = 100;
    // The system lets a thread that polls run for 3 ms or more while others wait.
    constexpr double least_slice_ms = 1;
    auto queue = lci::alloc_cq_x().runtime(env.rt)();
    const auto rcomp = lci::register_rcomp_x(queue).runtime(env.rt)();
    const auto target = env.all_gather(rcomp)[static_cast<size_t>(env.right())];
    const auto pass_on = [&] {
      env.post([&] { return lci::post_am_x(env.right(), nullptr, 0, {}, target).runtime(env.rt)(); });
    };
    std::vector<double> times;
    {
      const on_first_processor here;
      env.barrier();
      for (int i = 0; i < rounds; ++i) {
        const double begin = used_ms();
        if (env.rank == 0) pass_on();
        while (lci::cq_pop_x(queue).runtime(env.rt)().is_retry())
          lci::progress_x().device(env.device).runtime(env.rt)();
        if (env.rank != 0) pass_on();
        times.push_back(used_ms() - begin);
      }
      env.barrier();
    }
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    EXPECT(times[rounds / 2] < least_slice_ms);
    lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
    lci::free_comp_x(&queue).runtime(env.rt)();
  });
}
