// The packet pool's memory: which addresses are packets, and their layout.
#include <catch2/catch.hpp>

#include <random>
#include <set>
#include <vector>

#include "lci/errors.hpp"
#include "lib/base/multiples.hpp"
#include "lib/core/memory/packet_pool.hpp"

using lci::core::packet_pool;

namespace {

lci::packet_pool_attr_t attributes(size_t packet_size, size_t npackets) {
  lci::packet_pool_attr_t attr{};
  attr.packet_size = packet_size;
  attr.npackets = npackets;
  return attr;
}

}  // namespace

TEST_CASE("multiples are distinguished from other numbers without a division") {
  std::mt19937_64 random(1);
  for (const uint32_t n : {1u, 2u, 3u, 64u, 129u, 65536u, 0x7fffffffu, 0x80000000u, 0xfffffffeu, 0xffffffffu}) {
    const lci::multiples of_n(n);
    CHECK(of_n.contain(0));
    CHECK(of_n.contain(n));
    CHECK(of_n.contain(n - 1) == (n == 1));
    for (int i = 0; i < 1000; ++i) {
      const size_t k = random() % lci::multiples::end;
      CHECK(of_n.contain(k) == (k % n == 0));
      CHECK(of_n.contain(k / n * n));
    }
    for (const size_t k : {lci::multiples::end, lci::multiples::end + 1, ~size_t{0}})
      CHECK(of_n.contain(k) == (k % n == 0));
  }
}

TEST_CASE("a pool recognizes the payloads of its packets, and no other address") {
  for (const size_t size : {256, 320, 8192}) {
    packet_pool pool(attributes(size, 40));
    std::vector<lci::core::packet*> packets;
    while (auto* p = pool.get()) packets.push_back(p);
    REQUIRE(packets.size() == 40);
    std::set<void*> payloads;
    for (auto* p : packets) payloads.insert(p->payload());
    CHECK(payloads.size() == 40);
    auto* const arena = static_cast<std::byte*>(pool.arena());
    size_t known = 0;
    for (size_t i = 0; i < pool.arena_size(); ++i) {
      const bool owned = pool.owns(arena + i);
      if (owned != (payloads.count(arena + i) == 1)) FAIL("byte " << i);
      known += owned;
    }
    CHECK(known == 40);
    CHECK_FALSE(pool.owns(arena - 64));
    CHECK_FALSE(pool.owns(arena + pool.arena_size()));
    CHECK_FALSE(pool.owns(nullptr));
    for (auto* p : packets) {
      CHECK(static_cast<std::byte*>(p->payload()) + pool.payload_size() <= arena + pool.arena_size());
      pool.put(p);
    }
    CHECK(pool.home() == 40);
  }
}

TEST_CASE("packets used in turn are spread over the sets of caches") {
  for (const size_t size : {256, 4096, 8192, 65536}) {
    packet_pool pool(attributes(size, 64));
    std::set<size_t> sets;  // of a cache with 64 sets, as first levels have
    for (int i = 0; i < 64; ++i) sets.insert(reinterpret_cast<uintptr_t>(pool.get()->payload()) / 64 % 64);
    CHECK(sets.size() == 64);
  }
}

TEST_CASE("a pool for which there is no address space is refused") {
  CHECK_THROWS_AS(packet_pool(attributes(8192, size_t{1} << 40)), lci::resource_error);
  CHECK_THROWS_AS(packet_pool(attributes(8192, size_t{1} << 55)), lci::invalid_argument_error);
  CHECK_THROWS_AS(packet_pool(attributes(size_t{1} << 60, 1)), lci::invalid_argument_error);
}
