// Random mixes of all operations over the public interface, on a network that delays, reorders and
// refuses: every operation completes exactly once, bytes stay intact, and nothing is leaked.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <vector>

#include "tests/sim/seeds.hpp"

using namespace sim_test;

TEST_CASE("random mixes of all operations have the right results") { run_seeds(8, mixed_options::from_seed); }

TEST_CASE("every rendezvous protocol transfers all sizes, with and without remote access") {
  using protocol = lci::attr_rdv_protocol_t;
  uint64_t seed = 1000;
  for (bool rma : {true, false})
    for (bool preposted : {false, true})
      for (protocol p : {protocol::auto_select, protocol::write, protocol::writeimm, protocol::read, protocol::copy,
                         protocol::split}) {
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

TEST_CASE("sixteen ranks with queues of one entry and frequent refusals complete all operations") {
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
