// For ranks on several hosts: each connects to rank 0 by TCP when it sends its first text. A text is preceded by
// its length.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/conformance/channel.hpp"

namespace conf {
namespace {

class connection {
 public:
  explicit connection(int socket) : socket_(socket) {
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~connection() { close(socket_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  /// Blocks if the peer reads slowly, which is acceptable as texts are short.
  void send(const std::string& text) {
    const auto size = static_cast<uint32_t>(text.size());
    std::string all(reinterpret_cast<const char*>(&size), sizeof size);
    all += text;
    for (size_t sent = 0; sent < all.size();) {
      const ssize_t n = ::send(socket_, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno != EINTR) channel_failed("send between hosts");
      if (n > 0) sent += static_cast<size_t>(n);
    }
  }

  bool receive(std::string& text) {
    char bytes[65536];
    for (;;) {
      const ssize_t n = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (n <= 0) break;  // a closed connection is not reported: the exchange times out
      in_.append(bytes, static_cast<size_t>(n));
    }
    uint32_t size;
    if (in_.size() < sizeof size) return false;
    std::memcpy(&size, in_.data(), sizeof size);
    if (in_.size() < sizeof size + size) return false;
    text = in_.substr(sizeof size, size);
    in_.erase(0, sizeof size + size);
    return true;
  }

 private:
  int socket_;
  std::string in_;  // bytes received, from the beginning of a text
};

class tcp_channel : public channel {
 public:
  tcp_channel(int rank, int size, const std::string& meeting) : rank_(rank), peers_(static_cast<size_t>(size)) {
    const size_t colon = meeting.find(':');
    address_.sin_family = AF_INET;
    if (colon == std::string::npos || inet_pton(AF_INET, meeting.substr(0, colon).c_str(), &address_.sin_addr) != 1) {
      std::fprintf(stderr, "conformance: LCI_TEST_CONTROL=%s is not ADDRESS:PORT\n", meeting.c_str());
      std::exit(3);
    }
    address_.sin_port = htons(static_cast<uint16_t>(std::atoi(meeting.c_str() + colon + 1)));
    if (rank_ != 0) return;
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener_, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0 ||
        listen(listener_, size) != 0)
      channel_failed("socket between hosts");
  }
  ~tcp_channel() override {
    if (listener_ >= 0) close(listener_);
  }

  bool send(int to, const std::string& text) override {
    auto& peer = peers_[static_cast<size_t>(to)];
    if (peer == nullptr && rank_ != 0) peer = connect();
    if (peer == nullptr) return false;
    peer->send(text);
    return true;
  }

  bool receive(std::string& text) override {
    if (rank_ == 0) welcome();
    for (auto& peer : peers_)
      if (peer != nullptr && peer->receive(text)) return true;
    return false;
  }

 private:
  /// Null if rank 0 does not listen yet.
  std::unique_ptr<connection> connect() {
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0) channel_failed("socket between hosts");
    if (::connect(s, reinterpret_cast<const sockaddr*>(&address_), sizeof address_) != 0) {
      close(s);
      return nullptr;
    }
    auto made = std::make_unique<connection>(s);
    made->send(std::to_string(rank_));  // so that rank 0 knows whose connection this is
    return made;
  }

  void welcome() {
    for (int s; (s = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
      unnamed_.push_back(std::make_unique<connection>(s));
    std::string name;
    for (auto& c : unnamed_) {
      if (!c->receive(name)) continue;
      const auto from = static_cast<size_t>(std::atoi(name.c_str()));
      if (from < peers_.size()) peers_[from] = std::move(c);
      unnamed_.erase(unnamed_.begin() + (&c - unnamed_.data()));
      return;  // the loop's iterators are invalid now; the rest is handled by the next call
    }
  }

  const int rank_;
  sockaddr_in address_{};
  int listener_ = -1;                                 // rank 0
  std::vector<std::unique_ptr<connection>> unnamed_;  // rank 0: connections whose rank is not known yet
  std::vector<std::unique_ptr<connection>> peers_;    // by rank; null if there is none
};

}  // namespace

std::unique_ptr<channel> make_tcp_channel(int rank, int size, const std::string& meeting) {
  return std::make_unique<tcp_channel>(rank, size, meeting);
}

}  // namespace conf
