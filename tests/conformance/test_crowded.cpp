// More ranks than processors.
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/conformance/harness.hpp"

using namespace conf;

namespace {

using clock_type = std::chrono::steady_clock;

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
    // The system lets a thread that polls run for 3 to 8 ms while others wait: a round would take as many slices as
    // there are ranks.
    const auto longest = lci_test::time_scale * env.size * std::chrono::milliseconds(1);
    auto queue = lci::alloc_cq_x().runtime(env.rt)();
    const auto rcomp = lci::register_rcomp_x(queue).runtime(env.rt)();
    const auto target = env.all_gather(rcomp)[static_cast<size_t>(env.right())];
    const auto pass_on = [&] {
      env.post([&] { return lci::post_am_x(env.right(), nullptr, 0, {}, target).runtime(env.rt)(); });
    };
    std::vector<clock_type::duration> times;
    {
      const on_first_processor here;
      env.barrier();
      for (int i = 0; i < rounds; ++i) {
        const auto begin = clock_type::now();
        if (env.rank == 0) pass_on();
        while (lci::cq_pop_x(queue).runtime(env.rt)().is_retry())
          lci::progress_x().device(env.device).runtime(env.rt)();
        if (env.rank != 0) pass_on();
        times.push_back(clock_type::now() - begin);
      }
      env.barrier();
    }
    // The shortest one, as other programs may have slices, too.
    EXPECT(*std::ranges::min_element(times) < longest);
    lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
    lci::free_comp_x(&queue).runtime(env.rt)();
  });
}
