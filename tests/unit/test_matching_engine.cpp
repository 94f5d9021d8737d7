// The matching engine, compared with a reference implementation, also for keys that share a bucket.
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "lib/core/match/matching_engine.hpp"

namespace {

using lci::matching_entry_type_t;
using lci::core::matching_engine;
constexpr auto send = matching_entry_type_t::send;
constexpr auto recv = matching_entry_type_t::recv;

void* entry(uintptr_t n) { return reinterpret_cast<void*>(n); }

/// A reference implementation of a matching engine: for each key a list of unmatched entries, oldest first.
class reference {
 public:
  void* insert(uint64_t key, void* value, matching_entry_type_t type) {
    auto& list = lists_[key];
    if (!list.empty() && list.front().second != type) return take_front(key);
    list.push_back({value, type});
    return nullptr;
  }
  void* take(uint64_t key, matching_entry_type_t type) {
    auto& list = lists_[key];
    return list.empty() || list.front().second != type ? nullptr : take_front(key);
  }
  bool remove(uint64_t key, void* value, matching_entry_type_t type) {
    auto& list = lists_[key];
    for (auto it = list.begin(); it != list.end(); ++it) {
      if (*it != std::pair(value, type)) continue;
      list.erase(it);
      return true;
    }
    return false;
  }
  std::multiset<void*> rest() const {
    std::multiset<void*> all;
    for (const auto& [key, list] : lists_)
      for (const auto& [value, type] : list) all.insert(value);
    return all;
  }
  void* any_of(uint64_t key, size_t n) const {
    auto it = lists_.find(key);
    if (it == lists_.end() || it->second.empty()) return entry(1);
    return it->second[n % it->second.size()].first;
  }

 private:
  void* take_front(uint64_t key) {
    void* value = lists_[key].front().first;
    lists_[key].pop_front();
    return value;
  }
  std::map<uint64_t, std::deque<std::pair<void*, matching_entry_type_t>>> lists_;
};

/// Keys of one bucket: they differ in bits that the bucket's number does not depend on.
std::vector<uint64_t> keys_of_one_bucket(size_t n) {
  std::vector<uint64_t> keys;
  constexpr uint64_t multiplier = 0x9e3779b97f4a7c15ull;
  for (uint64_t high = 1; keys.size() < n; ++high) {
    const uint64_t shift = (high * multiplier) >> 48;
    keys.push_back(high << 16 | ((5 - shift) & 0xffff));
  }
  return keys;
}

}  // namespace

TEST_CASE("matching engine: behaves like a list for each key, also if keys share a bucket") {
  const auto n_keys = GENERATE(size_t{1}, size_t{3}, size_t{9});
  const auto longest = GENERATE(2, 5, 400);
  const bool tries = GENERATE(false, true);  // try_insert() and try_take() first
  const std::vector<uint64_t> keys = keys_of_one_bucket(n_keys);
  std::mt19937 random(static_cast<unsigned>(n_keys * 1000) + static_cast<unsigned>(longest));
  matching_engine engine{lci::matching_engine_attr_t{}};
  reference expected;
  uintptr_t next = 0;
  int in_engine = 0, tried = 0, succeeded = 0;
  const auto insert = [&](uint64_t key, void* value, matching_entry_type_t type) -> void* {
    if (!tries) return engine.insert(key, value, type);
    ++tried;
    const bool inserted = engine.try_insert(key, value, type);
    succeeded += inserted;
    return inserted ? nullptr : engine.insert(key, value, type);
  };
  const auto take = [&](uint64_t key, matching_entry_type_t type) {
    void* const taken = tries ? engine.try_take(key, type) : nullptr;
    tried += tries;
    succeeded += taken != nullptr;
    return taken != nullptr ? taken : engine.take(key, type);
  };
  for (int i = 0; i < 30000; ++i) {
    const uint64_t key = keys[random() % keys.size()];
    // Alternately mostly receives and mostly sends.
    const bool rising = (i / longest) % 2 == 0;
    const auto type = (random() % 8 != 0) == rising ? recv : send;
    switch (random() % 8) {
      case 0: {
        void* taken = take(key, type);
        REQUIRE(taken == expected.take(key, type));
        in_engine -= taken != nullptr;
        break;
      }
      case 1: {
        void* value = expected.any_of(key, random());
        const auto is_it = [value](void* e) { return e == value; };
        const bool removed = engine.remove_if(key, type, is_it) == 1;
        REQUIRE(removed == expected.remove(key, value, type));
        in_engine -= removed;
        break;
      }
      default: {
        void* match = insert(key, entry(next += 16), type);
        REQUIRE(match == expected.insert(key, entry(next), type));
        in_engine += match == nullptr ? 1 : -1;
      }
    }
  }
  // Of one key, insertions and takes that match nothing of the other type are of the usual kind.
  if (tries && n_keys == 1) CHECK(succeeded > tried / 5);
  std::multiset<void*> rest;
  engine.drain([&](void* value, matching_entry_type_t) { rest.insert(value); });
  CHECK(rest == expected.rest());
  CHECK(static_cast<int>(rest.size()) == in_engine);
  engine.drain([&](void*, matching_entry_type_t) { FAIL("an entry is left after drain()"); });
}

TEST_CASE("matching engine: a thousand receives with one key match in order, repeatedly") {
  matching_engine engine{lci::matching_engine_attr_t{}};
  for (int round = 0; round < 3; ++round) {
    for (uintptr_t i = 1; i <= 1000; ++i) REQUIRE(engine.insert(7, entry(i * 8), recv) == nullptr);
    for (uintptr_t i = 1; i <= 1000; ++i) REQUIRE(engine.insert(7, entry(4), send) == entry(i * 8));
    REQUIRE(engine.take(7, recv) == nullptr);
    REQUIRE(engine.try_take(7, recv) == nullptr);
  }
}
