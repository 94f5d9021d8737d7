// A device of the tcp backend, and a peer that is made of bare sockets and need not behave.
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "network/tcp/device.hpp"

using namespace lci::network;
using namespace lci::network::sockets;

namespace {

/// Rank 0 of two; what rank 1 offers is the test's.
struct two_ranks final : address_exchange {
  int rank() const override { return 0; }
  int size() const override { return 2; }
  ticket offer(const std::string& blob) override {
    mine.push_back(blob);
    return {0, static_cast<uint32_t>(mine.size() - 1)};
  }
  void publish() override {}
  std::string read(ticket t, int r) override { return r == 0 || t.part == 0 ? mine[t.part] : other; }
  std::vector<std::string> read_all(ticket t) override { return {read(t, 0), read(t, 1)}; }
  std::vector<std::string> mine;
  std::string other;
};

struct recorder final : event_sink {
  void on_recv(int peer, const std::byte* data, size_t size, void*) override {
    CHECK(peer == 1);
    if (throws && messages.size() % 2 == 1) {
      messages.emplace_back("thrown");
      throw std::runtime_error("a handler's");
    }
    messages.emplace_back(reinterpret_cast<const char*>(data), size);
  }
  void on_complete(void*) override {}
  void on_remote_write(int, uint32_t) override {}
  void on_peer_failure(int peer, const char* reason) override { failures.push_back(std::to_string(peer) + reason); }
  void on_operation_failure(void*, int) override {}
  bool throws = false;
  std::vector<std::string> messages, failures;
};

lci::net_context_attr_t attributes() {
  lci::net_context_attr_t attr;
  attr.device_name = "127.0.0.1";
  attr.peer_timeout = 0;
  return attr;
}

/// The device of rank 0, and the socket of a rank 1 that has said hello.
struct pair {
  pair() : net(exchange, attributes()), own(net, 4096) {
    endpoint e;
    e.address = listening_address("127.0.0.1");
    exchange.other = e.packed();
    net.settle(acquaintance::all_at_once);
    own.settle(acquaintance::all_at_once);
    const endpoint to = endpoint::unpack(exchange.mine.back(), 0);
    peer = socket_handle(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(peer.get(), reinterpret_cast<const sockaddr*>(&to.address), sizeof(sockaddr_in)) == 0);
    say(encode(hello{to.knock, 1}));
    std::string answer;
    until([&] {
      char bytes[reply_size];
      const ssize_t n = recv(peer.get(), bytes, sizeof bytes - answer.size(), MSG_DONTWAIT);
      if (n > 0) answer.append(bytes, static_cast<size_t>(n));
      return answer.size() == reply_size;
    });
    reply r;
    REQUIRE(decode(answer, r));
    CHECK(equal(r.answer, to.answer));
  }
  void say(const std::string& bytes) {
    REQUIRE(send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  void poll() {
    try {
      own.poll(sink, 64);
    } catch (const std::runtime_error&) {
    }
  }
  void until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!done() && std::chrono::steady_clock::now() < end) poll();
    CHECK(done());
  }
  two_ranks exchange;
  sockets::context net;
  sockets::device own;
  socket_handle peer;
  recorder sink;
};

std::string framed(const std::string& message, frame_kind kind = frame_kind::message) {
  std::string bytes(frame_room(message.size()), 'p');
  std::byte* const begin = reinterpret_cast<std::byte*>(bytes.data());
  std::memcpy(begin_frame(begin, kind, message.size()), message.data(), message.size());
  return bytes;
}

}  // namespace

TEST_CASE("messages over a socket arrive however they are cut", "[unit]") {
  pair p;
  const std::vector<std::string> sent = {"", "a", std::string(24, 'b'), std::string(4096, 'c'),
                                         std::string(300'000, 'd')};  // longer than our buffers
  std::string all;
  for (const std::string& m : sent) all += framed(m);
  std::mt19937 random(1);
  for (size_t at = 0; at < all.size();) {
    const size_t size = std::min<size_t>(at < 200 ? 1 : 1 + random() % 20'000, all.size() - at);
    p.say(all.substr(at, size));
    at += size;
    p.poll();
  }
  p.until([&] { return p.sink.messages.size() == sent.size(); });
  CHECK(p.sink.messages == sent);
  CHECK(p.sink.failures.empty());
}

TEST_CASE("what a handler has thrown before comes with the next poll", "[unit]") {
  pair p;
  p.sink.throws = true;
  std::string all;
  for (int i = 0; i < 8; ++i) all += framed(std::to_string(i));
  p.say(all);
  p.until([&] { return p.sink.messages.size() == 8; });
  CHECK(p.sink.messages == std::vector<std::string>{"0", "thrown", "2", "thrown", "4", "thrown", "6", "thrown"});
}

TEST_CASE("a peer whose messages make no sense has failed", "[unit]") {
  std::mt19937 random(2);
  for (int round = 0; round < 40; ++round) {
    pair p;
    std::string bytes = framed("good");
    std::string bad = framed("bad", static_cast<frame_kind>(random()));
    if (round % 2 == 1) {
      const uint32_t size = static_cast<uint32_t>(largest_message) + 1 + static_cast<uint32_t>(random() % 1000);
      bad = framed("bad");
      std::memcpy(bad.data(), &size, sizeof size);
    }
    p.say(bytes + bad + std::string(random() % 100, 'x'));
    p.until([&] { return !p.sink.failures.empty(); });
    CHECK(p.sink.messages == std::vector<std::string>{"good"});
    CHECK(p.sink.failures == std::vector<std::string>{"1tcp: what comes from it is no message"});
    CHECK(p.own.inject(1, {}, "x", 1) == lci::errorcode_t::fatal);
  }
}

TEST_CASE("the end of a connection is a failure only without a goodbye", "[unit]") {
  for (const bool polite : {true, false}) {
    pair p;
    p.say(framed("last") + (polite ? framed("", frame_kind::goodbye) : framed("cut").substr(0, 9)));
    p.peer = socket_handle();
    p.until([&] { return p.own.inject(1, {}, "x", 1) == lci::errorcode_t::fatal; });
    for (int i = 0; i < 100; ++i) p.poll();
    CHECK(p.sink.messages == std::vector<std::string>{"last"});
    CHECK(p.sink.failures.size() == (polite ? 0 : 1));
    CHECK(p.own.flushed());
  }
}

TEST_CASE("who does not read makes posts wait, and loses nothing", "[unit]") {
  pair p;
  const std::string text(4000, 't');
  int posted = 0;
  while (p.own.inject(1, {{1, 2}}, text.data(), text.size()) == lci::errorcode_t::done) ++posted;
  CHECK(posted > 30);
  CHECK_FALSE(p.own.flushed());
  const size_t size = frame_room(sizeof(message_head) + text.size());
  const size_t expected = static_cast<size_t>(posted) * size + frame_room(0);  // and a goodbye
  size_t got = 0;
  std::string bytes(1 << 16, '\0');
  p.until([&] {
    const ssize_t n = recv(p.peer.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n > 0) got += static_cast<size_t>(n);
    return p.own.flushed() && got == expected;
  });
  CHECK(got == expected);
}
