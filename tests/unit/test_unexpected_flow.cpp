#include "lib/core/match/unexpected_flow.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>
#include <vector>

using lci::core::unexpected_flow;

TEST_CASE("a peer is asked to pause once above the limit, and to resume once at half of it") {
  unexpected_flow f(3, 1000);
  CHECK(f.add(1, 600).number == 0);
  CHECK(f.add(2, 600).number == 0);  // each peer has a limit of its own
  CHECK(f.add(1, 400).number == 0);
  const auto pause = f.add(1, 1);
  CHECK(pause.number == 1);
  CHECK(pause.pause);
  CHECK(f.add(1, 5000).number == 0);
  CHECK(f.remove(1, 5000).number == 0);
  CHECK(f.remove(1, 500).number == 0);
  const auto go_on = f.remove(1, 1);
  CHECK(go_on.number == 2);
  CHECK_FALSE(go_on.pause);
  CHECK(f.remove(1, 500).number == 0);
  CHECK(f.add(1, 1001).number == 3);
}

TEST_CASE("without a limit no peer is asked to pause") {
  unexpected_flow f(1, 0);
  CHECK(f.add(0, size_t{1} << 40).number == 0);
  CHECK(f.remove(0, size_t{1} << 40).number == 0);
}

TEST_CASE("the request of a peer with the highest number counts, in any order of arrival") {
  unexpected_flow f(2, 1000);
  CHECK(f.receive(1, {2, false}) == 0);
  CHECK(f.receive(1, {1, true}) == 0);  // older than the one before
  CHECK_FALSE(f.is_paused_by(1));
  CHECK(f.receive(1, {3, true}) == 1);
  CHECK(f.receive(1, {5, true}) == 0);
  CHECK(f.is_paused_by(1));
  CHECK_FALSE(f.is_paused_by(0));
  CHECK(f.receive(1, {4, false}) == 0);
  CHECK(f.is_paused_by(1));
  CHECK(f.forget(1) == -1);
  CHECK_FALSE(f.is_paused_by(1));
  CHECK(f.receive(1, {1, true}) == 1);  // the id belongs to another peer now
}

TEST_CASE("numbers of pause requests may wrap around") {
  unexpected_flow f(1, 1000);
  CHECK(f.receive(0, {0x7fffffff, true}) == 1);
  CHECK(f.receive(0, {0xfffffffe, false}) == -1);
  CHECK(f.receive(0, {1, true}) == 1);
  CHECK(f.receive(0, {0xffffffff, false}) == 0);
}

TEST_CASE("a rank that is paused by a peer that it has paused grants the peer the limit once more") {
  unexpected_flow f(1, 1000);
  CHECK(f.give_more(0).number == 0);  // the peer is not paused
  CHECK(f.add(0, 1500).number == 1);
  const auto go_on = f.give_more(0);
  CHECK(go_on.number == 2);
  CHECK_FALSE(go_on.pause);
  CHECK(f.add(0, 1000).number == 0);
  CHECK(f.add(0, 1).number == 3);
  // When these messages have been received, the limit has its old value.
  CHECK(f.remove(0, 2001).number == 4);
  CHECK(f.remove(0, 500).number == 0);
  CHECK(f.add(0, 1001).number == 5);
}

TEST_CASE("the last refusal that closes a cycle begins a search, which each rank forwards once") {
  unexpected_flow f(4, 1000);
  const auto passed_on = [&](int begun_by, uint32_t number) {
    std::vector<int> to;
    f.pass_on(begun_by, number, [&](int peer) { to.push_back(peer); });
    return to;
  };
  CHECK(f.note_refusal(1) == 0);  // the peer has not paused this rank
  CHECK(passed_on(3, 1).empty());
  CHECK(f.receive(1, {1, true}) == 1);
  CHECK(passed_on(3, 2).empty());  // no send of this rank was refused
  CHECK(f.note_refusal(1) == 0);   // no peer waits for this rank
  CHECK(passed_on(3, 3) == std::vector<int>{1});
  CHECK(passed_on(3, 3).empty());
  CHECK(passed_on(3, 2).empty());
  CHECK(f.add(2, 1001).number == 1);
  CHECK(f.note_refusal(1) == 0);  // this refusal is recorded already
  CHECK(f.receive(1, {2, false}) == -1);
  CHECK(passed_on(3, 4).empty());
  CHECK(f.receive(1, {3, true}) == 1);
  CHECK(f.note_refusal(1) == 1);
  CHECK(f.note_refusal(1) == 0);
  CHECK(f.receive(0, {1, true}) == 1);
  CHECK(f.note_refusal(0) == 2);
  CHECK(passed_on(3, 5) == std::vector<int>{0, 1});
  f.forget_refusal(0);
  CHECK(passed_on(3, 6) == std::vector<int>{1});
  CHECK(f.note_refusal(0) == 3);
  CHECK(f.forget(2) == 0);
  f.forget_refusal(0);
  CHECK(f.note_refusal(0) == 0);  // the peer that waited for this rank is gone
}

TEST_CASE("a pause request that could not be sent is sent later, with the state of that time") {
  unexpected_flow f(2, 1000);
  const auto unsent = [&] {
    std::vector<unexpected_flow::pause_message> messages;
    f.for_each_unsent([&](int peer, unexpected_flow::pause_message m) {
      CHECK(peer == 1);
      messages.push_back(m);
    });
    return messages;
  };
  const auto pause = f.add(1, 1001);
  f.keep_unsent(1, pause);
  const auto go_on = f.remove(1, 1001);
  CHECK(go_on.number == 2);
  f.keep_unsent(1, pause);
  const auto messages = unsent();
  REQUIRE(messages.size() == 1);
  CHECK(messages[0].number == 3);
  CHECK_FALSE(messages[0].pause);
  CHECK(unsent().empty());
  f.keep_unsent(1, go_on);  // a later one exists
  CHECK(unsent().empty());
}

TEST_CASE("threads that add and remove messages concurrently never leave a peer paused without reason") {
  for (int round = 0; round < 200; ++round) {
    unexpected_flow f(1, 100);
    // The latest request, as the peer sees it.
    unexpected_flow peer(1, 100);
    const auto send = [&](unexpected_flow::pause_message m) {
      if (m.number != 0) (void)peer.receive(0, m);
    };
    std::atomic<int> kept{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) {
          send(f.add(0, 10));
          kept.fetch_add(1);
        }
      });
      threads.emplace_back([&] {
        for (int i = 0; i < 200;) {
          int n = kept.load();
          if (n == 0 || !kept.compare_exchange_strong(n, n - 1)) continue;
          send(f.remove(0, 10));
          ++i;
        }
      });
    }
    for (std::thread& t : threads) t.join();
    REQUIRE_FALSE(peer.is_paused_by(0));
  }
}
