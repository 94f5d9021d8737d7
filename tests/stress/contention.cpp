// Threads use the network concurrently until each kind of call has found its lock taken and returned at once, which
// the counters prove; no message is lost. LCI_TEST_BUSY names the kinds: send, recv, poll.
#include <cstdlib>
#include <string>

#include "tests/conformance/harness.hpp"

using namespace conf;

namespace {

constexpr int threads = 4, burst = 50;

std::atomic<uint64_t> arrived{0};
void count_arrival(lci::status_t) { arrived.fetch_add(1, std::memory_order_relaxed); }

bool wanted(const char* kind) {
  const char* kinds = std::getenv("LCI_TEST_BUSY");
  return kinds == nullptr || std::string(kinds).find(kind) != std::string::npos;
}

bool all_seen(const lci::counters_t& c) {
  return (!wanted("send") || c.busy_send.messages > 0) && (!wanted("recv") || c.busy_recv.messages > 0) &&
         (!wanted("poll") || c.busy_poll.messages > 0);
}

}  // namespace

TEST_CASE("calls that find the network's lock taken return at once and are repeated", "[contention]") {
  lci_test::time_limit(120);
  on_ranks(
      [](rank_env& env) {
        arrived = 0;
        auto handler = lci::alloc_handler_x(count_arrival).am_in_place(true).runtime(env.rt)();
        const auto rcomp = lci::register_rcomp_x(handler).runtime(env.rt)();
        const auto rcomps = env.all_gather(rcomp);
        const auto to = rcomps[static_cast<size_t>(env.right())];
        uint64_t sent = 0, expected = 0;
        bool more = true;
        while (more) {
          env.parallel(threads, [&](int t) {
            // Some messages are injected, others use packets.
            std::vector<char> data(t % 2 == 0 ? 8 : 2000);
            for (int i = 0; i < burst; ++i)
              env.post([&] {
                return lci::post_am_x(env.right(), data.data(), data.size(), lci::COMP_NULL_RETRY, to)
                    .device(env.device)
                    .runtime(env.rt)();
              });
          });
          sent += threads * burst;
          expected += threads * burst;
          env.until("what the left neighbour has sent",
                    [&] { return arrived.load(std::memory_order_relaxed) >= expected; });
          const auto seen = lci::get_counters_x().device(env.device).runtime(env.rt)();
          more = false;
          for (const int rank_misses : env.all_gather(int{!all_seen(seen)})) more = more || rank_misses != 0;
        }
        EXPECT_EQ(arrived.load(), expected);
        const auto seen = lci::get_counters_x().device(env.device).runtime(env.rt)();
        EXPECT_EQ(seen.am_sent.messages, sent);
        env.barrier();
        lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
        lci::free_comp_x(&handler).runtime(env.rt)();
      },
      [](lci::global_attr_t& attr) { attr.counters = true; });
}
