// Two ranks connect over TCP although allocations fail during the handshake: the attempt is repeated.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <new>
#include <string>
#include <utility>

#include "network/tcp/handshakes.hpp"
#include "tests/sim/failing_memory.hpp"

using namespace lci::network;
using namespace lci::network::sockets;
using sim_test::failing_memory;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

struct device_of_handshakes final : connection_owner {
  explicit device_of_handshakes(int rank)
      : events(epoll_create1(EPOLL_CLOEXEC)),
        hands(*this, rank, 2, listening_address("127.0.0.1"), events.get(), milliseconds(5000)) {}
  bool has_decided(int) override { return connected || failed; }
  void on_connected(int, socket_handle s) override { connected = true, socket = std::move(s); }
  void on_unreachable(int, const std::string&) override { failed = true; }
  void on_closed(int, const std::string&) override { failed = true; }
  void poll() {
    epoll_event all[8];
    const int n = epoll_wait(events.get(), all, 8, 1);
    try {
      hands.handle_due();
      for (int i = 0; i < n; ++i) hands.handle(all[i].data.u64);
    } catch (const std::bad_alloc&) {
    }
  }
  bool connected = false, failed = false;
  socket_handle socket, events;
  handshakes hands;
};

/// Returns whether a device connects again within two seconds, after its peer has dropped a connection, and the
/// allocation after `good` ones has failed meanwhile.
bool connects_again(long good) {
  device_of_handshakes here(0);
  sockaddr_storage at = listening_address("127.0.0.1");
  const socket_handle listener = listen_at(at, 4);
  here.hands.begin(1, {at, new_secret(), new_secret()});
  here.poll();  // sends its hello
  socket_handle(accept(listener.get(), nullptr, nullptr));
  {
    const failing_memory once(0, good, 1);
    for (int i = 0; i < 20; ++i) here.poll();
  }
  const auto end = steady_clock::now() + milliseconds(2000);
  bool accepted = false;
  while (!accepted && steady_clock::now() < end) {
    here.poll();
    accepted = socket_handle(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK)).get() >= 0;
  }
  return accepted;
}

}  // namespace

TEST_CASE("a device goes on to connect if there was no memory while its peer dropped a connection", "[sim]") {
  int n_failed = 0;
  for (long good = 0; good < 100; ++good) {
    CAPTURE(good);
    CHECK(connects_again(good));
    if (failing_memory::failures() == 0) break;
    ++n_failed;
  }
  CHECK(n_failed > 0);
}
