// The backlog and its reserve when there is no memory.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

#include "lib/core/operation/backlog.hpp"
#include "tests/support/failing_memory.hpp"

using lci::core::backlog;
using lci::core::message_reserve;
using lci_test::failing_memory;

TEST_CASE("a peer for which nothing could be queued is not held back while others are", "[memory][backlog]") {
  std::atomic<uint8_t> flags{0};
  const auto item_for = [](int peer) {
    backlog::item i;
    i.peer = peer;
    return i;
  };
  for (long good = 0;; ++good) {
    CAPTURE(good);
    REQUIRE(good < 20);
    backlog waiting(flags, 1);
    waiting.push(item_for(1));
    bool queued = true;
    {
      const failing_memory none(0, good);
      try {
        waiting.push(item_for(2));
      } catch (const std::bad_alloc&) {
        queued = false;
      }
    }
    CHECK(waiting.holds_back(1));
    CHECK(waiting.holds_back(2) == queued);
    if (queued) break;
  }
}

TEST_CASE("the reserve of the backlog keeps messages without memory until they are sent", "[memory][backlog]") {
  std::atomic<uint8_t> flags{0};
  backlog waiting(flags, 1);
  const auto payload = [](size_t i) { return static_cast<int>(i * 7 % 1000); };
  const auto peer_of = [](size_t i) { return static_cast<int>(i % 3); };
  std::vector<bool> sent(message_reserve::most, false);
  size_t tried = 0, next = 0;
  {
    const failing_memory none;
    for (size_t i = 0; i < message_reserve::most; ++i) {
      const int message[] = {static_cast<int>(i), payload(i)};
      REQUIRE(waiting.keep(peer_of(i), message, sizeof message));
    }
    CHECK_FALSE(waiting.keep(0, &next, sizeof next));
    CHECK_FALSE(waiting.empty());
    CHECK(flags == 1);
    CHECK_FALSE(waiting.holds_back(0));  // the library's own messages have no order
    // Two of the peers take messages, the other one does not.
    const auto send = [&](int peer, const std::byte* bytes, size_t size) {
      int message[2];
      if (size != sizeof message) std::abort();
      std::memcpy(message, bytes, size);
      ++tried;
      const auto i = static_cast<size_t>(message[0]);
      if (peer != peer_of(i) || message[1] != payload(i) || sent[i]) std::abort();
      if (peer == 1) return false;
      sent[i] = true;
      return true;
    };
    CHECK(waiting.drain_reserve(send));
    CHECK_FALSE(waiting.empty());
    CHECK(waiting.drain_reserve([&](int, const std::byte*, size_t) { return ++next < 10; }));
    CHECK_FALSE(waiting.drain_reserve([](int, const std::byte*, size_t) { return false; }));
    CHECK(waiting.drain_reserve([](int peer, const std::byte*, size_t) { return peer == 1; }));
    CHECK_FALSE(waiting.drain_reserve([](int, const std::byte*, size_t) { return true; }));
  }
  CHECK(tried < message_reserve::most);
  CHECK(waiting.empty());
  CHECK(flags == 0);
  for (size_t i = 0; i < sent.size(); ++i) CHECK(sent[i] == (peer_of(i) != 1));
}

TEST_CASE("a message of the reserve that the network refuses by an exception is removed, and the others stay",
          "[memory][backlog]") {
  std::atomic<uint8_t> flags{0};
  backlog waiting(flags, 1);
  for (int peer = 0; peer < 4; ++peer) REQUIRE(waiting.keep(peer, &peer, sizeof peer));
  const auto send = [](int peer, const std::byte*, size_t) {
    if (peer == 1) throw std::runtime_error("refused");
    return peer == 0;
  };
  CHECK_THROWS_AS(waiting.drain_reserve(send), std::runtime_error);
  CHECK_FALSE(waiting.empty());
  CHECK_FALSE(waiting.drain_reserve(send));  // only 2 and 3 are left
  CHECK(waiting.drain_reserve([](int, const std::byte*, size_t) { return true; }));
  CHECK(waiting.empty());
  CHECK(flags == 0);
}
