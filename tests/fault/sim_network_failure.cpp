// The simulated network keeps the contract of network/fabric.hpp when a rank fails.
#include <catch2/catch.hpp>
#include <set>

#include "lci/errors.hpp"
#include "tests/sim/net_job.hpp"

using namespace sim_test;

TEST_CASE("every operation to a failed peer ends once, and its failure is reported once to each device") {
  int completed = 0, failed = 0, arrived = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    auto attr = net_job::net_attr(4, seed);
    attr.sim_preposted_recvs = false;
    net_job job(attr);
    const int victim = static_cast<int>(seed % 4);
    std::vector<std::vector<std::byte>> memory(4, std::vector<std::byte>(64));
    std::vector<std::vector<std::byte>> local, into(4, std::vector<std::byte>(64));
    for (int r = 0; r < 4; ++r) local.emplace_back(64, static_cast<std::byte>(r + 1));
    std::vector<uint64_t> keys;
    for (int r = 0; r < 4; ++r) keys.push_back(job.device(r).register_memory(memory[r].data(), 64).rkey);
    std::vector<std::multiset<void*>> expected(4);
    size_t sends = 0, n = 0;
    for (int i = 0; i < 15; ++i)
      for (int from = 0; from < 4; ++from)
        for (int to = 0; to < 4; ++to) {
          if (from == victim && to == victim) continue;  // continues: it is only disconnected
          const verb kind = static_cast<verb>(n % 3);
          net_op op = send_op(to, local[from].data(), 64, id(n));
          if (kind != verb::send)
            op = memory_op(kind, to, kind == verb::put ? local[from].data() : into[from].data(), 64, memory[to].data(),
                           keys[to], id(n));
          if (job.post(from, op) == errorcode_t::posted) expected[from].insert(id(n));
          sends += kind == verb::send;
          ++n;
        }
    job.world->kill(victim);
    job.world->kill(victim);  // the second call has no effect
    // The memory of the failed rank may disappear with it.
    std::fill(local[victim].begin(), local[victim].end(), std::byte{0});
    std::vector<std::byte>().swap(local[victim]);
    for (int r = 0; r < 4; ++r)
      if (r != victim) REQUIRE(job.device(r).post(send_op(victim, "x", 1, nullptr, true)) == errorcode_t::fatal);
    job.settle();
    for (int r = 0; r < 4; ++r) {
      const recorder& seen = job.seen(r);
      std::multiset<void*> ended(seen.completed.begin(), seen.completed.end());
      completed += static_cast<int>(seen.completed.size());
      for (auto [context, peer] : seen.failed) {
        ended.insert(context);
        ++failed;
        REQUIRE((r == victim || peer == victim));
      }
      REQUIRE(ended == expected[r]);
      if (r != victim) {
        REQUIRE(seen.dead == std::vector<int>{victim});
        for (auto& m : seen.messages) {
          REQUIRE(m.data == std::vector<std::byte>(64, static_cast<std::byte>(m.peer + 1)));
          arrived += m.peer == victim;
        }
      } else {
        REQUIRE(std::set<int>(seen.dead.begin(), seen.dead.end()).size() == 3);
        REQUIRE(seen.dead.size() == 3);
      }
    }
    for (int r = 0; r < 4; ++r) {  // the others continue
      if (r == victim) continue;
      const int other = (r + 1) % 4 == victim ? (r + 2) % 4 : (r + 1) % 4;
      REQUIRE(lci::error_t(job.post(r, send_op(other, "x", 1, nullptr, true))).is_done());
      ++sends;
    }
    job.settle();
    const auto stats = job.world->stats();
    REQUIRE(stats.in_flight == 0);
    REQUIRE(stats.sent == sends);
    REQUIRE(stats.delivered + stats.lost == sends);
    REQUIRE(job.world->violations().empty());
  }
  // The seeds have covered all outcomes.
  REQUIRE(completed > 0);
  REQUIRE(failed > 0);
  REQUIRE(arrived > 0);
}

TEST_CASE("no message arrives from a peer after its failure was reported") {
  struct ordered final : lci::network::event_sink {
    void on_recv(int, const std::byte*, size_t, void*) override { late += reported; }
    void on_complete(void*) override {}
    void on_remote_write(int, uint32_t) override { late += reported; }
    void on_peer_failure(int, const char*) override { reported = true; }
    void on_operation_failure(void*, int) override {}
    bool reported = false;
    int late = 0;
  };
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    auto attr = net_job::net_attr(2, seed);
    attr.sim_max_delay = 100;
    net_job job(attr);
    for (int i = 0; i < 30; ++i)
      while (lci::error_t(job.device(0).post(send_op(1, &i, 4, nullptr, true))).is_retry()) {
      }
    job.world->kill(0);
    ordered sink;
    for (int i = 0; i < 2000; ++i) job.device(1).poll(sink, 8);
    REQUIRE(sink.reported);
    REQUIRE(sink.late == 0);
  }
}

TEST_CASE("a device that is made after a peer's failure reports it") {
  net_job job(net_job::net_attr(2, 3));
  job.world->kill(1);
  auto late = job.nodes[0].context->create_device(net_job::device_attr(), 4096);
  recorder seen;
  for (int i = 0; i < 200; ++i) late->poll(seen, 8);
  REQUIRE(seen.dead == std::vector<int>{1});
  REQUIRE(late->post(send_op(1, "x", 1, nullptr, true)) == errorcode_t::fatal);
  REQUIRE(lci::error_t(late->post(send_op(0, "x", 1, nullptr, true))) != errorcode_t::fatal);
}

TEST_CASE("only ranks that exist can be killed") {
  net_job job(net_job::calm(2));
  REQUIRE_THROWS_AS(job.world->kill(2), lci::invalid_argument_error);
  REQUIRE_THROWS_AS(job.world->kill(-1), lci::invalid_argument_error);
}
