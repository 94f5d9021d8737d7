// The choice between eager messages and rendezvous, on simulated machines with known costs.
#include "lib/core/transfer/protocol_table.hpp"

#include <catch2/catch.hpp>

#include <cstdint>

#include "lib/core/wire/wire.hpp"
#include "tests/unit/network_of_limits.hpp"

using lci::core::protocol_table;
using lci_test::network_of_limits;

namespace {

constexpr size_t first = 24'577, header = sizeof(lci::core::wire::header);
constexpr uint32_t eager_time = 1000;  // units of the clock

uint32_t time_now = 0;
uint32_t simulated_clock() { return time_now; }

/// A sender on a machine where a message takes `eager_time` if it is eager, and `rendezvous_time` if not. Up to
/// `window` messages are outstanding. Those by rendezvous complete at once, when the sender polls.
struct sender {
  explicit sender(uint32_t time, int messages = 1) : rendezvous_time(time), window(messages) {
    table.begin_at(first, first - 1);
  }

  /// Returns how many of `n` messages were eager.
  int send(int n) {
    int eager = 0;
    for (int i = 0; i < n; ++i) {
      if (table.is_eager(net, 0, size)) {
        poll();
        time_now += eager_time;
        table.sent_eager(0, size);
        ++eager;
      } else {
        CHECK(table.begins_rendezvous(0, size));
        if (++outstanding == window) poll();
      }
    }
    return eager;
  }
  void poll() {
    time_now += static_cast<uint32_t>(outstanding) * rendezvous_time;
    for (; outstanding > 0; --outstanding) table.rendezvous_ended(0, size);
  }

  uint32_t rendezvous_time;
  const int window;
  int outstanding = 0;
  size_t size = 60'000;
  network_of_limits net{size_t{128} << 10};
  protocol_table table{2, simulated_clock};
};

}  // namespace

TEST_CASE("messages above the limit of eager ones take the protocol that is faster", "[unit][protocols]") {
  const int window = GENERATE(1, 8, 64);
  const bool eager_is_faster = GENERATE(true, false);
  CAPTURE(window, eager_is_faster);
  sender s(eager_is_faster ? 1300 : 800, window);
  (void)s.send(16'000);
  const int eager = s.send(20'000);
  CHECK((eager_is_faster ? eager : 20'000 - eager) > 17'500);
}

TEST_CASE("the protocol follows a machine on which the other one becomes faster", "[unit][protocols]") {
  sender s(700);
  (void)s.send(16'000);
  CHECK(s.send(10'000) < 1000);
  s.rendezvous_time = 2000;
  (void)s.send(40'000);
  CHECK(s.send(10'000) > 9000);
}

TEST_CASE("each power of two of the size has a protocol of its own", "[unit][protocols]") {
  sender s(1000);
  for (int i = 0; i < 40'000; ++i) {
    s.size = i % 2 == 0 ? 30'000 : 100'000;
    s.rendezvous_time = i % 2 == 0 ? 3000 : 400;
    (void)s.send(1);
  }
  s.size = 30'000;
  s.rendezvous_time = 3000;
  CHECK(s.send(100) == 100);
  s.size = 100'000;
  CHECK(s.table.is_eager(s.net, 0, s.size) == false);
}

TEST_CASE("only sizes between the limit of eager messages and 128 KiB are measured", "[unit][protocols]") {
  protocol_table table(1);
  CHECK_FALSE(table.covers(60'000));  // before begin_at()
  table.begin_at(first, first - 1);
  CHECK_FALSE(table.covers(first - 1));
  CHECK(table.covers(first));
  CHECK(table.covers(size_t{128} << 10));
  CHECK_FALSE(table.covers((size_t{128} << 10) + 1));
}

TEST_CASE("no message is eager that the network can't inject", "[unit][protocols]") {
  protocol_table table(1);
  table.begin_at(first, first - 1);
  network_of_limits net{first - 1};  // the peer's memory is not mapped yet
  CHECK_FALSE(table.is_eager(net, 0, first));
  CHECK_FALSE(table.begins_rendezvous(0, first));
  net.largest = 50'000 + header;
  CHECK(table.is_eager(net, 0, 50'000));
  CHECK_FALSE(table.is_eager(net, 0, 50'001));
  CHECK(table.begins_rendezvous(0, 50'000));
  CHECK_FALSE(table.begins_rendezvous(0, 50'001));
}

TEST_CASE("messages to peers outside of the job go by rendezvous, and are not measured", "[unit][protocols]") {
  protocol_table table(1);
  table.begin_at(first, first - 1);
  const network_of_limits net{size_t{128} << 10};
  CHECK_FALSE(table.is_eager(net, 1, 50'000));
  CHECK_FALSE(table.begins_rendezvous(1, 50'000));
}

TEST_CASE("messages that the network can inject to any peer are eager to those that are not measured",
          "[unit][protocols]") {
  protocol_table table(1);
  constexpr size_t largest = 2 * first;
  table.begin_at(first, largest);
  network_of_limits net{header + largest};
  for (const int rank : {0, 1}) {  // memory that is not mapped yet, and a peer outside of the job
    CHECK(table.is_eager(net, rank, first));
    CHECK(table.is_eager(net, rank, largest));
    CHECK_FALSE(table.is_eager(net, rank, largest + 1));
    CHECK_FALSE(table.begins_rendezvous(rank, first));
  }
  net.largest = size_t{128} << 10;
  CHECK(table.is_eager(net, 0, largest + 1));
  CHECK(table.begins_rendezvous(0, first));
  CHECK_FALSE(table.is_eager(net, 1, largest + 1));
}
