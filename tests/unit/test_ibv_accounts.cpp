// The bookkeeping of the libibverbs backend, without a device.
#include <catch2/catch.hpp>
#include <deque>
#include <random>
#include <vector>

#include "network/ibv/completion.hpp"
#include "network/ibv/credits.hpp"
#include "network/ibv/pair_numbers.hpp"
#include "network/ibv/receive_slots.hpp"
#include "network/ibv/send_queue.hpp"

using namespace lci::network::ibv;

TEST_CASE("the id of a work request encodes its kind, peer and sequence number", "[unit]") {
  constexpr int last = work_id::max_peers - 1;
  for (const work_id id : {work_id{false, 0, 0}, work_id{false, last, ~0u}, work_id{true, 0, 7}}) {
    const work_id again = work_id::unpack(id.packed());
    CHECK(again.receive == id.receive);
    CHECK(again.peer == id.peer);
    CHECK(again.sequence == id.sequence);
  }
}

TEST_CASE("a full send queue always has a signalled request, however few are signalled", "[unit]") {
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

TEST_CASE("a part of a send queue is reserved for the library's own messages", "[unit]") {
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

TEST_CASE("peers are found by the numbers of their queue pairs", "[unit]") {
  pair_numbers numbers;
  numbers.make(100);
  for (int r = 0; r < 100; ++r) numbers.add(17 + static_cast<uint32_t>(r) * 256, r);  // all have the same hash
  for (int r = 0; r < 100; ++r) CHECK(numbers.peer_of(17 + static_cast<uint32_t>(r) * 256) == r);
  CHECK(numbers.peer_of(16) == -1);
  CHECK(numbers.peer_of(0) == -1);
}

TEST_CASE("slots of receive buffers are reused", "[unit]") {
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

namespace {

/// One receiver and its senders, whose messages and credits arrive after random delays.
struct receiver_and_senders {
  receiver_and_senders(size_t n, uint32_t buffers) : receiver(n), senders(n), on_the_way(n) {
    for (uint32_t i = 0; i < buffers; ++i) receiver.buffer_posted();
    window = receiver.open();
    for (auto& s : senders) {
      s = std::make_unique<credits>(1);
      s->set_window(0, window);
    }
  }

  void step(std::mt19937& random, bool reluctant) {
    const size_t i = random() % senders.size();
    switch (random() % 4) {
      case 0:
        if (!senders[i]->may_send(0)) return;
        senders[i]->sent(0);
        ++under_way;
        most = std::max(most, under_way + used);
        on_the_way[i] += 1;
        return;
      case 1:
        if (on_the_way[i] == 0) return;
        --on_the_way[i], --under_way, ++used, ++arrived;
        receiver.buffer_used();
        receiver.taken(static_cast<int>(i));
        return;
      case 2:
        if (used <= kept || (reluctant && random() % 8 != 0)) return;
        --used;
        receiver.buffer_posted();
        return;
      default:
        if (receiver.any_due())
          receiver.acknowledge_due([&](int peer, uint32_t n) {
            if (random() % 3 == 0) return false;
            static_cast<uint32_t*>(senders[static_cast<size_t>(peer)]->memory())[0] = n;
            return true;
          });
    }
  }

  credits receiver;
  std::vector<std::unique_ptr<credits>> senders;
  std::vector<uint32_t> on_the_way;
  uint32_t window, kept = 0;                   // kept: buffers that the program does not return
  uint32_t under_way = 0, used = 0, most = 0;  // used: buffers that the core owns
  uint64_t arrived = 0;
};

}  // namespace

TEST_CASE("senders with credits always find a posted receive buffer, and never stop for ever", "[unit]") {
  for (const auto& [n, buffers] : {std::pair<size_t, uint32_t>{1, 256}, {2, 64}, {3, 256}, {13, 256}, {1, 1}, {1, 2}}) {
    std::mt19937 random(7);
    receiver_and_senders all(n, buffers);
    for (int i = 0; i < 200'000; ++i) all.step(random, i < 100'000);
    CAPTURE(n, buffers);
    CHECK(all.most <= buffers);
    CHECK(all.arrived > 1000);
  }
}

TEST_CASE("a receiver that holds many of its buffers continues with the others", "[unit]") {
  for (const size_t n : {1, 2, 3}) {
    std::mt19937 random(9);
    receiver_and_senders all(n, 64);
    all.kept = 60;
    for (int i = 0; i < 200'000; ++i) all.step(random, false);
    CAPTURE(n);
    CHECK(all.most <= 64);
    CHECK(all.arrived > 1000);
  }
}

TEST_CASE("each sender has a window also with more ranks than buffers", "[unit]") {
  std::mt19937 random(8);
  receiver_and_senders all(300, 64);
  CHECK(all.window >= 16);
  for (int i = 0; i < 400'000; ++i) all.step(random, false);
  CHECK(all.arrived > 10'000);
}
