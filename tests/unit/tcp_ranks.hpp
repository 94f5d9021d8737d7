// Helpers of tests of a tcp device: the device is rank 0 of two; the test acts as rank 1.
#pragma once

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "network/tcp/device.hpp"

namespace tcp_test {

using namespace lci::network;
using namespace lci::network::sockets;

/// The address exchange of rank 0 of two; the test sets what rank 1 publishes.
struct two_ranks final : address_exchange {
  int rank() const override { return 0; }
  int size() const override { return 2; }
  offer_id offer(const std::string& blob) override {
    mine.push_back(blob);
    return {0, static_cast<uint32_t>(mine.size() - 1)};
  }
  void publish() override {}
  std::string read(offer_id t, int r) override {
    if (r == 0 || (t.part == 0 && watched_at.empty())) return mine[t.part];
    return t.part == 0 ? watched_at : other;
  }
  std::vector<std::string> read_all(offer_id t) override { return {read(t, 0), read(t, 1)}; }
  std::vector<std::string> mine;
  std::string other;
  std::string watched_at;  // where rank 1's process is watched; empty: it is not watched
};

struct recorder final : event_sink {
  void on_recv(int peer, const std::byte* data, size_t size, void*) override {
    CHECK(peer == 1);
    if (throws && messages.size() % 2 == 1) {
      messages.emplace_back("thrown");
      throw std::runtime_error("a handler's");
    }
    messages.emplace_back(reinterpret_cast<const char*>(data), size);
    if (on_message) on_message();
  }
  void on_complete(void* context) override { completed.push_back(context); }
  void on_remote_write(int peer, uint32_t imm) override {
    CHECK(peer == 1);
    written.push_back(imm);
  }
  void on_device_end(int peer) override { ends.push_back(peer); }
  void on_peer_failure(int peer, const char* reason) override { failures.push_back(std::to_string(peer) + reason); }
  void on_operation_failure(void* context, int peer) override {
    CHECK(peer == 1);
    failed.push_back(context);
  }
  bool throws = false;
  std::function<void()> on_message;  // called by the handler
  std::vector<uint32_t> written;
  std::vector<void*> completed, failed;
  std::vector<int> ends;
  std::vector<std::string> messages, failures;
};

inline lci::net_context_attr_t attributes(size_t buffer) {
  lci::net_context_attr_t attr;
  attr.tcp_buffer_size = buffer;
  attr.device_name = "127.0.0.1";
  attr.peer_timeout = 0;
  return attr;
}

/// The bytes of a frame with this payload.
inline std::string framed(const std::string& message, frame_kind kind = frame_kind::message) {
  std::string bytes(frame_room(message.size()), 'p');
  std::byte* const begin = reinterpret_cast<std::byte*>(bytes.data());
  std::memcpy(begin_frame(begin, kind, message.size()), message.data(), message.size());
  return bytes;
}

/// The device of rank 0, to which the test has connected as rank 1.
struct connected_pair {
  explicit connected_pair(size_t buffer = 131072, size_t eager = 4096)
      : net(exchange, attributes(buffer)), own(net, eager) {
    endpoint e;
    e.address = listening_address("127.0.0.1");
    exchange.other = e.packed();
    net.settle(acquaintance::all_at_once);
    own.settle(acquaintance::all_at_once);
    const endpoint to = endpoint::unpack(exchange.mine.back(), 0);
    peer = socket_handle(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(connect(peer.get(), reinterpret_cast<const sockaddr*>(&to.address), sizeof(sockaddr_in)) == 0);
    say(encode(hello{to.request_secret, 1}));
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
  /// Receives `size` bytes.
  std::string receive(size_t size) {
    std::string all, bytes(1 << 16, '\0');
    until([&] {
      const ssize_t n = recv(peer.get(), bytes.data(), std::min(bytes.size(), size - all.size()), MSG_DONTWAIT);
      if (n > 0) all.append(bytes, 0, static_cast<size_t>(n));
      return all.size() == size;
    });
    return all;
  }
  two_ranks exchange;
  sockets::context net;
  sockets::device own;
  socket_handle peer;
  recorder sink;
};

template <class Head>
std::string bytes_of(const Head& head) {
  return std::string(reinterpret_cast<const char*>(&head), sizeof head);
}

inline std::string put_frame(const void* to, uint64_t key, const std::string& content, const uint32_t* imm = nullptr) {
  const put_head head{reinterpret_cast<uint64_t>(to), key, imm != nullptr ? *imm : 0,
                      imm != nullptr ? put_head::has_imm : put_head::wants_answer};
  return framed(bytes_of(head) + content, frame_kind::put);
}

}  // namespace tcp_test
