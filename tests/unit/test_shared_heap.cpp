// Blocks of the shared heap never overlap, and are merged when they are freed.
#include <catch2/catch.hpp>

#include <map>
#include <random>

#include "lib/core/memory/shared_heap.hpp"

using lci::core::block_list;

TEST_CASE("blocks are taken from the front and merged with free neighbours") {
  block_list blocks(1000);
  CHECK(blocks.take(100, 1) == 0);
  CHECK(blocks.take(100, 64) == 128);  // 100..128 remains free
  CHECK(blocks.take(28, 1) == 100);
  CHECK(blocks.largest() == 772);
  CHECK(blocks.take(773, 1) == block_list::none);
  blocks.give(128, 100);
  CHECK(blocks.largest() == 872);
  blocks.give(0, 100);
  CHECK(blocks.largest() == 872);
  blocks.give(100, 28);
  CHECK(blocks.largest() == 1000);
  CHECK(blocks.take(1000, 1) == 0);
  CHECK(blocks.largest() == 0);
  CHECK(block_list().take(1, 1) == block_list::none);
}

TEST_CASE("blocks are aligned by address, wherever the heap begins") {
  block_list blocks(10000, 4096 * 5);
  CHECK(blocks.take(8, 64) == 0);
  CHECK(blocks.take(8, 8192) == 4096);
  CHECK(blocks.take(8, 4096) == 8192);
  CHECK(blocks.take(8, 16384) == block_list::none);
}

TEST_CASE("blocks that are taken and freed at random never overlap, and the heap is whole afterwards") {
  std::mt19937 random(7);
  constexpr size_t size = 1 << 16;
  block_list blocks(size);
  std::map<size_t, size_t> taken;
  for (int i = 0; i < 20000; ++i) {
    if (random() % 2 == 0) {
      const size_t n = 1 + random() % 3000, alignment = size_t{1} << random() % 8;
      const size_t at = blocks.take(n, alignment);
      if (at == block_list::none) continue;
      REQUIRE(at % alignment == 0);
      REQUIRE(at + n <= size);
      const auto after = taken.lower_bound(at);
      REQUIRE((after == taken.end() || at + n <= after->first));
      if (after != taken.begin()) {
        const auto before = std::prev(after);
        REQUIRE(before->first + before->second <= at);
      }
      taken.emplace(at, n);
    } else if (!taken.empty()) {
      auto it = taken.lower_bound(random() % size);
      if (it == taken.end()) it = taken.begin();
      blocks.give(it->first, it->second);
      taken.erase(it);
    }
  }
  for (const auto& [at, n] : taken) blocks.give(at, n);
  CHECK(blocks.largest() == size);
}
