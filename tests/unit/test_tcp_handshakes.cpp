// Handshakes of devices of the tcp backend, with each other and with unknown clients.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "network/tcp/handshakes.hpp"

using namespace lci::network;
using namespace lci::network::sockets;

namespace {

/// One device's handshakes, and their results.
struct side : connection_owner {
  explicit side(int r, int n = 4, std::chrono::milliseconds timeout = std::chrono::seconds(5))
      : rank(r),
        events(epoll_create1(EPOLL_CLOEXEC)),
        hands(*this, r, n, listening_address("127.0.0.1"), events.get(), timeout) {}
  bool has_decided(int r) override { return connections.count(r) + failures.count(r) > 0; }
  void on_connected(int r, socket_handle s) override { connections.emplace(r, std::move(s)); }
  void on_unreachable(int r, const std::string& reason) override { failures[r] = reason; }
  void on_closed(int r, const std::string& reason) override { failures[r] = reason, closed.insert(r); }
  void poll() {
    hands.handle_due();
    epoll_event all[8];
    const int n = epoll_wait(events.get(), all, 8, 1);
    for (int i = 0; i < n; ++i) {
      if (handshakes::is_ours(all[i].data.u64)) hands.handle(all[i].data.u64);
    }
  }
  const int rank;
  socket_handle events;
  std::map<int, socket_handle> connections;
  std::map<int, std::string> failures;
  std::set<int> closed;  // the failures that were reported as closed
  handshakes hands;
};

void until(const std::function<bool()>& done, std::initializer_list<side*> sides) {
  for (int i = 0; i < 5000 && !done(); ++i)
    for (side* s : sides) s->poll();
  CHECK(done());
}

bool joined(side& a, side& b) {
  if (a.connections.count(b.rank) == 0 || b.connections.count(a.rank) == 0) return false;
  // Check that both ends have the same connection.
  char c = 'x', got = 0;
  const int from = a.connections[b.rank].get(), to = b.connections[a.rank].get();
  if (send(from, &c, 1, MSG_NOSIGNAL) != 1) return false;
  pollfd p{to, POLLIN, 0};
  return ::poll(&p, 1, 1000) == 1 && recv(to, &got, 1, MSG_DONTWAIT) == 1 && got == c;
}

socket_handle connect_to(const side& s) {
  socket_handle fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_storage& to = s.hands.own().address;
  REQUIRE(connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(sockaddr_in)) == 0);
  return fd;
}

