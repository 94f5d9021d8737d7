// Networks reserve space for events before they remove them from their source, so no event is lost without memory.
#include <catch2/catch.hpp>

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "network/common/deferred_events.hpp"
#include "network/common/peer_state.hpp"
#include "network/common/suspicions.hpp"
#include "network/common/waiting_list.hpp"
#include "network/ibv/credits.hpp"
#include "tests/sim/failing_memory.hpp"

using namespace lci::network;
using sim_test::failing_memory;

namespace {

struct sink final : event_sink {
  sink() { failures.reserve(16), ended.reserve(16), reasons.reserve(16); }
  void on_recv(int, const std::byte*, size_t, void*) override {}
  void on_complete(void*) override {}
  void on_remote_write(int, uint32_t) override {}
  void on_peer_failure(int peer, const char* reason) override {
    failures.push_back(peer);
    reasons.push_back(reason[0]);
  }
  void on_device_end(int peer) override { ended.push_back(peer); }
  void on_operation_failure(void*, int) override {}
  std::vector<int> failures, ended;
  std::vector<char> reasons;
};

}  // namespace

TEST_CASE("failures and ends of peers are reported without memory, if need be without the reason", "[sim]") {
  deferred_events events;
  events.reserve_peers(3);
  const std::string reason = "a reason that does not fit into the string itself, so it needs memory";
  sink all;
  {
    const failing_memory none;
    events.add_failure(2, reason);
    events.add_end(0);
    events.add_failure(1, reason);
    events.begin_report();
    CHECK(events.report_failures(all) == 3);
  }
  CHECK(failing_memory::failures() == 2);
  CHECK(all.failures == std::vector<int>{2, 1});
  CHECK(all.ended == std::vector<int>{0});
  CHECK(all.reasons == std::vector<char>{'t', 't'});
}

TEST_CASE("deferred entries need no memory within the reserved space, also while they are reported", "[sim]") {
  deferred_events events;
  deferred_events::list<int> list;
  events.reserve(list, 4);
  std::vector<int> seen;
  seen.reserve(64);
  {
    const failing_memory none;
    for (int i = 0; i < 4; ++i) events.add(list, i);
    // Each is postponed twice.
    for (int pass = 0; pass < 3; ++pass) {
      events.begin_report();
      CHECK(events.report(list, [&](int i) {
        seen.push_back(i);
        if (pass < 2) events.add(list, i);
      }) == 4);
    }
  }
  CHECK(failing_memory::failures() == 0);
  CHECK(seen == std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
}

TEST_CASE("if a handler throws, the other events of the poll are stored without memory", "[sim]") {
  deferred_events events;
  deferred_events::list<int> list;
  events.reserve(list, 8);
  const int read[] = {1, 2, 3, 4};
  std::vector<int> seen;
  seen.reserve(8);
  {
    const failing_memory none;
    const auto throws = [&](int i) {
      seen.push_back(i);
      if (i == 2) throw i;
    };
    CHECK_THROWS_AS(events.handle_all(list, read, read + 4, throws), int);
    CHECK(events.any());
    events.begin_report();
    CHECK(events.report(list, [&](int i) { seen.push_back(i); }) == 2);
  }
  CHECK(seen == std::vector<int>{1, 2, 3, 4});
}

TEST_CASE("a peer is suspected without memory", "[sim]") {
  suspicions all;
  suspicion peers[2];
  {
    const failing_memory none;
    all.add(peers[0], 5, std::string());
    all.add(peers[1], 6, std::string());
    all.add(peers[0], 5, std::string());
    int calls = 0;
    all.settle_all([&](const suspicion& s) { return ++calls, s.rank == 6; });
    CHECK(calls == 2);
    all.settle_all([&](const suspicion& s) { return ++calls, s.rank == 5; });
    CHECK(calls == 3);
  }
  CHECK_FALSE(peers[0].pending);
  CHECK_FALSE(peers[1].pending);
}

TEST_CASE("flushing a list of what waits needs no memory, and loses nothing if it throws", "[sim]") {
  waiting_list<int> list;
  for (int i = 0; i < 5; ++i) list.add(i);
  std::vector<int> seen;
  seen.reserve(32);
  {
    const failing_memory none;
    list.flush([&](int i) { return seen.push_back(i), i % 2 == 0; });
    CHECK(list.any());
    CHECK_THROWS_AS(list.flush([&](int i) -> bool { throw i; }), int);
    list.flush([&](int i) { return seen.push_back(i), false; });
    CHECK_FALSE(list.any());
  }
  CHECK(seen == std::vector<int>{0, 1, 2, 3, 4, 2, 4, 0});
}

TEST_CASE("acknowledgements that are due need no memory, and remain due until they are posted", "[sim]") {
  constexpr int n = 3;
  ibv::credits receiver(n);
  for (int i = 0; i < 96; ++i) receiver.buffer_posted();
  const auto window = receiver.open();
  int tried = 0, posted = 0;
  {
    const failing_memory none;
    for (int peer = 0; peer < n; ++peer)
      for (uint32_t i = 0; i < window; ++i) receiver.taken(peer);
    receiver.acknowledge_due([&](int, uint32_t) { return ++tried, false; });
    receiver.acknowledge_due([&](int, uint32_t taken) { return posted += taken == window, true; });
  }
  CHECK(failing_memory::failures() == 0);
  CHECK(tried == n);
  CHECK(posted == n);
  CHECK_FALSE(receiver.any_due());
}
