// A rank fails during a random mix of all operations: the others get its number, their operations with it end, all
// other operations continue, and all resources are released. The failed rank, disconnected from all others, continues
// its operations with itself.
#include <catch2/catch.hpp>

#include "tests/sim/seeds.hpp"

using namespace sim_test;

TEST_CASE("ranks continue after the failure of one of them, and get its number") {
  run_seeds(10, [](uint64_t seed) {
    mixed_options o = mixed_options::from_seed(seed);
    if (o.ranks < 2) o.ranks = 3;
    o.victim = static_cast<int>(seed % static_cast<uint64_t>(o.ranks));
    o.killed_after = static_cast<int>(seed * 13 % 200);
    return o;
  });
}
