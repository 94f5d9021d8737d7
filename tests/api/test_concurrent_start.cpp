// Runtimes made by several threads at once, before the process has its bootstrap.
#include <catch2/catch.hpp>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include <lci.hpp>

TEST_CASE("several threads may allocate the first runtimes of a process at the same time") {
  constexpr int n = 8;
  for (int round = 0; round < 20; ++round) {
    std::latch ready(n);
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < n; ++i)
      threads.emplace_back([&] {
        ready.arrive_and_wait();
        auto rt = lci::alloc_runtime();
        auto cq = lci::alloc_cq_x().runtime(rt)();
        char in = 0, out = 'x';
        (void)lci::post_recv_x(0, &in, 1, 3, cq).runtime(rt)();
        while (lci::post_send_x(0, &out, 1, 3, lci::COMP_NULL_RETRY).runtime(rt)().is_retry())
          lci::progress_x().runtime(rt)();
        while (lci::cq_pop_x(cq).runtime(rt)().is_retry()) lci::progress_x().runtime(rt)();
        good += lci::get_rank_n_x().runtime(rt)() == 1 && in == 'x';
        lci::free_comp_x(&cq).runtime(rt)();
        lci::free_runtime(&rt);
      });
    for (auto& t : threads) t.join();
    REQUIRE(good.load() == n);
  }
}
