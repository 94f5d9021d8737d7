// Calls of the engine table that fail for lack of memory change nothing, and succeed when there is memory again.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "lib/core/match/engine_table.hpp"
#include "tests/support/failing_memory.hpp"

namespace {

using lci::matching_engine_attr_t;
using lci::matching_entry_type_t;
using lci::matching_policy_t;
using lci::core::engine_table;
using lci::core::matching_engine;
using lci::core::unexpected;
using lci_test::failing_memory;

// The engine that the stored messages wait for. The table's arrays grow when it gets this number: memory for 64 numbers
// is allocated before.
constexpr uint16_t number = 64;

// Keys that share a bucket, more than a bucket stores inline, and messages of one key, more than fit the first memory
// of a queue: storing them in an engine takes allocations of each kind.
constexpr int n_keys = 6, n_of_a_key = 20, n_messages = n_keys * n_of_a_key;

/// Tags whose keys share a bucket, since their lower halves undo the hash of their upper halves.
lci::tag_t tag_of(int i) {
  const auto high = static_cast<uint64_t>(i % n_keys + 1);
  const uint64_t shift = (high * 0x9e3779b97f4a7c15ull) >> 48;
  return high << 16 | ((5 - shift) & 0xffff);
}

matching_engine_attr_t with_tags_as_keys() {
  matching_engine_attr_t attr{};
  attr.make_key = [](int, lci::tag_t tag, matching_policy_t) { return lci::matching_entry_key_t{tag}; };
  return attr;
}

/// Message `i` of the test, which has this size.
unexpected* message(int i) {
  auto* const u = new (std::malloc(sizeof(unexpected))) unexpected{};
  u->tag = tag_of(i);
  u->size = static_cast<size_t>(i);
  return u;
}

/// Calls `f` while the allocation after the first `good` ones fails. Returns whether it has thrown std::bad_alloc.
template <class F>
bool fails_without_memory(long good, const F& f) {
  const failing_memory once(0, good, 1);
  try {
    f();
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

/// Returns whether the table stores the first `n` messages and no others, in this order.
bool stores(engine_table& table, int n) {
  int i = 0;
  bool in_order = true;
  table.remove_stored(number, [&](unexpected& u) {
    in_order = in_order && u.size == static_cast<size_t>(i++);
    return false;
  });
  return in_order && i == n;
}

/// Removes all messages from the engine and frees them. Returns whether they were all of the test's, of each key in the
/// order in which they had been stored.
bool had_all(matching_engine& engine) {
  bool all = true;
  for (int i = 0; i < n_messages; ++i) {
    void* const found = engine.take(tag_of(i), matching_entry_type_t::send);
    all = all && found != nullptr && static_cast<unexpected*>(found)->size == static_cast<size_t>(i);
    std::free(found);
  }
  return all;
}

bool is_empty(matching_engine& engine) {
  bool empty = true;
  engine.drain([&](void*, matching_entry_type_t) { empty = false; });
  return empty;
}

}  // namespace

TEST_CASE("engine table: a message that can't be stored still belongs to the caller, who can store it later") {
  engine_table table;
  int failures = 0;
  for (int i = 0; i < n_messages; ++i) {
    unexpected* const u = message(i);
    matching_engine* found = nullptr;
    const auto store = [&] { found = table.store_early(number, matching_policy_t::rank_tag, u); };
    for (long good = 0; fails_without_memory(good, store); ++good) {
      ++failures;
      REQUIRE(stores(table, i));
      REQUIRE(good < 100);
    }
    REQUIRE(found == nullptr);
    REQUIRE(stores(table, i + 1));
  }
  CHECK(failures > 5);  // the list of messages has grown
}

TEST_CASE("engine table: an engine that can't be added gets no number and no messages, and the next one gets both") {
  std::vector<std::unique_ptr<matching_engine>> engines;
  for (int i = 1; i < number; ++i) engines.push_back(std::make_unique<matching_engine>(matching_engine_attr_t{}));
  int failures = 0;
  for (bool thrown = true; thrown; ++failures) {
    CAPTURE(failures);
    REQUIRE(failures < 1000);
    engine_table table;
    for (const auto& engine : engines) (void)table.add(*engine);
    for (int i = 0; i < n_messages; ++i)
      REQUIRE(table.store_early(number, matching_policy_t::rank_tag, message(i)) == nullptr);

    matching_engine first(with_tags_as_keys()), second(with_tags_as_keys());
    uint16_t id = 0;
    thrown = fails_without_memory(failures, [&] { id = table.add(first); });
    if (thrown) {
      REQUIRE(table.get(number) == nullptr);
      REQUIRE(is_empty(first));
      REQUIRE(stores(table, n_messages));
      id = table.add(second);
    }
    REQUIRE(id == number);
    REQUIRE(table.get(number) == (thrown ? &second : &first));
    REQUIRE(stores(table, 0));
    REQUIRE(had_all(thrown ? second : first));
    for (const auto& engine : engines) REQUIRE(is_empty(*engine));
  }
  // A queue and its memory for each key; the map of keys and its entries; the arrays of engines and of used numbers.
  CHECK(failures > 20);
}
