// Random mixes of all operations over the public interface, on a network that delays, reorders and
// refuses: every operation completes exactly once, bytes stay intact, and nothing is left behind.
//
// LCI_TEST_SEED runs one seed only (a failure prints it), LCI_TEST_SECONDS sets the time box.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "tests/sim/mixed_job.hpp"
#include "tests/support/testing.hpp"

using namespace sim_test;

namespace {

void run_one(const mixed_options& options) {
  mixed_job job(options);
  const auto& errors = job.run();
  if (errors.empty()) return;
  std::string text = options.text();
  for (const auto& e : errors) text += "\n  " + e;
  text += "\n  again: LCI_TEST_SEED=" + std::to_string(options.seed);
  FAIL(text);
}

}  // namespace

TEST_CASE("random mixes of all operations end as they must") {
  if (const char* seed = std::getenv("LCI_TEST_SEED")) {
    run_one(mixed_options::from_seed(std::strtoull(seed, nullptr, 10)));
    return;
  }
  const char* box = std::getenv("LCI_TEST_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(box != nullptr ? std::atoi(box) : 20);
  lci_test::time_limit((box != nullptr ? std::atoi(box) : 20) + 60);
  uint64_t seed = 1;
  for (; std::chrono::steady_clock::now() < end || seed <= 20; ++seed)
    run_one(mixed_options::from_seed(seed));
  std::cout << "seeds 1.." << seed - 1 << std::endl;
}

TEST_CASE("every rendezvous protocol serves all sizes, with and without remote access") {
  using protocol = lci::attr_rdv_protocol_t;
  uint64_t seed = 1000;
  for (bool rma : {true, false})
    for (bool preposted : {false, true})
      for (protocol p : {protocol::auto_select, protocol::write, protocol::writeimm, protocol::read,
                         protocol::copy}) {
        mixed_options o;
        o.seed = ++seed;
        o.ranks = 3;
        o.rma = rma;
        o.preposted = preposted;
        o.protocol = p;
        o.operations = 150;
        run_one(o);
      }
}

TEST_CASE("sixteen ranks with queues of one and refusals most of the time come to an end") {
  mixed_options o;
  o.seed = 2000;
  o.ranks = 16;
  o.max_sends = 1;
  o.max_recvs = 1;
  o.preposted = true;
  o.retry_percent = 90;
  o.max_poll = 1;
  o.npackets = 8;
  run_one(o);
}

TEST_CASE("a seed determines the whole job") {
  if (std::getenv("LCI_TEST_SEED") != nullptr) return;
  std::vector<uint64_t> ticks;
  for (int i = 0; i < 2; ++i) {
    mixed_options o;
    o.seed = 3000;
    o.ranks = 4;
    mixed_job job(o);
    const auto world = lci::network::sim::world::current();
    REQUIRE(job.run().empty());
    ticks.push_back(world->stats().ticks);
    ticks.push_back(world->stats().retries);
    ticks.push_back(world->stats().sent);
  }
  REQUIRE(ticks[0] == ticks[3]);
  REQUIRE(ticks[1] == ticks[4]);
  REQUIRE(ticks[2] == ticks[5]);
}
