// Large active messages: how many are received at a time, and their buffers.
#include <catch2/catch.hpp>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "lib/core/transfer/buffer_cache.hpp"
#include "lib/core/transfer/receive_window.hpp"

using lci::core::buffer_cache;
using lci::core::receive_window;

namespace {

receive_window::request request_of(int peer, lci::tag_t tag) { return {peer, tag, 0, {}}; }

bool always(const receive_window::request&) { return true; }

}  // namespace

TEST_CASE("a bounded number of messages of one peer is received at a time") {
  std::atomic<int> attention{0};
  receive_window l(attention);
  CHECK(!l.is_full_of(3));
  int n = 0;
  while (l.begin(3)) REQUIRE(++n < 100);
  CHECK(n > 1);
  CHECK(l.is_full_of(3));
  CHECK(!l.is_full_of(4));
  CHECK(!l.begin(4));
  l.end();
  CHECK(!l.is_full_of(3));
  CHECK(!l.begin(4));
  CHECK(l.begin(3));
  for (int i = 0; i < n; ++i) l.end();
  CHECK(l.begin(4));
  CHECK(!l.begin(3));
  CHECK(attention.load() == 0);
}

TEST_CASE("waiting requests are taken in order, and dropped with their peer") {
  std::atomic<int> attention{7};
  receive_window l(attention);
  receive_window::request r;
  CHECK(!l.take(r, always));
  for (lci::tag_t i = 0; i < 6; ++i) l.wait(request_of(static_cast<int>(i % 2), i));
  CHECK(attention.load() == 8);
  CHECK(l.has_requests());
  CHECK(!l.take(r, [](const receive_window::request&) { return false; }));
  REQUIRE(l.take(r, always));
  CHECK(r.tag == 0);
  for (const lci::tag_t expected : {1, 3, 5}) {
    REQUIRE(l.take_of(1, r));
    CHECK(r.tag == expected);
  }
  CHECK(!l.take_of(1, r));
  for (const lci::tag_t expected : {2, 4}) {
    REQUIRE(l.take(r, always));
    CHECK(r.tag == expected);
  }
  CHECK(!l.take(r, always));
  CHECK(!l.has_requests());
  CHECK(attention.load() == 7);
  CHECK(!l.take_of(0, r));
  l.wait(request_of(3, 9));
  REQUIRE(l.take_of(-1, r));
  CHECK(r.tag == 9);
  CHECK(attention.load() == 7);
}

TEST_CASE("several threads together never exceed the limit of messages") {
  std::atomic<int> attention{0};
  receive_window l(attention);
  std::atomic<int> most{0}, now{0};
  std::vector<std::thread> threads;
  for (int peer = 0; peer < 3; ++peer)
    threads.emplace_back([&, peer] {
      for (int i = 0; i < 20000; ++i) {
        if (!l.begin(peer)) continue;
        const int n = now.fetch_add(1) + 1;
        int seen = most.load();
        while (n > seen && !most.compare_exchange_weak(seen, n)) {
        }
        now.fetch_sub(1);
        l.end();
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(most.load() <= receive_window::most);
  CHECK(l.begin(5));
}

TEST_CASE("buffers are reused for later messages") {
  buffer_cache kept;
  CHECK(kept.take(receive_window::largest + 1) == nullptr);
  std::set<void*> all;
  std::vector<void*> taken;
  while (void* p = kept.take(1000)) {
    REQUIRE(taken.size() < 100);
    std::memset(p, 1, 1000);
    taken.push_back(p);
    all.insert(p);
  }
  CHECK(all.size() == taken.size());
  char other;
  CHECK(!kept.give_back(&other));
  for (void* p : taken) CHECK(kept.give_back(p));
  CHECK(!kept.give_back(taken.front()));

  // One of them is replaced by a larger one, which is used for messages of its size.
  void* const large = kept.take(receive_window::largest);
  REQUIRE(large != nullptr);
  std::memset(large, 2, receive_window::largest);
  CHECK(kept.give_back(large));
  void* const small = kept.take(1000);
  CHECK(small != large);
  CHECK(all.count(small) == 1);
  CHECK(kept.take(receive_window::largest - 1) == large);
}
