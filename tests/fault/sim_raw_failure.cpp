// Raw network operations when a rank fails: those in flight to it end as ERROR, statuses that were not polled
// remain, and posted buffers still receive messages of others.
#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "lci.hpp"
#include "network/sim/world.hpp"

namespace {

constexpr int victim = 1;

/// Ranks 0 and 1 in one process and one thread; the tests act as rank 0.
class raw_pair {
 public:
  raw_pair() {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_ranks = 2;
    lci::set_g_default_attr(attr);
    for (auto& rt : runtimes) rt = lci::alloc_runtime();
    lci::set_g_default_attr(before);
  }
  ~raw_pair() {
    for (auto& rt : runtimes) lci::free_runtime(&rt);
  }

  lci::runtime_t me() const { return runtimes[0]; }
  /// Polls rank 0 1000 times. Returns how many of the polls threw the failure.
  int poll() {
    int reported = 0;
    for (int i = 0; i < 1000; ++i) {
      std::array<lci::net_status_t, 4> taken;
      try {
        const size_t n = lci::net_poll_cq_x(taken.size(), taken.data()).runtime(me())();
        polled.insert(polled.end(), taken.begin(), taken.begin() + static_cast<ptrdiff_t>(n));
      } catch (const lci::peer_failure_error& e) {
        CHECK(e.failed_rank() == victim);
        ++reported;
      }
    }
    return reported;
  }
  template <class F>
  lci::error_t post(F f) {
    lci::error_t e;
    while ((e = f()).is_retry()) (void)lci::progress_x().runtime(me())();
    return e;
  }

  std::array<lci::runtime_t, 2> runtimes;
  std::vector<lci::net_status_t> polled;
};

}  // namespace

TEST_CASE("a raw send to a rank that fails ends as an error, and statuses that were not polled remain") {
  raw_pair job;
  std::vector<char> large(100'000);
  char buffer = 0;
  using namespace lci;
  REQUIRE(job.post([&] { return net_post_recv_x(&buffer, 1, mr_t()).user_context(&buffer).runtime(job.me())(); })
              .is_posted());
  // The victim makes no progress, so it does not request the buffer.
  REQUIRE(
      job.post([&] {
           return net_post_send_x(victim, large.data(), large.size(), mr_t()).user_context(&large).runtime(job.me())();
         })
          .is_posted());
  REQUIRE(job.post([&] { return net_post_send_x(0, &buffer, 1, mr_t()).user_context(&job).runtime(job.me())(); })
              .is_posted());
  network::sim::world::current()->kill(victim);
  CHECK(job.poll() == 1);
  int errors = 0, sends = 0, received = 0;
  for (const net_status_t& s : job.polled) {
    errors += s.opcode == net_opcode_t::ERROR && s.rank == victim && s.user_context == &large;
    sends += s.opcode == net_opcode_t::SEND && s.rank == 0 && s.user_context == &job;
    received += s.opcode == net_opcode_t::RECV && s.rank == 0 && s.user_context == &buffer;
  }
  CHECK(errors == 1);
  CHECK(sends == 1);
  CHECK(received == 1);
  CHECK(job.polled.size() == 3);
  CHECK_THROWS_AS(net_post_send_x(victim, &buffer, 1, mr_t()).runtime(job.me())(), peer_failure_error);
  CHECK_THROWS_AS(net_post_sends_x(victim, &buffer, 1).runtime(job.me())(), peer_failure_error);
}
