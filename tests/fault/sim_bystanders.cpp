// A rank fails while the program does not call progress(): coroutines that wait for the rank get an exception with
// its number, and a progress thread stores the failure for the program.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <lci/cpp20.hpp>
#include <thread>
#include <vector>

#include "network/sim/world.hpp"

namespace {

constexpr int gone = 1;

/// Ranks 0 and 1 in one process; the tests act as rank 0.
struct bystander_job {
  bystander_job() {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = 2;
    lci::set_g_default_attr(attr);
    for (auto& rt : runtimes) rt = lci::unique_handle(lci::alloc_runtime());
    lci::set_g_default_attr(before);
    device = lci::get_default_device_x().runtime(runtimes[0])();
  }
  static void kill() { lci::network::sim::world::current()->kill(gone); }

  std::array<lci::unique_handle<lci::runtime_t>, 2> runtimes;
  lci::device_t device;
};

lci::task<> receive_from(int rank, lci::tag_t tag, int& caught) {
  char byte = 0;
  try {
    co_await lci::post_recv_x(rank, lci::buffer(byte), tag, lci::COMP_NULL);
  } catch (const lci::peer_failure_error& e) {
    caught += e.failed_rank() == gone;
  }
}

lci::task<> exchange_with(int rank, int& caught) {
  std::vector<char> out(1 << 20), in(1 << 20);
  try {
    co_await lci::when_all(lci::post_send_x(rank, lci::buffer(out), 1, lci::COMP_NULL),
                           lci::post_recv_x(rank, lci::buffer(in), 1, lci::COMP_NULL));
  } catch (const lci::peer_failure_error& e) {
    caught += e.failed_rank() == gone;
  }
}

lci::task<> talk_to_itself(int& over) {
  uint32_t out = 5, in = 0;
  const auto both = co_await lci::when_all(lci::post_recv_x(0, lci::buffer(in), 9, lci::COMP_NULL),
                                           lci::post_send_x(0, lci::buffer(out), 9, lci::COMP_NULL));
  over += lci::value<uint32_t>(both[0]) == 5;
}

}  // namespace

TEST_CASE("tasks that wait for a rank that fails get its number, and the others continue") {
  bystander_job job;
  lci::scheduler scheduler(job.device);
  int caught = 0, over = 0, thrown = 0;
  for (lci::tag_t tag = 2; tag < 5; ++tag) scheduler.spawn(receive_from(gone, tag, caught));
  scheduler.spawn(exchange_with(gone, caught));
  for (int i = 0; i < 100; ++i) scheduler.poll();
  CHECK(caught == 0);
  job.kill();
  while (scheduler.unfinished() > 0) {
    try {
      scheduler.run();
    } catch (const lci::peer_failure_error& e) {
      CHECK(e.failed_rank() == gone);
      ++thrown;
    }
  }
  CHECK(thrown <= 1);  // by progress(), which may report it after the last task has ended
  CHECK(caught == 4);
  scheduler.run(receive_from(gone, 7, caught));  // the post itself throws, into the task
  CHECK(caught == 5);
  scheduler.run(talk_to_itself(over));
  CHECK(over == 1);
}

TEST_CASE("a progress thread stores a peer failure for the program's next progress") {
  const auto mode = GENERATE(lci::progress_mode_t::spin, lci::progress_mode_t::event);
  bystander_job job;
  lci::unique_handle service(lci::alloc_progress_thread_x().device(job.device).progress_mode(mode)());
  lci::unique_handle sync(lci::alloc_sync());
  char byte = 0;
  lci::status_t status = lci::post_recv_x(gone, lci::buffer(byte), 1, sync).device(job.device)();
  REQUIRE(status.is_posted());
  job.kill();
  int thrown = 0;
  for (int i = 0; i < 1000 && !lci::sync_test(sync, &status); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // without a call of progress()
  CHECK(status.error == lci::errorcode_t::fatal);
  CHECK(status.rank == gone);
  for (int i = 0; i < 100; ++i) {
    try {
      lci::progress_x().device(job.device)();
    } catch (const lci::peer_failure_error& e) {
      thrown += e.failed_rank() == gone;
    }
  }
  CHECK(thrown == 1);
}

TEST_CASE("a post that waits while two other ranks fail loses neither failure") {
  constexpr int waited_for = 1, n_ranks = 4;
  lci::global_attr_t attr = lci::get_g_default_attr();
  const lci::global_attr_t before = attr;
  attr.backend = lci::attr_backend_t::sim;
  attr.sim_ranks = n_ranks;
  lci::set_g_default_attr(attr);
  std::array<lci::unique_handle<lci::runtime_t>, n_ranks> runtimes;
  for (auto& rt : runtimes) rt = lci::unique_handle(lci::alloc_runtime());
  lci::set_g_default_attr(before);
  lci::runtime_t mine = runtimes[0], theirs = runtimes[waited_for];
  lci::comp_t count = lci::alloc_counter_x().runtime(mine)();
  const lci::rcomp_t rcomp = lci::register_rcomp_x(count).runtime(mine)();
  for (int rank = waited_for + 1; rank < n_ranks; ++rank)  // so that their failures concern the program
    lci::post_am_x(rank, nullptr, 0, lci::COMP_NULL, rcomp).runtime(mine)();
  // The other end of the post receives only when rank 0 has made progress several times since the failures.
  std::vector<char> out(1 << 20), in(out.size());
  std::atomic<bool> sent{false}, over{false};
  bool arrived = false;
  std::thread other([&] {
    const lci::unique_handle sync(lci::alloc_sync_x().runtime(theirs)());
    const auto progress = [&] {
      try {
        lci::progress_x().runtime(theirs)();
      } catch (const lci::peer_failure_error&) {
        // This rank may learn of the failures, too.
      }
    };
    for (int rank = waited_for + 1; rank < n_ranks; ++rank) lci::network::sim::world::current()->kill(rank);
    for (int64_t i = 0; i < 10; ++i) {
      while (lci::post_am_x(0, nullptr, 0, lci::COMP_NULL_RETRY, rcomp).runtime(theirs)().is_retry()) progress();
      while (lci::counter_get_x(count).runtime(mine)() <= i) progress();
    }
    lci::status_t received = lci::post_recv_x(0, lci::buffer(in), 1, sync).runtime(theirs)();
    while (!received.is_done() && !lci::sync_test_x(sync, &received).runtime(theirs)()) progress();
    arrived = received.is_done();
    while (!sent) progress();  // its answer may still be under way
    over = true;
  });
  int failed = 0;
  try {
    lci::post_send_x(waited_for, lci::buffer(out), 1, lci::COMP_NULL).runtime(mine)();
  } catch (const lci::peer_failure_error& e) {
    failed += e.failed_rank();
  }
  sent = true;
  for (int i = 0; i < 100 || !over; ++i) {
    try {
      lci::progress_x().runtime(mine)();
    } catch (const lci::peer_failure_error& e) {
      failed += e.failed_rank();
    }
  }
  other.join();
  CHECK(arrived);
  CHECK(failed == 2 + 3);
  lci::deregister_rcomp_x(rcomp).runtime(mine)();
  lci::free_comp_x(&count).runtime(mine)();
}
