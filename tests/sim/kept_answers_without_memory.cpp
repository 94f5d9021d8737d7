// Answers of a rank that has no memory for them, while the network takes nothing: they are sent later, so that the
// operations of the peer end.
#include <string>
#include <vector>

#include "tests/sim/failing_memory.hpp"

using namespace sim_test;

namespace {

using protocol = lci::attr_rdv_protocol_t;

constexpr size_t large = 50'000;

/// Two ranks, of which rank 1 answers.
struct answering_pair {
  explicit answering_pair(protocol how = protocol::auto_select, bool rma = true)
      : job(2, [=](lci::global_attr_t& attr) {
          attr.rdv_protocol = how;
          attr.sim_rma = rma;
          attr.sim_max_delay = 0;
          attr.sim_max_inject = 256;
          attr.sim_preposted_recvs = false;  // to post them again takes memory
          attr.net_max_sends = 4096;
        }) {
    (void)job.turn();
  }
  ~answering_pair() {
    for (int rank : {0, 1}) lci::free_comp_x(&sync[rank]).runtime(job[rank])();
  }

  /// Rank 1 makes progress without memory, and its network takes nothing.
  void answer_without_memory(int rounds = 20) {
    net.closed = true;
    {
      const failing_memory none;
      for (int i = 0; i < rounds; ++i) {
        try {
          (void)lci::progress_x().runtime(job[1])();
        } catch (const lci::resource_error&) {
        }
      }
    }
    CHECK(failing_memory::failures() > 0);
    net.closed = false;
  }
  lci::status_t end(int rank, lci::status_t posted) { return job.end_of(rank, posted, sync[rank]); }

  small_job job;
  closing_network& net = closing_network::before(job[1]);
  lci::comp_t sync[2] = {lci::alloc_sync_x().runtime(job[0])(), lci::alloc_sync_x().runtime(job[1])()};
};

/// Returns true if the operation has completed, also with the error no_memory.
bool has_ended_soundly(const lci::status_t& s) {
  return s.is_done() || s.error.errorcode == lci::errorcode_t::no_memory;
}

}  // namespace

TEST_CASE("a large send ends although its receiver had no memory for the answer") {
  for (const protocol how : {protocol::write, protocol::writeimm, protocol::read, protocol::copy, protocol::split})
    for (const bool acked : {false, true}) {
      CAPTURE(static_cast<int>(how), acked);
      answering_pair pair(how);
      std::vector<char> out(large, 'x'), in(large);
      const lci::status_t received =
          lci::post_recv_x(0, in.data(), large, 5, pair.sync[1]).allow_done(false).runtime(pair.job[1])();
      const auto semantic = acked ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory;
      const lci::status_t sent = lci::post_send_x(1, out.data(), large, 5, pair.sync[0])
                                     .comp_semantic(semantic)
                                     .allow_retry(false)
                                     .runtime(pair.job[0])();
      pair.answer_without_memory();
      const lci::status_t s = pair.end(0, sent), r = pair.end(1, received);
      CHECK(has_ended_soundly(s));
      CHECK(has_ended_soundly(r));
      if (r.is_done()) CHECK(in == out);
    }
}

TEST_CASE("a small message with remote completion ends although its target had no memory for the acknowledgement") {
  answering_pair pair;
  static int delivered;
  delivered = 0;
  auto handler = lci::alloc_handler_x([](lci::status_t) { ++delivered; }).am_in_place(true).runtime(pair.job[1])();
  const auto rcomp = lci::register_rcomp_x(handler).runtime(pair.job[1])();
  const lci::status_t sent = lci::post_am_x(1, "message", 8, pair.sync[0], rcomp)
                                 .comp_semantic(lci::comp_semantic_t::remote)
                                 .allow_retry(false)
                                 .runtime(pair.job[0])();
  pair.answer_without_memory();
  CHECK(pair.end(0, sent).is_done());
  CHECK(delivered == 1);
  lci::deregister_rcomp_x(rcomp).runtime(pair.job[1])();
  lci::free_comp_x(&handler).runtime(pair.job[1])();
}

TEST_CASE("puts, gets and atomics by messages end although their target had no memory for the answers") {
  answering_pair pair(protocol::auto_select, false);
  std::vector<uint64_t> there(large / 8, 7), here(there.size(), 3);
  auto memory = lci::register_memory_x(there.data(), large).runtime(pair.job[1])();
  const lci::rmr_t target = lci::get_rmr_x(memory).runtime(pair.job[1])();
  const auto ends = [&](lci::status_t posted) {
    pair.answer_without_memory();
    return pair.end(0, posted);
  };
  CHECK(ends(lci::post_put_x(1, here.data(), 64, pair.sync[0], 0, target).allow_retry(false).runtime(pair.job[0])())
            .is_done());
  CHECK(there[0] == 3);
  CHECK(has_ended_soundly(
      ends(lci::post_get_x(1, here.data(), large, pair.sync[0], 0, target).allow_retry(false).runtime(pair.job[0])())));
  const uint64_t one = 1;
  uint64_t before = 0;
  CHECK(ends(lci::post_atomic_x(1, lci::atomic_op_t::add, &one, &before, pair.sync[0], 0, target)
                 .allow_retry(false)
                 .runtime(pair.job[0])())
            .is_done());
  CHECK(before == 3);
  CHECK(there[0] == 4);
  lci::deregister_memory_x(&memory).runtime(pair.job[1])();
}

TEST_CASE("more answers than the reserve keeps wait until there is memory again") {
  constexpr int n = static_cast<int>(lci::core::message_reserve::most) + 6;
  answering_pair pair;
  auto handler = lci::alloc_handler_x([](lci::status_t) {}).am_in_place(true).runtime(pair.job[1])();
  const auto rcomp = lci::register_rcomp_x(handler).runtime(pair.job[1])();
  auto acknowledged = lci::alloc_counter_x().runtime(pair.job[0])();
  for (int i = 0; i < n; ++i)
    REQUIRE(lci::post_am_x(1, "message", 8, acknowledged, rcomp)
                .comp_semantic(lci::comp_semantic_t::remote)
                .allow_retry(false)
                .runtime(pair.job[0])()
                .is_posted());
  const auto count = [&] { return lci::counter_get_x(acknowledged).runtime(pair.job[0])(); };
  pair.net.closed = true;
  // One failure for each message that is kept, and one for each millisecond of the wait.
  constexpr long most = n + 60;
  {
    const failing_memory for_a_while(0, 0, most);
    for (int i = 0; i < 10'000 && failing_memory::failures() < most; ++i) {
      try {
        (void)lci::progress_x().runtime(pair.job[1])();
      } catch (const lci::resource_error&) {
      }
    }
  }
  CHECK(failing_memory::failures() == most);
  pair.net.closed = false;
  CHECK(pair.job.until([&] { return count() == n; }));
  lci::free_comp_x(&acknowledged).runtime(pair.job[0])();
  lci::deregister_rcomp_x(rcomp).runtime(pair.job[1])();
  lci::free_comp_x(&handler).runtime(pair.job[1])();
}
