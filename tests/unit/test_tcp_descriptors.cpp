// Listeners of a process that has no descriptor left: connections wait, and are not reported again and again.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "network/tcp/endpoint.hpp"
#include "network/tcp/handshakes.hpp"
#include "network/tcp/outside/context.hpp"
#include "network/tcp/outside/url.hpp"

namespace {

namespace net = lci::network;
using net::socket_handle;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Lets this process open no file until the destructor.
class no_descriptors {
 public:
  no_descriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const socket_handle first_unused(dup(STDOUT_FILENO));
    const rlimit limit{static_cast<rlim_t>(first_unused.get()), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~no_descriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  no_descriptors(const no_descriptors&) = delete;
  no_descriptors& operator=(const no_descriptors&) = delete;

 private:
  rlimit before_{};
};

socket_handle connected_to(const sockaddr_storage& where) {
  socket_handle s(socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(connect(s.get(), reinterpret_cast<const sockaddr*>(&where), net::length_of(where)) == 0);
  return s;
}

/// How often the epoll reports something within half a second, in which `handle` handles each report.
int reports(int epoll, const std::function<void(uint64_t)>& handle) {
  int n = 0;
  for (const auto end = steady_clock::now() + milliseconds(500); steady_clock::now() < end;) {
    epoll_event e{};
    const bool reported = epoll_wait(epoll, &e, 1, 20) > 0;
    n += reported;
    handle(reported ? e.data.u64 : 0);
  }
  return n;
}

struct no_owner final : net::sockets::connection_owner {
  bool has_decided(int) override { return false; }
  void on_connected(int, socket_handle) override {}
  void on_unreachable(int, const std::string&) override {}
  void on_closed(int, const std::string&) override {}
};

bool is_closed(const socket_handle& s) {
  char c;
  return recv(s.get(), &c, 1, MSG_DONTWAIT) == 0;
}

}  // namespace

TEST_CASE("a device without descriptors is not woken again and again by a peer that connects") {
  no_owner owner;
  const socket_handle epoll(epoll_create1(EPOLL_CLOEXEC));
  net::sockets::handshakes hands(owner, 0, 2, net::sockets::listening_address("127.0.0.1"), epoll.get(),
                                 milliseconds(5000));
  const auto handle = [&](uint64_t mark) {
    if (mark != 0) hands.handle(mark);
    hands.handle_due();
  };
  const socket_handle first = connected_to(hands.own().address);
  REQUIRE(reports(epoll.get(), handle) == 1);  // accepted
  const socket_handle second = connected_to(hands.own().address);
  {
    const no_descriptors limit;
    CHECK(reports(epoll.get(), handle) < 10);
    CHECK_FALSE(is_closed(second));
    // The first one sends no hello, and gives its descriptor to the second.
    for (int i = 0; i < 4 && !is_closed(first); ++i) reports(epoll.get(), handle);
    CHECK(is_closed(first));
    CHECK_FALSE(is_closed(second));
  }
}

TEST_CASE("a server without descriptors is not woken again and again by a peer outside of the job that connects") {
  lci::net_context_attr_t attr{};
  attr.peer_listen = "tcp://127.0.0.1:0";
  net::outside::context server(attr, 0, {});
  const sockaddr_storage here =
      net::outside::resolve(net::outside::parse_url(server.own_address(), "test", ""), "test").front();
  const auto handle = [&](uint64_t) { server.look(); };
  const socket_handle first = connected_to(here);
  REQUIRE(reports(server.events(), handle) == 1);
  const socket_handle second = connected_to(here);
  {
    const no_descriptors limit;
    CHECK(reports(server.events(), handle) < 20);
    CHECK_FALSE(is_closed(second));
    for (int i = 0; i < 4 && !is_closed(first); ++i) reports(server.events(), handle);
    CHECK(is_closed(first));
    CHECK_FALSE(is_closed(second));
  }
}

TEST_CASE("a device that closes and has no descriptor left connects by that of its listener") {
  no_owner owner;
  const socket_handle epoll(epoll_create1(EPOLL_CLOEXEC));
  net::sockets::handshakes hands(owner, 0, 2, net::sockets::listening_address("127.0.0.1"), epoll.get(),
                                 milliseconds(30000));
  net::sockets::endpoint peer = hands.own();
  peer.address = net::sockets::listening_address("127.0.0.1");
  const socket_handle listener = net::listen_at(peer.address, 8);
  REQUIRE(listener.get() >= 0);
  const auto handle = [&](uint64_t mark) {
    if (mark != 0) hands.handle(mark);
    hands.handle_due();
  };
  const no_descriptors limit;
  hands.begin(1, peer);
  (void)reports(epoll.get(), handle);
  CHECK_FALSE(net::has_waiting(listener));
  hands.begin_to_close();
  (void)reports(epoll.get(), handle);
  CHECK(net::has_waiting(listener));
}
