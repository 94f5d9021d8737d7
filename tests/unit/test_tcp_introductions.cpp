// The outside TCP network reports that a connection attempt failed. The receiver of the report may then abandon other
// attempts, also those that the same pass over the list was about to handle.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "lci/errors.hpp"
#include "network/tcp/endpoint.hpp"
#include "network/tcp/outside/context.hpp"
#include "network/tcp/outside/credentials.hpp"
#include "network/tcp/outside/introductions.hpp"

namespace {

namespace net = lci::network;
namespace out = lci::network::outside;
using net::socket_handle;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Connects to one peer several times, and abandons all attempts when one has failed, as a context does whose links
/// fail.
struct client_of_one_peer final : out::introductions_owner {
  void on_accepted(const out::hello&, size_t, socket_handle) override {}
  void on_outcome(uint32_t, const out::outcome&, const std::string&, socket_handle) override {}
  void on_connect_failed(uint32_t, bool, const std::string&) override {
    ++failures;
    for (uint32_t attempt = 1; attempt < all.next_attempt(); ++attempt) all.abandon(attempt);
  }
  void connect(const sockaddr_storage& to, steady_clock::time_point deadline) {
    all.connect({to}, out::hello(), deadline);
  }
  void handle_events() {
    epoll_event events[16];
    const int n = epoll_wait(epoll.get(), events, 16, 100);
    for (int i = 0; i < n; ++i) all.handle(events[i].data.u64);
  }

  static lci::net_context_attr_t without_keys() {
    lci::net_context_attr_t attr{};
    attr.peer_auth = "none";
    return attr;
  }
  const out::credentials keys{without_keys()};
  const socket_handle epoll{epoll_create1(EPOLL_CLOEXEC)};
  out::introductions all{*this, keys, epoll.get(), milliseconds(5000)};
  int failures = 0;
};

}  // namespace

TEST_CASE("when an attempt to connect fails at its deadline, the owner can abandon others that are late as well") {
  sockaddr_storage here = lci::network::sockets::listening_address("127.0.0.1");
  const socket_handle listener = net::listen_at(here, 4);  // accepts nothing
  client_of_one_peer client;
  for (int i = 0; i < 3; ++i) client.connect(here, steady_clock::now() - milliseconds(1));
  client.all.handle_due();
  CHECK(client.failures == 1);
  CHECK_FALSE(client.all.any());
}

TEST_CASE(
    "when a repeated attempt to connect is refused, the owner can abandon others that are to be repeated as well") {
  sockaddr_storage here = lci::network::sockets::listening_address("127.0.0.1");
  client_of_one_peer client;
  {
    const socket_handle listener = net::listen_at(here, 4);
    for (int i = 0; i < 3; ++i) client.connect(here, steady_clock::now() + milliseconds(60'000));
    // The peer closes the connections before it answers, so each is tried again.
    for (int i = 0; i < 3; ++i) socket_handle(accept(listener.get(), nullptr, nullptr));
    for (int i = 0; i < 10; ++i) client.handle_events();
    CHECK(client.failures == 0);
  }
  const auto end = steady_clock::now() + milliseconds(10'000);
  while (client.failures == 0 && steady_clock::now() < end) {
    client.all.handle_due();
    client.handle_events();
  }
  CHECK(client.failures == 1);
  CHECK_FALSE(client.all.any());
}

TEST_CASE("where no descriptor is left for a listener to peers outside of the job, the error says so") {
  lci::net_context_attr_t attr = client_of_one_peer::without_keys();
  attr.peer_listen = "tcp://127.0.0.1:0";
  attr.peer_timeout = 5;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int lowest_free = dup(0);
  REQUIRE(lowest_free >= 0);
  close(lowest_free);
  std::string why;
  // Another descriptor each time, until the epoll has one and the listener has none.
  for (int more = 1; more < 8 && why.find("listened for") == std::string::npos; ++more) {
    const rlimit few{static_cast<rlim_t>(lowest_free + more), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    try {
      out::context made(attr, 0, {});
    } catch (const lci::resource_error& e) {
      why = e.what();
    }
    setrlimit(RLIMIT_NOFILE, &before);
  }
  INFO(why);
  CHECK(why.find("listened for") != std::string::npos);
  CHECK(why.find("Too many open files") != std::string::npos);
}
