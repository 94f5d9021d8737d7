// Which shards of a queue its consumers look at.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <thread>

#include "lci/types.hpp"
#include "lib/concurrent/sharded_queue.hpp"
#include "tests/support/testing.hpp"
#include "tests/unit/threads.hpp"

using lci::status_t;
using lci_test::in_threads;

namespace {

status_t ranked_item(int rank) {
  status_t s(lci::errorcode_t::done);
  s.rank = rank;
  return s;
}

thread_local unsigned shard_number = 0;
struct shard_by_number {
  unsigned operator()() const { return shard_number; }
  int if_known() const { return static_cast<int>(shard_number); }
};
using numbered_shards = lci::sharded_queue<status_t, std::atomic, 128, 8, shard_by_number>;

}  // namespace

TEST_CASE("sharded queue: a thread whose own shard is never empty also pops what consumers that stopped have left") {
  numbered_shards q;
  in_threads(2, [&](int t) {
    shard_number = static_cast<unsigned>(t);
    status_t s;
    for (size_t n = 0; n < 3 && t == 1; ++n) {
      q.push(ranked_item(1));
      if (n == 0) q.pop(s);
    }
    return 0;
  });
  const bool many_at_once = GENERATE(false, true);
  q.push(ranked_item(0));
  size_t found = 0;
  for (size_t n = 1; n < 20000 && found < 2; ++n) {
    q.push(ranked_item(0));
    status_t s;
    if (many_at_once)
      REQUIRE(q.pop_many(&s, 1) == 1);
    else
      REQUIRE(q.pop(s));
    found += s.rank == 1;
  }
  CHECK(found == 2);
}

namespace {

/// Two threads push to their own shards and pop. Returns how many items the calling one has popped of the other's.
size_t items_of_the_other_shard() {
  numbered_shards q;
  std::atomic<size_t> pops{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    shard_number = 1;
    q.push(ranked_item(1));
    while (!over.load()) {
      q.push(ranked_item(1));
      status_t s;
      q.pop(s);
      pops.fetch_add(1);
    }
  });
  size_t foreign = 0;
  for (size_t n = 0; n < 64 * 200 / lci_test::time_scale; ++n) {
    if (n % 64 == 0)
      for (const size_t before = pops.load(); pops.load() < before + 2;) std::this_thread::yield();
    status_t s;
    q.push(ranked_item(0));
    q.pop(s);
    foreign += s.rank == 1;
  }
  over.store(true);
  other.join();
  return foreign;
}

}  // namespace

TEST_CASE("sharded queue: a thread whose own shard is not empty leaves the shards of others that pop to them") {
  // On a busy machine one of the threads may stop for so long that the other one rightly takes its items.
  size_t fewest = SIZE_MAX;
  for (int trial = 0; trial < 20 && fewest > 0; ++trial) fewest = std::min(fewest, items_of_the_other_shard());
  CHECK(fewest == 0);
}
