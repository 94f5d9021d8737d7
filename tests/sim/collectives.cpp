// What a rank owes to the others after it has returned from a collective operation: nothing.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "lci.hpp"
#include "tests/support/testing.hpp"

namespace {

constexpr size_t n_ranks = 3;

void add(const void* left, const void* right, void* dst, size_t n) {
  const auto *l = static_cast<const int*>(left), *r = static_cast<const int*>(right);
  for (size_t i = 0; i < n; ++i) static_cast<int*>(dst)[i] = l[i] + r[i];
}

using operation = std::function<void(lci::runtime_t, int* mine, int* all)>;

/// One rank per thread executes the operation and makes no progress afterwards. Returns whether all ranks have returned
/// from it nevertheless.
bool all_return(const operation& what, uint64_t seed) {
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  attr.sim_seed = seed;
  attr.sim_ranks = n_ranks;
  attr.sim_retry_percent = 80;  // so that many messages wait in the backlog
  lci::set_g_default_attr(attr);
  std::vector<lci::runtime_t> ranks;
  for (size_t r = 0; r < n_ranks; ++r) ranks.push_back(lci::alloc_runtime());
  lci::set_g_default_attr(before);
  std::atomic<size_t> returned{0};
  std::vector<std::thread> threads;
  for (const lci::runtime_t rt : ranks)
    threads.emplace_back([&, rt] {
      std::vector<int> mine(n_ranks, 1), all(n_ranks, 0);
      what(rt, mine.data(), all.data());
      returned.fetch_add(1);
    });
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (returned.load() < n_ranks && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  const bool in_time = returned.load() == n_ranks;
  while (returned.load() < n_ranks)
    for (const lci::runtime_t rt : ranks) lci::progress_x().runtime(rt)();
  for (auto& t : threads) t.join();
  for (auto& rt : ranks) lci::free_runtime(&rt);
  return in_time;
}

}  // namespace

TEST_CASE("all ranks return from a collective, although those that have returned make no progress") {
  lci_test::time_limit(120);
  const struct {
    const char* name;
    operation call;
  } operations[] = {
      {"barrier", [](auto rt, int*, int*) { lci::barrier_x().runtime(rt)(); }},
      {"broadcast", [](auto rt, int* mine, int*) { lci::broadcast_x(mine, sizeof(int), 0).runtime(rt)(); }},
      {"gather", [](auto rt, int* mine, int* all) { lci::gather_x(mine, all, sizeof(int), 0).runtime(rt)(); }},
      {"scatter", [](auto rt, int* mine, int* all) { lci::scatter_x(mine, all, sizeof(int), 0).runtime(rt)(); }},
      {"allgather", [](auto rt, int* mine, int* all) { lci::allgather_x(mine, all, sizeof(int)).runtime(rt)(); }},
      {"alltoall", [](auto rt, int* mine, int* all) { lci::alltoall_x(mine, all, sizeof(int)).runtime(rt)(); }},
      {"reduce", [](auto rt, int* mine, int* all) { lci::reduce_x(mine, all, 1, sizeof(int), add, 0).runtime(rt)(); }},
      {"allreduce",
       [](auto rt, int* mine, int* all) { lci::allreduce_x(mine, all, 1, sizeof(int), add).runtime(rt)(); }},
      {"scan", [](auto rt, int* mine, int* all) { lci::scan_x(mine, all, 1, sizeof(int), add).runtime(rt)(); }},
      {"reduce_scatter",
       [](auto rt, int* mine, int* all) { lci::reduce_scatter_x(mine, all, 1, sizeof(int), add).runtime(rt)(); }},
  };
  for (const auto& o : operations)
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      INFO(o.name << ", seed " << seed);
      REQUIRE(all_return(o.call, seed));
    }
}
