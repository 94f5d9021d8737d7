// Events that devices report later than they occur, and the states of peers.
#include <catch2/catch.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "network/common/deferred_events.hpp"
#include "network/common/peer_state.hpp"

using lci::network::deferred_events;
using lci::network::peer_state;

namespace {

/// Records failures; throws at the first one if the test wants that.
class listener final : public lci::network::event_sink {
 public:
  explicit listener(bool throws = false) : throws_(throws) {}
  void on_recv(int, const std::byte*, size_t, void*) override {}
  void on_complete(void*) override {}
  void on_remote_write(int, uint32_t) override {}
  void on_peer_failure(int peer, const char* reason) override {
    failures.push_back(std::to_string(peer) + " " + reason);
    if (std::exchange(throws_, false)) throw std::runtime_error("of a handler");
  }
  void on_operation_failure(void*, int) override {}
  std::vector<std::string> failures;

 private:
  bool throws_;
};

}  // namespace

TEST_CASE("deferred_events: failures are reported once, in order, and a handler that throws loses none") {
  deferred_events n;
  CHECK(!n.any());
  for (int peer : {3, 1, 2}) n.add_failure(peer, "died");
  CHECK(n.any());
  listener first(true);
  n.begin_report();
  CHECK_THROWS_AS(n.report_failures(first), std::runtime_error);
  CHECK(first.failures == std::vector<std::string>{"3 died"});
  CHECK(n.any());
  listener second;
  n.begin_report();
  CHECK(n.report_failures(second) == 2);
  CHECK(second.failures == std::vector<std::string>{"1 died", "2 died"});
  CHECK(!n.any());
}

TEST_CASE("deferred_events: failures that may not be reported yet remain, in order") {
  deferred_events n;
  listener all;
  for (int peer = 0; peer < 4; ++peer) n.add_failure(peer, "gone");
  n.begin_report();
  CHECK(n.report_failures(all, [](int peer) { return peer % 2 == 0; }) == 2);
  CHECK(n.any());
  n.begin_report();
  CHECK(n.report_failures(all, [](int) { return true; }) == 2);
  CHECK_FALSE(n.any());
  CHECK(all.failures == std::vector<std::string>{"0 gone", "2 gone", "1 gone", "3 gone"});
}

TEST_CASE("deferred_events: unreported events come before later ones, and so do those of later lists") {
  deferred_events n;
  deferred_events::list<int> list;
  n.add(list, 1);
  n.add(list, 2);
  n.add_failure(7, "died");
  n.begin_report();
  const auto throws = [&](int) {
    n.add(list, 3);
    throw std::runtime_error("of a handler");
  };
  CHECK_THROWS_AS(n.report(list, throws), std::runtime_error);
  // Also if the handler throws at the last event of a list.
  n.begin_report();
  std::vector<int> reported;
  const auto throws_at_last = [&](int i) {
    reported.push_back(i);
    if (i == 3) throw std::runtime_error("of a handler");
  };
  CHECK_THROWS_AS(n.report(list, throws_at_last), std::runtime_error);
  CHECK(reported == std::vector<int>{2, 3});
  CHECK(n.any());
  listener last;
  CHECK(n.report_failures(last) == 1);
}

TEST_CASE("deferred_events: several threads that add and report lose no event") {
  constexpr int count = 20000;
  deferred_events n;
  deferred_events::list<int> list;
  std::atomic<int> reported{0};
  std::atomic<int64_t> sum{0};
  const auto report = [&] {
    while (reported.load() < 2 * count) {
      if (!n.any()) continue;
      n.begin_report();
      n.report(list, [&](int i) { ++reported, sum += i; });
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back(report);
    threads.emplace_back([&] {
      for (int i = 0; i < count; ++i) n.add(list, i);
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(reported.load() == 2 * count);
  CHECK(sum.load() == int64_t{count} * (count - 1));
}

TEST_CASE("a peer fails or closes once") {
  peer_state failed;
  CHECK(!failed.is_gone());
  CHECK(failed.fail());
  CHECK(!failed.fail());
  CHECK(failed.is_gone());
  peer_state ended;
  CHECK(ended.end());
  CHECK(ended.is_gone());
  CHECK(!ended.fail());
}
