// What the libibverbs backend keeps account of, without any card.
#include <catch2/catch.hpp>
#include <vector>

#include "network/ibv/completion.hpp"
#include "network/ibv/pair_numbers.hpp"
#include "network/ibv/receive_slots.hpp"
#include "network/ibv/send_queue.hpp"

using namespace lci::network::ibv;

TEST_CASE("the number of a work request says what it is", "[unit]") {
  constexpr int last = work_id::max_peers - 1;
  for (const work_id id : {work_id{false, 0, 0}, work_id{false, last, ~0u}, work_id{true, 0, 7}}) {
    const work_id again = work_id::unpack(id.packed());
    CHECK(again.receive == id.receive);
    CHECK(again.peer == id.peer);
    CHECK(again.sequence == id.sequence);
  }
}

TEST_CASE("a full send queue always has a completion to come, however few are asked for", "[unit]") {
  for (const uint32_t depth : {1u, 2u, 4u, 7u, 64u}) {
    send_queue queue;
    queue.make(depth, 0);
    std::vector<uint32_t> signalled;
    size_t posted = 0;
    for (int round = 0; round < 50; ++round) {
      while (queue.has_room(false)) {
        const bool signal = queue.must_signal();
        const uint32_t number = queue.begin(nullptr);
        CHECK(number == posted++);
        if (signal) signalled.push_back(number);
        queue.end(signal);
      }
      REQUIRE_FALSE(signalled.empty());
      for (const uint32_t number : signalled) CHECK(queue.complete(number) == nullptr);
      signalled.clear();
    }
  }
}

TEST_CASE("a completion of a send queue finds its owner and ends all before it", "[unit]") {
  send_queue queue;
  queue.make(8, 0);
  int owner = 0;
  CHECK(queue.is_empty());
  for (int i = 0; i < 4; ++i) {
    queue.begin(nullptr);
    queue.end(false);
  }
  const uint32_t number = queue.begin(&owner);
  queue.end(true);
  CHECK_FALSE(queue.is_empty());
  CHECK(queue.complete(number) == &owner);
  CHECK(queue.is_empty());
}

TEST_CASE("a part of a send queue is for the library's own messages", "[unit]") {
  send_queue queue;
  queue.make(8, 3);
  for (int i = 0; i < 5; ++i) {
    REQUIRE(queue.has_room(false));
    queue.begin(nullptr);
    queue.end(true);
  }
  CHECK_FALSE(queue.has_room(false));
  CHECK(queue.has_room(true));
  send_queue small;  // never all of it
  small.make(4, 4);
  CHECK(small.has_room(false));
}

TEST_CASE("numbers of queue pairs lead to their peers", "[unit]") {
  pair_numbers numbers;
  numbers.make(100);
  for (int r = 0; r < 100; ++r) numbers.add(17 + static_cast<uint32_t>(r) * 256, r);  // all meet in one place
  for (int r = 0; r < 100; ++r) CHECK(numbers.peer_of(17 + static_cast<uint32_t>(r) * 256) == r);
  CHECK(numbers.peer_of(16) == -1);
  CHECK(numbers.peer_of(0) == -1);
}

TEST_CASE("slots of receive buffers go round", "[unit]") {
  receive_slots slots;
  slots.make(3);
  uint32_t taken[3], one_more;
  for (uint32_t& slot : taken) {
    REQUIRE(slots.take(slot));
    slots.publish(slot);
  }
  CHECK_FALSE(slots.take(one_more));
  slots.give(taken[1]);
  REQUIRE(slots.take(one_more));
  CHECK(one_more == taken[1]);
}
