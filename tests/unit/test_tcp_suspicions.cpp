// If a rank refuses connections to its device, its process may have ended, or it may have freed the device.
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "tests/unit/tcp_ranks.hpp"

using namespace tcp_test;

namespace {

using std::chrono::milliseconds;

/// The device of rank 0. It watches the process of rank 1, which runs but does not accept connections to its device.
struct suspected_peer {
  static lci::net_context_attr_t watching() {
    lci::net_context_attr_t attr = attributes(131072);
    attr.peer_timeout = 5;
    return attr;
  }
  static std::string bytes_of_address(const sockaddr_storage& a) {
    return std::string(reinterpret_cast<const char*>(&a), length_of(a));
  }
  enum class met : bool { no, yes };
  explicit suspected_peer(met is_met = met::yes) : net(exchange, watching()), own(net, 4096) {
    endpoint e;
    e.address = listening_address("127.0.0.1");
    {
      const socket_handle closed = listen_at(e.address, 1);  // closed at once, so connections to it are refused
    }
    exchange.other = e.packed();
    sockaddr_storage here = listening_address("127.0.0.1");
    listener = listen_at(here, 4);
    exchange.watched_at = bytes_of_address(here) + std::string(sizeof(secret), 't');
    net.settle(acquaintance::all_at_once);
    own.settle(acquaintance::all_at_once);
    if (is_met == met::no) return;
    net.peers().meet(1);
    watcher = socket_handle(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(watcher.get() >= 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (net.peers().view_of(1) != liveness::view::alive && std::chrono::steady_clock::now() < end)
      net.peers().poll();
    REQUIRE(net.peers().view_of(1) == liveness::view::alive);
    CHECK(own.inject(1, message_head{}, nullptr, 0) == lci::errorcode_t::done);
  }
  void poll_for(milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) own.poll(sink, 64);
  }
  two_ranks exchange;
  sockets::context net;
  sockets::device own;
  socket_handle listener, watcher;
  recorder sink;
};

}  // namespace

TEST_CASE("a peer that closes its device before the connection by which its process is watched has failed", "[unit]") {
  suspected_peer d;
  d.poll_for(milliseconds(50));
  CHECK(d.sink.ends.empty());
  d.listener = {};
  d.watcher = {};
  d.poll_for(milliseconds(1000));
  CHECK(d.sink.failures.size() == 1);
  CHECK(d.sink.ends.empty());
}

TEST_CASE("a peer whose process runs and does not listen has freed its device", "[unit]") {
  suspected_peer d;
  d.poll_for(milliseconds(1000));
  CHECK(d.sink.failures.empty());
  CHECK(d.sink.ends == std::vector<int>{1});
}

TEST_CASE("a peer that has connected in the meantime is alive", "[unit]") {
  suspected_peer d;
  d.poll_for(milliseconds(50));
  const endpoint to = endpoint::unpack(d.exchange.mine.back(), 0);
  const socket_handle peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(connect(peer.get(), reinterpret_cast<const sockaddr*>(&to.address), sizeof(sockaddr_in)) == 0);
  const std::string text = encode(hello{to.request_secret, 1});
  REQUIRE(send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  d.poll_for(milliseconds(1000));
  const std::string message = framed("still there");
  REQUIRE(send(peer.get(), message.data(), message.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(message.size()));
  d.poll_for(milliseconds(200));
  CHECK(d.sink.messages == std::vector<std::string>{"still there"});
  CHECK(d.sink.ends.empty());
  CHECK(d.sink.failures.empty());
}

namespace {

/// The notification that the device with this number counts the rank as failed.
std::string giving_up(uint32_t device, uint32_t rank) {
  std::string note(1, 'g');
  for (uint32_t number : {device, rank}) note.append(reinterpret_cast<const char*>(&number), sizeof number);
  return note;
}

}  // namespace

TEST_CASE("a peer whose device counts this rank as failed has failed", "[unit]") {
  suspected_peer d;
  const std::string of_others = giving_up(0, 1) + giving_up(1, 0), ours = giving_up(0, 0);
  REQUIRE(send(d.watcher.get(), of_others.data(), of_others.size(), MSG_NOSIGNAL) == 18);
  REQUIRE(send(d.watcher.get(), ours.data(), 4, MSG_NOSIGNAL) == 4);
  d.poll_for(milliseconds(100));
  CHECK(d.sink.failures.empty());
  REQUIRE(send(d.watcher.get(), ours.data() + 4, 5, MSG_NOSIGNAL) == 5);
  d.poll_for(milliseconds(100));
  REQUIRE(d.sink.failures.size() == 1);
  CHECK(d.sink.failures[0].find("counts this rank as failed") != std::string::npos);
  d.poll_for(milliseconds(500));
  CHECK(d.sink.ends.empty());
}

TEST_CASE("a peer whose process runs and that counts as failed is notified", "[unit]") {
  // Without memory a message can arrive from a peer that is not watched yet.
  const auto is_met = GENERATE(suspected_peer::met::yes, suspected_peer::met::no);
  suspected_peer d(is_met);
  const std::string& offered = d.exchange.mine.front();
  const socket_handle peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(connect(peer.get(), reinterpret_cast<const sockaddr*>(offered.data()), sizeof(sockaddr_in)) == 0);
  connection_owner& own = d.own;
  own.on_unreachable(1, "of the test");
  d.poll_for(milliseconds(100));
  CHECK(d.sink.failures.size() == 1);
  char received[32];
  const ssize_t n = recv(peer.get(), received, sizeof received, MSG_DONTWAIT);
  REQUIRE(n > 0);
  CHECK(std::string(received, static_cast<size_t>(n)) == giving_up(0, 1));
}