bool is_dropped(const socket_handle& fd) {
  char c;
  return recv(fd.get(), &c, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

}  // namespace

TEST_CASE("either of two ranks can connect to the other", "[unit]") {
  for (const bool lower_begins : {true, false}) {
    side a(0), b(3);
    if (lower_begins)
      a.hands.begin(3, b.hands.own());
    else
      b.hands.begin(0, a.hands.own());
    until([&] { return a.connections.size() == 1 && b.connections.size() == 1; }, {&a, &b});
    CHECK(joined(a, b));
    CHECK(joined(b, a));
  }
}

TEST_CASE("ranks that connect to each other concurrently get one connection", "[unit]") {
  // With any order and number of polls of the two ranks.
  for (int looks_of_a = 0; looks_of_a < 6; ++looks_of_a)
    for (int looks_of_b = 0; looks_of_b < 6; ++looks_of_b) {
      side a(1), b(2);
      a.hands.begin(2, b.hands.own());
      if (looks_of_a % 2 == 1) a.poll();
      b.hands.begin(1, a.hands.own());
      for (int i = 0; i < looks_of_a; ++i) a.poll();
      for (int i = 0; i < looks_of_b; ++i) b.poll();
      until([&] { return a.connections.size() == 1 && b.connections.size() == 1; }, {&b, &a});
      for (int i = 0; i < 5; ++i) a.poll(), b.poll();
      CHECK(joined(a, b));
      CHECK(joined(b, a));
      CHECK(a.failures.empty());
      CHECK(b.failures.empty());
    }
}

TEST_CASE("unknown clients are dropped, and ranks can connect meanwhile", "[unit]") {
  side a(0), b(1);
  std::vector<std::string> nonsense = {std::string(1, 'x'),
                                       std::string(hello_size, '\0'),
                                       "GET / HTTP/1.1\r\n\r\n",
                                       std::string(100'000, 'z'),
                                       encode(hello{new_secret(), 1}),
                                       encode(hello{a.hands.own().request_secret, 0}),  // the listener's own rank
                                       encode(hello{a.hands.own().request_secret, 4}),  // not a rank
                                       encode(reply{a.hands.own().answer, reply::verdict::accepted})};
  std::vector<socket_handle> unauthenticated;
  for (const std::string& text : nonsense) {
    unauthenticated.push_back(connect_to(a));
    (void)!send(unauthenticated.back().get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  unauthenticated.push_back(connect_to(a));  // sends nothing
  b.hands.begin(0, a.hands.own());
  until([&] { return a.connections.size() == 1 && b.connections.size() == 1; }, {&a, &b});
  CHECK(joined(a, b));
  for (size_t i = 1; i < nonsense.size(); ++i)
    if (nonsense[i].size() >= hello_size) CHECK(is_dropped(unauthenticated[i]));
  CHECK_FALSE(is_dropped(unauthenticated.back()));
  // A second connection of the same rank does not replace the first.
  const socket_handle again = connect_to(a);
  const std::string text = encode(hello{a.hands.own().request_secret, 1});
  REQUIRE(send(again.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  for (int i = 0; i < 10; ++i) a.poll();
  CHECK(is_dropped(again));
  CHECK(joined(a, b));
}

TEST_CASE("many clients that send nothing do not block ranks", "[unit]") {
  side a(0, 2), b(1, 2);
  std::vector<socket_handle> unauthenticated;
  for (int i = 0; i < 300; ++i) {
    unauthenticated.push_back(connect_to(a));
    if (i % 8 == 0) a.poll();
  }
  b.hands.begin(0, a.hands.own());
  until([&] { return a.connections.size() == 1 && b.connections.size() == 1; }, {&a, &b});
  CHECK(joined(a, b));
}

TEST_CASE("a peer that does not listen, or has another secret, is unreachable", "[unit]") {
  side a(0, 4, std::chrono::seconds(1));
  endpoint gone;
  {
    const side b(1);
    gone = b.hands.own();
  }
  a.hands.begin(1, gone);
  until([&] { return a.failures.count(1) == 1; }, {&a});
  CHECK(a.failures[1].find("127.0.0.1:") != std::string::npos);
  // A process that does not know the secret listens at the port.
  side c(2);
  endpoint other = c.hands.own();
  other.request_secret = new_secret();
  a.hands.begin(2, other);
  until([&] { return a.failures.count(2) == 1; }, {&a, &c});
  CHECK(c.connections.empty());
}

TEST_CASE("a peer whose connection broke after possible use has failed, and has not freed its device", "[unit]") {
  side a(0);
  socket_handle listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage at = listening_address("127.0.0.1");
  socklen_t size = sizeof(sockaddr_in);
  auto* address = reinterpret_cast<sockaddr*>(&at);
  REQUIRE(bind(listener.get(), address, size) == 0);
  REQUIRE(listen(listener.get(), 8) == 0);
  REQUIRE(getsockname(listener.get(), address, &size) == 0);
  endpoint peer;
  peer.address = at;
  peer.request_secret = peer.answer = new_secret();
  a.hands.begin(1, peer);
  int heard = 0;
  until(
      [&] {
        const socket_handle s(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (s.get() < 0) return !a.failures.empty();
        char hello[hello_size];
        for (int i = 0; i < 5; ++i) a.poll();
        if (recv(s.get(), hello, sizeof hello, MSG_WAITALL) != hello_size) return false;
        const linger at_once{1, 0};
        if (++heard == 1) setsockopt(s.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        return false;
      },
      {&a});
  CHECK(heard > 1);
  CHECK(a.failures.count(1) == 1);
  CHECK(a.closed.count(1) == 0);
}

TEST_CASE("a peer that stops listening before it has accepted a connection has freed its device", "[unit]") {
  side a(0);
  endpoint peer;
  peer.address = listening_address("127.0.0.1");
  peer.request_secret = peer.answer = new_secret();
  socket_handle listener = listen_at(peer.address, 16);
  a.hands.begin(1, peer);
  pollfd waiting{listener.get(), POLLIN, 0};
  REQUIRE(::poll(&waiting, 1, 5000) == 1);
  listener = socket_handle();  // resets the connection, before `a` sends its hello
  until([&] { return !a.failures.empty(); }, {&a});
  CHECK(a.closed.count(1) == 1);
}

TEST_CASE("a peer that drops some connections is connected in the end", "[unit]") {
  side a(0);
  endpoint peer;
  peer.address = listening_address("127.0.0.1");
  peer.request_secret = new_secret();
  peer.answer = new_secret();
  const socket_handle listener = listen_at(peer.address, 16);
  a.hands.begin(1, peer);
  socket_handle taken;
  int dropped = 0;
  std::string received;
  const auto accept_or_drop = [&] {
    if (taken.get() < 0) {
      socket_handle s(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (s.get() >= 0 && dropped++ >= 6) taken = std::move(s);
    } else if (received.size() < hello_size) {
      char bytes[hello_size];
      const ssize_t n = recv(taken.get(), bytes, sizeof bytes - received.size(), MSG_DONTWAIT);
      if (n > 0) received.append(bytes, static_cast<size_t>(n));
      const std::string accepted = encode(reply{peer.answer, reply::verdict::accepted});
      if (received.size() == hello_size) (void)!send(taken.get(), accepted.data(), accepted.size(), MSG_NOSIGNAL);
    }
    return !a.connections.empty() || !a.failures.empty();
  };
  until(accept_or_drop, {&a});
  CHECK(a.connections.count(1) == 1);
  CHECK(a.failures.empty());
}

namespace {

/// One of the system's congestion control algorithms other than Reno; empty: there is none.
std::string other_algorithm() {
  std::ifstream allowed("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
  for (std::string name; allowed >> name;)
    if (name != "reno") return name;
  return {};
}

std::string algorithm_of(int fd) {
  char name[32] = "";
  socklen_t size = sizeof name;
  REQUIRE(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0);
  return name;
}

/// A socket that listens at `to`, and one with the source address `from` that has connected to it.
struct socket_pair {
  socket_pair(const char* from, const char* to) : to_address(to), from_address(from) {
    REQUIRE(::bind(listener.get(), to_address.raw(), to_address.size) == 0);
    REQUIRE(listen(listener.get(), 1) == 0);
    socklen_t size = to_address.size;
    REQUIRE(getsockname(listener.get(), to_address.raw(), &size) == 0);
    REQUIRE(::bind(connecting.get(), from_address.raw(), from_address.size) == 0);
    REQUIRE(connect(connecting.get(), to_address.raw(), to_address.size) == 0);
    accepted = socket_handle(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(accepted.get() >= 0);
  }
  struct address {
    explicit address(const char* text) {
      auto& v4 = reinterpret_cast<sockaddr_in&>(bytes);
      auto& v6 = reinterpret_cast<sockaddr_in6&>(bytes);
      const bool is_v4 = inet_pton(AF_INET, text, &v4.sin_addr) == 1;
      if (!is_v4) REQUIRE(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1);
      bytes.ss_family = is_v4 ? AF_INET : AF_INET6;
      size = length_of(bytes);
    }
    sockaddr* raw() { return reinterpret_cast<sockaddr*>(&bytes); }
    sockaddr_storage bytes{};
    socklen_t size = 0;
  };
  address to_address, from_address;
  socket_handle listener = made(to_address), connecting = made(to_address), accepted;
  static socket_handle made(const address& at) {
    return socket_handle(socket(at.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
};

void use_algorithm(int fd, const std::string& name) {
  if (name.empty()) return;
  REQUIRE(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0);
}

bool leaves_at_once(int fd) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, &size) == 0 && value != 0;
}

}  // namespace

TEST_CASE("connections between ranks of a host are not paced, and their messages leave at once", "[unit]") {
  side a(0), b(3);
  a.hands.begin(3, b.hands.own());
  until([&] { return a.connections.size() == 1 && b.connections.size() == 1; }, {&a, &b});
  for (const int fd : {a.connections[3].get(), b.connections[0].get()}) {
    CHECK(algorithm_of(fd) == "reno");
    CHECK(leaves_at_once(fd));
  }
}

TEST_CASE("only connections within a host change their congestion control", "[unit]") {
  const std::string other = other_algorithm();
  if (other.empty()) WARN("this system has no algorithm but Reno: nothing can be seen to change");
  const auto after = [&](const char* from, const char* to, bool accepting) {
    socket_pair joined_pair(from, to);
    const int fd = accepting ? joined_pair.accepted.get() : joined_pair.connecting.get();
    use_algorithm(fd, other);
    prepare_for_messages(fd);
    CHECK(leaves_at_once(fd));
    return algorithm_of(fd);
  };
  socket_pair::address local6("::1");
  const bool has_ipv6 = ::bind(socket_pair::made(local6).get(), local6.raw(), local6.size) == 0;
  if (!has_ipv6) WARN("this host has no ::1");
  for (const bool accepting : {true, false}) {
    CHECK(after("127.0.0.1", "127.0.0.1", accepting) == "reno");
    CHECK(after("127.0.0.2", "127.0.0.1", accepting) == (other.empty() ? "reno" : other));
    if (has_ipv6) CHECK(after("::1", "::1", accepting) == "reno");
  }
}
