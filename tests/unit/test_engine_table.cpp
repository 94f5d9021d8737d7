// The numbers of matching engines, and messages that are stored until their engine is allocated.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <thread>
#include <vector>

#include "lib/core/match/engine_table.hpp"

namespace {

using lci::matching_engine_attr_t;
using lci::matching_policy_t;
using lci::core::engine_table;
using lci::core::matching_engine;
using lci::core::unexpected;

unexpected* new_message(int peer, lci::tag_t tag) {
  auto* const u = new (std::malloc(sizeof(unexpected))) unexpected{};
  u->peer = peer;
  u->tag = tag;
  return u;
}

/// Takes the oldest message of the key, and frees it. False if there is none.
bool take(matching_engine& engine, int peer, lci::tag_t tag) {
  void* const found =
      engine.take(engine.make_key(peer, tag, matching_policy_t::rank_tag), lci::matching_entry_type_t::send);
  std::free(found);
  return found != nullptr;
}

}  // namespace

TEST_CASE("engine table: numbers are reused lowest first, and 0 is none") {
  engine_table table;
  matching_engine a{matching_engine_attr_t{}}, b{matching_engine_attr_t{}}, c{matching_engine_attr_t{}};
  CHECK(table.add(a) == 1);
  CHECK(table.add(b) == 2);
  table.remove(1);
  CHECK(table.get(1) == nullptr);
  CHECK(table.add(c) == 1);
  CHECK(table.get(1) == &c);
  CHECK(table.get(0) == nullptr);
  CHECK_FALSE(engine_table::is_number(0));
  CHECK_FALSE(engine_table::is_number(lci::core::wire::raw_engine));
}

TEST_CASE("engine table: stored messages go to the engine that gets their number") {
  engine_table table;
  REQUIRE(table.store_early(2, matching_policy_t::rank_tag, new_message(3, 7)) == nullptr);
  REQUIRE(table.store_early(1, matching_policy_t::rank_tag, new_message(3, 8)) == nullptr);
  matching_engine first{matching_engine_attr_t{}}, second{matching_engine_attr_t{}};
  REQUIRE(table.add(first) == 1);
  CHECK_FALSE(take(first, 3, 7));
  CHECK(take(first, 3, 8));
  REQUIRE(table.add(second) == 2);
  CHECK(take(second, 3, 7));
  CHECK_FALSE(take(second, 3, 7));
  unexpected* const late = new_message(3, 9);
  CHECK(table.store_early(2, matching_policy_t::rank_tag, late) == &second);  // still the caller's
  std::free(late);
}

TEST_CASE("engine table: unexpected messages are found in the engines and among the stored ones") {
  engine_table table;
  REQUIRE(table.store_early(1, matching_policy_t::rank_tag, new_message(3, 7)) == nullptr);
  REQUIRE(table.store_early(2, matching_policy_t::rank_tag, new_message(4, 7)) == nullptr);
  REQUIRE(table.store_early(2, matching_policy_t::rank_tag, new_message(3, 7)) == nullptr);
  matching_engine first{matching_engine_attr_t{}}, second{matching_engine_attr_t{}};
  REQUIRE(table.add(first) == 1);
  int removed = 0;
  table.remove_unexpected([&](unexpected& u) {
    if (u.peer != 3) return false;
    ++removed;
    std::free(&u);
    return true;
  });
  CHECK(removed == 2);
  CHECK_FALSE(take(first, 3, 7));
  REQUIRE(table.add(second) == 2);
  CHECK(take(second, 4, 7));
  CHECK_FALSE(take(second, 3, 7));
}

TEST_CASE("engine table: a message that is stored while its engine is allocated is in the engine or with the caller") {
  constexpr int n_rounds = 200, n_messages = 50;
  for (int round = 0; round < n_rounds; ++round) {
    engine_table table;
    matching_engine engine{matching_engine_attr_t{}};
    std::atomic<bool> begun{false};
    int returned = 0;
    std::thread storing([&] {
      for (int i = 0; i < n_messages; ++i) {
        unexpected* const u = new_message(0, 1);
        if (table.store_early(1, matching_policy_t::rank_tag, u) != nullptr) {
          ++returned;
          std::free(u);
        }
        if (i == round % n_messages) begun.store(true, std::memory_order_release);
      }
    });
    while (!begun.load(std::memory_order_acquire)) std::this_thread::yield();
    const bool is_first = table.add(engine) == 1;
    storing.join();
    REQUIRE(is_first);
    int found = 0;
    while (take(engine, 0, 1)) ++found;
    REQUIRE(found + returned == n_messages);
  }
}
