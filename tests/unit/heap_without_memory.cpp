// The shared heap when malloc() fails: a block can still be freed, and an allocation that fails loses no block.
#include <catch2/catch.hpp>
#include <new>

#include "lib/core/memory/shared_heap.hpp"
#include "tests/support/failing_memory.hpp"

using lci::core::block_list;
using lci_test::failing_memory;

TEST_CASE("a block of the shared heap is given back without memory", "[memory]") {
  block_list blocks(1000);
  size_t at[10];
  for (size_t& a : at) a = blocks.take(100, 1);
  REQUIRE(blocks.largest() == 0);
  {
    const failing_memory none;
    for (const size_t i : {3, 1, 7, 5, 9, 4, 0, 2, 8, 6}) blocks.give(at[i], 100);
  }
  CHECK(blocks.largest() == 1000);
}

TEST_CASE("a block of the shared heap that can't be taken for lack of memory stays free", "[memory]") {
  // Taking a part from the middle needs two entries: for giving it back, and for the rest behind it.
  for (long good = 0;; ++good) {
    block_list blocks(1000, 1);
    bool thrown = false;
    size_t at = 0;
    {
      const failing_memory some(0, good, failing_memory::for_ever);
      try {
        at = blocks.take(100, 64);
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
    }
    if (thrown) {
      CHECK(blocks.largest() == 1000);
      continue;
    }
    CHECK(good == 2);
    blocks.give(at, 100);
    CHECK(blocks.largest() == 1000);
    return;
  }
}
