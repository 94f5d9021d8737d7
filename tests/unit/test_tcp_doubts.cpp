// A peer that does not listen to a device of the tcp backend any more: it has failed, or freed its device.
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "network/tcp/device.hpp"

using namespace lci::network;
using namespace lci::network::sockets;

namespace {

/// Rank 0 of two; what rank 1 offers is the test's.
struct watched_rank final : address_exchange {
  int rank() const override { return 0; }
  int size() const override { return 2; }
  ticket offer(const std::string& blob) override {
    mine.push_back(blob);
    return {0, static_cast<uint32_t>(mine.size() - 1)};
  }
  void publish() override {}
  std::string read(ticket t, int r) override { return r == 0 ? mine[t.part] : t.part == 0 ? watched_at : other; }
  std::vector<std::string> read_all(ticket t) override { return {read(t, 0), read(t, 1)}; }
  std::vector<std::string> mine;
  std::string watched_at, other;
};

struct heard_of_rank final : event_sink {
  void on_recv(int, const std::byte* data, size_t size, void*) override {
    messages.emplace_back(reinterpret_cast<const char*>(data), size);
  }
  void on_complete(void*) override {}
  void on_remote_write(int, uint32_t) override {}
  void on_device_end(int peer) override { ends.push_back(peer); }
  void on_peer_failure(int peer, const char*) override { failures.push_back(peer); }
  void on_operation_failure(void*, int) override {}
  std::vector<int> ends, failures;
  std::vector<std::string> messages;
};

using std::chrono::milliseconds;

/// The device of rank 0, which watches a rank 1 that lives, and does not listen for devices any more.
struct doubtful {
  static lci::net_context_attr_t watching() {
    lci::net_context_attr_t attr;
    attr.device_name = "127.0.0.1";
    attr.peer_timeout = 5;
    return attr;
  }
  static std::string bytes_of_address(const sockaddr_storage& a) {
    return std::string(reinterpret_cast<const char*>(&a), length_of(a));
  }
  doubtful() : net(exchange, watching()), own(net, 4096) {
    endpoint e;
    e.address = listening_address("127.0.0.1");
    {
      const socket_handle closed = listen_at(e.address, 1);  // whoever connects there is refused
    }
    exchange.other = e.packed();
    sockaddr_storage here = listening_address("127.0.0.1");
    listener = listen_at(here, 4);
    exchange.watched_at = bytes_of_address(here);
    net.settle(acquaintance::all_at_once);
    own.settle(acquaintance::all_at_once);
    net.peers().meet(1);
    watcher = socket_handle(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    REQUIRE(watcher.get() >= 0);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (net.peers().view_of(1) != liveness::view::alive && std::chrono::steady_clock::now() < end) net.peers().look();
    REQUIRE(net.peers().view_of(1) == liveness::view::alive);
    CHECK(own.inject(1, message_head{}, nullptr, 0) == lci::errorcode_t::done);
  }
  void poll_for(milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) own.poll(sink, 64);
  }
  watched_rank exchange;
  sockets::context net;
  sockets::device own;
  socket_handle listener, watcher;
  heard_of_rank sink;
};

}  // namespace

TEST_CASE("a peer whose process ends, the device before that by which it is watched, has failed", "[unit]") {
  doubtful d;
  d.poll_for(milliseconds(50));
  CHECK(d.sink.ends.empty());
  d.listener = {};
  d.watcher = {};
  d.poll_for(milliseconds(1000));
  CHECK(d.sink.failures.size() == 1);
  CHECK(d.sink.ends.empty());
}

TEST_CASE("a peer that lives and does not listen any more has freed its device", "[unit]") {
  doubtful d;
  d.poll_for(milliseconds(1000));
  CHECK(d.sink.failures.empty());
  CHECK(d.sink.ends == std::vector<int>{1});
}

TEST_CASE("a peer that has connected in the meantime is in no doubt", "[unit]") {
  doubtful d;
  d.poll_for(milliseconds(50));
  const endpoint to = endpoint::unpack(d.exchange.mine.back(), 0);
  const socket_handle peer(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(connect(peer.get(), reinterpret_cast<const sockaddr*>(&to.address), sizeof(sockaddr_in)) == 0);
  const std::string text = encode(hello{to.knock, 1});
  REQUIRE(send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
  d.poll_for(milliseconds(1000));
  std::string message(frame_room(std::strlen("still there")), 'p');
  std::memcpy(begin_frame(reinterpret_cast<std::byte*>(message.data()), frame_kind::message, std::strlen("still there")),
              "still there", std::strlen("still there"));
  REQUIRE(send(peer.get(), message.data(), message.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(message.size()));
  d.poll_for(milliseconds(200));
  CHECK(d.sink.messages == std::vector<std::string>{"still there"});
  CHECK(d.sink.ends.empty());
  CHECK(d.sink.failures.empty());
}
