// A shared-memory sender prefetches the ring memory of its next message unless it has measured that this is slower.
#include <catch2/catch.hpp>

#include <cstdint>

#include "network/shm/fetch_choice.hpp"

namespace {

uint64_t fetch_clock = 0;
uint64_t read_fetch_clock() { return fetch_clock; }

/// A sender on a simulated machine: `fetched_takes` and `other_takes` are the ticks from one send to the next, with and
/// without prefetching.
struct fetching_sender {
  explicit fetching_sender(lci::attr_choice_t rule = lci::attr_choice_t::auto_select) : choice(rule) {}

  lci::network::shm::fetch_choice_by<read_fetch_clock> choice;
  uint64_t fetched_takes = 100, other_takes = 100;
  uint32_t idle_polls = 0;
  bool waits = true;

  /// Sends `n` messages. Returns after how many of them the sender prefetched.
  int send(int n, size_t room = 4096) {
    int fetched = 0;
    for (int i = 0; i < n; ++i) {
      idle_polls += waits ? 1 : 0;
      const bool fetches = choice.fetches(room, idle_polls);
      fetched += fetches ? 1 : 0;
      fetch_clock += fetches ? fetched_takes : other_takes;
    }
    return fetched;
  }
};

}  // namespace

TEST_CASE("a sender that waits for answers fetches ahead unless that takes longer", "[fetch_choice]") {
  fetching_sender sender;
  sender.fetched_takes = 130;
  sender.send(256);
  CHECK(sender.send(10000) < 200);
  sender.fetched_takes = 70;  // as after a move to another core
  sender.send(5000);
  CHECK(sender.send(10000) > 9800);
}

TEST_CASE("each power of two of the size has a choice of its own", "[fetch_choice]") {
  fetching_sender sender;
  sender.fetched_takes = 130;
  sender.send(256, 2048);
  CHECK(sender.send(1000, 4032) < 100);  // the same power as 2048
  sender.fetched_takes = 70;
  CHECK(sender.send(1000, 4096) > 900);
}

TEST_CASE("in a stream a sender always fetches ahead", "[fetch_choice]") {
  fetching_sender sender;
  sender.fetched_takes = 130;
  sender.waits = false;
  CHECK(sender.send(10000) == 10000);
}

TEST_CASE("a time until a message of another size is not measured", "[fetch_choice]") {
  fetching_sender sender;
  sender.fetched_takes = 130;
  // Messages of two sizes alternate: no time between two of the same size is known.
  int fetched = 0;
  for (int i = 0; i < 1000; ++i) fetched += sender.send(1, i % 2 == 0 ? 2048 : 8192);
  CHECK(fetched == 1000);
  sender.send(2000, 2048);
  CHECK(sender.send(1000, 2048) < 100);
}

TEST_CASE("a trial that gets no times any more ends", "[fetch_choice]") {
  for (int before = 0; before < 40; ++before) {
    fetching_sender sender;
    sender.fetched_takes = 70;  // so that messages without the fetch belong to trials
    sender.send(before, 2048);
    int fetched = 0;
    for (int i = 0; i < 1000; ++i) fetched += sender.send(1, i % 2 == 0 ? 2048 : 8192);
    CHECK(fetched >= 1000 - 4 * 16);
  }
}

TEST_CASE("the attribute decides whether a sender fetches ahead", "[fetch_choice]") {
  for (const size_t room : {256, 4096}) {
    fetching_sender always(lci::attr_choice_t::always), never(lci::attr_choice_t::never);
    always.fetched_takes = never.other_takes = 130;
    CHECK(always.send(1000, room) == 1000);
    CHECK(never.send(1000, room) == 0);
    never.waits = false;
    CHECK(never.send(1000, room) == 0);
  }
}
