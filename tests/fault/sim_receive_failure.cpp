// Receives when a rank fails: those that name it end, others remain posted, and messages that it had sent can
// still be received.
#include <array>
#include <catch2/catch.hpp>

#include "lci.hpp"
#include "network/sim/world.hpp"

namespace {

constexpr int dead = 1;

/// Ranks 0 and 1 in one process and one thread; the tests act as rank 0.
class two_ranks {
 public:
  two_ranks() {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = 2;
    lci::set_g_default_attr(attr);
    for (auto& rt : runtimes) rt = lci::alloc_runtime();
    for (size_t r = 0; r < 2; ++r) devices[r] = lci::alloc_device_x().runtime(runtimes[r])();
    lci::set_g_default_attr(before);
    sync = lci::alloc_sync_x().runtime(runtimes[0])();
  }
  ~two_ranks() {
    lci::free_comp(&sync);
    for (size_t r = 0; r < 2; ++r) {
      lci::free_device_x(&devices[r]).runtime(runtimes[r])();
      lci::free_runtime(&runtimes[r]);
    }
  }

  void kill() { lci::network::sim::world::current()->kill(dead); }
  void progress(size_t rank) { lci::progress_x().runtime(runtimes[rank]).device(devices[rank])(); }
  /// Makes progress on rank 0, which must throw the failure exactly once.
  void learn() {
    bool reported = false;
    for (int i = 0; i < 1000; ++i) {
      try {
        progress(0);
      } catch (const lci::peer_failure_error& e) {
        CHECK(e.failed_rank() == dead);
        CHECK_FALSE(reported);
        reported = true;
      }
    }
    REQUIRE(reported);
  }
  lci::status_t receive(int rank, lci::tag_t tag, lci::comp_t comp) {
    return lci::post_recv_x(rank, buffer.data(), buffer.size(), tag, comp).runtime(runtimes[0]).device(devices[0])();
  }
  bool ended(lci::status_t* status) { return lci::sync_test_x(sync, status).runtime(runtimes[0])(); }

  std::array<lci::runtime_t, 2> runtimes;
  std::array<lci::device_t, 2> devices;
  lci::comp_t sync;
  std::array<char, 64> buffer{};
};

}  // namespace

TEST_CASE("a receive from a rank that fails ends as failed, with its rank") {
  two_ranks job;
  REQUIRE(job.receive(dead, 7, job.sync).is_posted());
  job.kill();
  job.learn();
  lci::status_t status;
  REQUIRE(job.ended(&status));
  CHECK(status.error.errorcode == lci::errorcode_t::fatal);
  CHECK(status.rank == dead);
  CHECK(status.tag == 7);
  CHECK(status.size == 0);
  CHECK(lci::test_drained_x().runtime(job.runtimes[0]).device(job.devices[0])().is_done());
}

TEST_CASE("a blocking receive from a rank that fails, or has failed, throws") {
  two_ranks job;
  job.kill();
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(job.receive(dead, 7, lci::COMP_NULL), lci::peer_failure_error);
  CHECK_THROWS_AS(job.receive(dead, 7, job.sync), lci::peer_failure_error);
  CHECK(lci::test_drained_x().runtime(job.runtimes[0]).device(job.devices[0])().is_done());
}

TEST_CASE("messages that a rank sent before it failed can still be received") {
  two_ranks job;
  char out = 'x';
  REQUIRE(lci::post_send_x(0, &out, 1, 7, lci::COMP_NULL).runtime(job.runtimes[1]).device(job.devices[1])().is_done());
  for (int i = 0; i < 100; ++i) job.progress(0);
  job.kill();
  job.learn();
  const auto status = job.receive(dead, 7, job.sync);
  REQUIRE(status.is_done());
  CHECK(status.size == 1);
  CHECK(job.buffer[0] == 'x');
}

TEST_CASE("receives that do not name the failed rank remain posted") {
  two_ranks job;
  REQUIRE(job.receive(lci::ANY_SOURCE, 7, job.sync).is_posted());
  job.kill();
  job.learn();
  lci::status_t status;
  CHECK_FALSE(job.ended(&status));
  char out = 'y';
  REQUIRE(lci::post_send_x(0, &out, 1, 7, lci::COMP_NULL)
              .matching_policy(lci::matching_policy_t::tag_only)
              .runtime(job.runtimes[0])
              .device(job.devices[0])()
              .is_done());
  for (int i = 0; i < 1000 && !job.ended(&status); ++i) job.progress(0);
  CHECK(status.is_done());
  CHECK(status.rank == 0);
  CHECK(job.buffer[0] == 'y');
}
