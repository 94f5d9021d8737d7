// A packet pool that finds no memory for its own bookkeeping loses no packet.
#include <catch2/catch.hpp>
#include <cstddef>
#include <vector>

#include "lib/core/memory/packet_pool.hpp"
#include "tests/support/failing_memory.hpp"

using lci::core::packet;
using lci::core::packet_pool;
using lci_test::failing_memory;

namespace {

constexpr size_t n_packets = 200;  // more than a thread's deque first has room for

std::vector<packet*> take_all(packet_pool& pool) {
  std::vector<packet*> packets;
  packets.reserve(n_packets + 1);
  while (packet* const p = pool.get()) packets.push_back(p);
  return packets;
}

}  // namespace

TEST_CASE("a packet pool keeps the packets that it gets back without memory", "[memory]") {
  for (const long good : {0L, 1L}) {
    lci::packet_pool_attr_t attr{};
    attr.packet_size = 256;
    attr.npackets = n_packets;
    packet_pool pool(attr);
    std::vector<packet*> packets = take_all(pool);
    REQUIRE(packets.size() == n_packets);
    {
      const failing_memory from_here(0, good);
      for (packet* const p : packets) pool.put(p);
    }
    CHECK(failing_memory::failures() > 0);
    CHECK(pool.home() == n_packets);
    CHECK(take_all(pool).size() == n_packets);
  }
}

TEST_CASE("a packet pool without memory for a thread's first packet has none, and later all", "[memory]") {
  lci::packet_pool_attr_t attr{};
  attr.packet_size = 256;
  attr.npackets = n_packets;
  packet_pool pool(attr);
  {
    const failing_memory from_here;
    CHECK(pool.get() == nullptr);
  }
  CHECK(take_all(pool).size() == n_packets);
}
