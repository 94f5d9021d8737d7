// A rank has failed before a collective operation: at the other ranks the operation throws peer_failure_error with its
// number, also if the failure was reported before, and frees its memory. Also: a handler throws during an allgather.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "lci.hpp"
#include "network/sim/world.hpp"

namespace {

/// Simulated ranks, of which the last one fails; a thread each for the others.
template <int n_ranks>
struct dying_job {
  static constexpr int gone = n_ranks - 1;

  dying_job() {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = n_ranks;
    attr.shared_heap_size = 1 << 20;
    lci::set_g_default_attr(attr);
    for (auto& rt : runtimes) rt = lci::alloc_runtime();
    lci::set_g_default_attr(before);
  }
  ~dying_job() {
    for (auto& rt : runtimes) lci::free_runtime(&rt);
  }
  /// Calls f(rank) in a thread for each of the first `n` ranks.
  template <class F>
  static void on_ranks(int n, F f) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < n; ++rank) threads.emplace_back(f, rank);
    for (std::thread& t : threads) t.join();
  }
  static void kill() { lci::network::sim::world::current()->kill(gone); }

  std::array<lci::runtime_t, n_ranks> runtimes;
};

/// The rank whose failure f() has thrown; -1: it has thrown none.
template <class F>
int failed_in(F f) {
  try {
    f();
  } catch (const lci::peer_failure_error& e) {
    return e.failed_rank();
  }
  return -1;
}

}  // namespace

TEST_CASE("a barrier ends at all ranks although the failure of a rank was reported before") {
  constexpr int n_ranks = 8;  // enough that some ranks exchange nothing with the one that fails
  dying_job<n_ranks> job;
  job.on_ranks(n_ranks, [&](int rank) { lci::barrier_x().runtime(job.runtimes[static_cast<size_t>(rank)])(); });
  job.kill();
  std::array<int, n_ranks> reported, failed;
  reported.fill(-1);
  failed.fill(-1);
  job.on_ranks(job.gone, [&](int rank) {
    const auto at = static_cast<size_t>(rank);
    const lci::runtime_t rt = job.runtimes[at];
    while (reported[at] < 0) reported[at] = failed_in([&] { lci::progress_x().runtime(rt)(); });
    failed[at] = failed_in([&] { lci::barrier_x().runtime(rt)(); });
  });
  for (size_t rank = 0; rank < n_ranks - 1; ++rank) {
    CHECK(reported[rank] == job.gone);
    CHECK(failed[rank] == job.gone);
  }
}

TEST_CASE("symmetric memory stays until its device ends if a rank fails before free_symmetric") {
  constexpr size_t more_than_half = 600'000;  // of the shared heap
  dying_job<2> job;
  std::array<lci::device_t, 2> devices;
  std::array<lci::symmetric_t, 2> memory;
  for (size_t rank = 0; rank < 2; ++rank) devices[rank] = lci::alloc_device_x().runtime(job.runtimes[rank])();
  job.on_ranks(2, [&](int rank) {
    const auto at = static_cast<size_t>(rank);
    memory[at] = lci::alloc_symmetric_x(more_than_half).device(devices[at]).runtime(job.runtimes[at])();
  });
  const lci::runtime_t rt = job.runtimes[0];
  job.kill();
  CHECK(failed_in([&] { lci::free_symmetric_x(&memory[0]).runtime(rt)(); }) == job.gone);
  CHECK(memory[0].is_empty());
  // Other ranks, which have not failed, might still write to it.
  CHECK_THROWS_AS(lci::alloc_shared_x(more_than_half).runtime(rt)(), lci::resource_error);
  lci::free_device_x(&devices[0]).runtime(rt)();
  lci::mr_t mr = lci::alloc_shared_x(more_than_half).runtime(rt)();
  lci::free_shared_x(&mr).runtime(rt)();
  CHECK(failed_in([&] { lci::free_symmetric_x(&memory[1]).runtime(job.runtimes[1])(); }) == 0);
  lci::free_device_x(&devices[1]).runtime(job.runtimes[1])();
}

TEST_CASE("what arrives for an exchange that a handler has ended is written to no memory of others") {
  struct thrown_by_handler {};
  constexpr int messages = 40;  // more than a collective operation ignores
  lci::global_attr_t attr = lci::get_g_default_attr();
  const lci::global_attr_t before = attr;
  attr.backend = lci::attr_backend_t::sim;
  attr.sim_ranks = 2;
  attr.sim_max_delay = attr.sim_retry_percent = 0;
  lci::set_g_default_attr(attr);
  lci::runtime_t rt = lci::alloc_runtime(), other = lci::alloc_runtime();
  lci::set_g_default_attr(before);
  auto handler = lci::alloc_handler_x([](lci::status_t) { throw thrown_by_handler(); }).am_in_place(true).runtime(rt)();
  const auto rcomp = lci::register_rcomp_x(handler).runtime(rt)();
  for (int i = 0; i < messages; ++i)
    REQUIRE(lci::post_am_x(0, nullptr, 0, lci::COMP_NULL, rcomp).runtime(other)().is_done());
  CHECK_THROWS_AS(lci::alloc_symmetric_x(64).runtime(rt)(), thrown_by_handler);
  // Memory that the exchange may have used.
  std::vector<std::pair<std::unique_ptr<char[]>, size_t>> blocks;
  for (size_t size = 16; size <= 512; size += 8)
    for (int i = 0; i < 4; ++i) {
      blocks.emplace_back(new char[size], size);
      std::memset(blocks.back().first.get(), 0x5a, size);
    }
  std::array<char, 256> mine{};
  std::array<char, 512> all{};
  auto sync = lci::alloc_sync_x().runtime(other)();
  lci::allgather_x(mine.data(), all.data(), mine.size()).comp(sync).runtime(other)();
  for (int i = 0; i < 1000; ++i) {
    lci::progress_x().runtime(other)();
    try {
      lci::progress_x().runtime(rt)();
    } catch (const thrown_by_handler&) {
      // The rest of the messages.
    }
  }
  CHECK(lci::sync_test_x(sync, nullptr).runtime(other)());
  bool intact = true;
  for (const auto& [block, size] : blocks)
    for (size_t i = 0; i < size; ++i) intact = intact && block[i] == 0x5a;
  CHECK(intact);
  lci::free_comp_x(&sync).runtime(other)();
  lci::deregister_rcomp_x(rcomp).runtime(rt)();
  lci::free_comp_x(&handler).runtime(rt)();
  lci::free_runtime(&rt);
  lci::free_runtime(&other);
}
