// The end of a watched process is reported, and as what it is, even if there is no memory when it is noticed.
#include <sys/socket.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <new>
#include <string>
#include <vector>

#include "network/common/liveness.hpp"
#include "tests/sim/failing_memory.hpp"
#include "tests/unit/tcp_ranks.hpp"

using namespace lci::network;
using sim_test::failing_memory;

namespace {

/// What rank 0 is told of the end of rank 1's process, whose last message is `notes`, if the allocation after `good`
/// ones fails when it comes. Waits for the end for at most two seconds.
std::vector<liveness::departure> departures(const std::string& notes, long good) {
  tcp_test::two_ranks exchange;
  sockaddr_storage here = sockets::listening_address("127.0.0.1");
  const socket_handle listener = listen_at(here, 4);
  exchange.watched_at = std::string(reinterpret_cast<const char*>(&here), length_of(here)) + std::string(16, 't');
  liveness watching(exchange, sockets::listening_address("127.0.0.1"), 5);
  watching.settle(acquaintance::all_at_once);
  watching.meet(1);
  std::vector<liveness::departure> all;
  std::atomic<size_t> seen{0};
  const auto poll = [&] {
    try {
      watching.poll();
      watching.handle_new(seen, [&](const liveness::departure& d) { all.push_back(d); });
    } catch (const std::bad_alloc&) {
    }
  };
  const auto poll_until = [&](auto done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    while (!done() && std::chrono::steady_clock::now() < end) poll();
    return done();
  };
  REQUIRE(poll_until([&] { return watching.view_of(1) == liveness::view::alive; }));
  {
    const socket_handle connection(accept(listener.get(), nullptr, nullptr));
    char token[16];
    REQUIRE(recv(connection.get(), token, sizeof token, MSG_WAITALL) == sizeof token);
    const std::string all_notes = "k" + notes;  // it knows the token
    REQUIRE(send(connection.get(), all_notes.data(), all_notes.size(), 0) == static_cast<ssize_t>(all_notes.size()));
  }
  {
    const failing_memory once(0, good, 1);
    for (int i = 0; i < 20; ++i) poll();
  }
  poll_until([&] { return !all.empty() && all.back().device == liveness::all_devices; });
  return all;
}

}  // namespace

TEST_CASE("the end of a process is reported as what it is, although there is no memory at first", "[sim]") {
  std::string device_ends;
  for (char device = 0; device < 6; ++device) device_ends += std::string("d") + device + std::string(3, '\0');
  const std::string ended = "b";
  int n_failed = 0;
  for (const std::string& notes : {std::string(), ended, device_ends + ended})
    for (long good = 0; good < 100; ++good) {
      CAPTURE(notes.size(), good);
      const std::vector<liveness::departure> all = departures(notes, good);
      REQUIRE(all.size() == (notes.size() > 1 ? 7 : 1));
      CHECK(all.back().rank == 1);
      CHECK(all.back().failed == notes.empty());
      CHECK_FALSE(all.back().reason.empty());
      if (failing_memory::failures() == 0) break;
      ++n_failed;
    }
  CHECK(n_failed > 0);
}
