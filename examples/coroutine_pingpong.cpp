// Coroutines: pairs of ranks exchange balls. Each ball is a task, written as if it blocked; while it waits, the other
// tasks of the thread run.
//
//   lcirun -n 2 coroutine_pingpong [balls] [throws of each ball]

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <lci/cpp20.hpp>  // lci.hpp, and what C++20 adds to it
#include <stdexcept>

namespace {

struct ball {
  uint32_t number;
  uint32_t throws;  // so far
};

// Receives a ball as bytes; value() converts them to a ball, and throws an exception if their number is wrong. co_await
// on a task returns its result.
lci::task<ball> catch_ball(int peer, uint32_t number) {
  ball b{};
  // Any functor that posts can be awaited. COMP_NULL is a placeholder: the scheduler passes its own completion object,
  // and resumes the task when the message has arrived.
  const lci::status_t status = co_await lci::post_recv_x(peer, lci::buffer(b), number, lci::COMP_NULL);
  co_return lci::value<ball>(status);
}

// One ball: even ranks throw first. The number of the ball is the tag of its messages.
lci::task<> play(int me, int peer, uint32_t number, uint32_t throws, uint64_t& caught) {
  ball mine{number, 0};
  if (me % 2 == 0) co_await lci::post_send_x(peer, lci::buffer(mine), number, lci::COMP_NULL);
  for (uint32_t i = 0; i < throws; ++i) {
    mine = co_await catch_ball(peer, number);
    // No lock: all tasks of a scheduler run in its thread.
    caught += mine.number == number;
    ++mine.throws;
    // The rank that threw first does not return the last ball.
    if (me % 2 != 0 || i + 1 < throws) co_await lci::post_send_x(peer, lci::buffer(mine), number, lci::COMP_NULL);
  }
  // Every catch, on either rank, has counted one throw; the even rank makes the last catch.
  if (mine.throws != 2 * throws - (me % 2 != 0 ? 1u : 0u))
    throw std::runtime_error("a ball has a wrong count of throws");
}

}  // namespace

int main(int argc, char** argv) {
  const auto balls = static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 100);
  const auto throws = static_cast<uint32_t>(argc > 2 ? std::atoi(argv[2]) : 100);

  // Frees the runtime at the end of main(), or when an exception leaves it.
  const lci::unique_handle runtime(lci::g_runtime_init());
  const int me = lci::get_rank_me(), n = lci::get_rank_n();
  const int peer = me % 2 == 0 ? me + 1 : me - 1;

  uint64_t caught = 0, all = 0;
  {
    lci::scheduler scheduler;
    // With an odd number of ranks the last one has no partner.
    for (uint32_t b = 0; b < balls && peer < n; ++b) scheduler.spawn(play(me, peer, b, throws, caught));
    // Makes progress, and resumes each task when its operation has completed, until all tasks have ended. Rethrows the
    // exception of a task.
    scheduler.run();
  }
  // Typed reductions work with the usual functors, too.
  lci::allreduce(&caught, &all, 1, sizeof caught, lci::reduction<uint64_t, std::plus<>>);
  if (me == 0) std::printf("%llu balls were caught by %d ranks\n", static_cast<unsigned long long>(all), n);
  const auto players = static_cast<uint64_t>(n - n % 2);
  return all == players * balls * throws ? 0 : 1;
}
