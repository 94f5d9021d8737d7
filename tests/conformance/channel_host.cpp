// The ranks of one launcher share a parent process, whose id is part of the names of their sockets. The names
// are abstract, so no file remains.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "tests/conformance/channel.hpp"

namespace conf {
namespace {

class host_channel : public channel {
 public:
  explicit host_channel(int rank) {
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t length;
    const sockaddr_un me = address(rank, length);
    if (socket_ < 0 || bind(socket_, reinterpret_cast<const sockaddr*>(&me), length) != 0)
      channel_failed("socket between the ranks");
  }
  ~host_channel() override { close(socket_); }

  bool send(int to, const std::string& text) override {
    socklen_t length;
    const sockaddr_un a = address(to, length);
    if (sendto(socket_, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&a), length) >= 0) return true;
    // Refused: that rank has not created its socket yet.
    if (errno != EAGAIN && errno != ECONNREFUSED && errno != ENOBUFS && errno != EINTR)
      channel_failed("send between the ranks");
    return false;
  }

  bool receive(std::string& text) override {
    text.resize(200'000);
    const ssize_t n = recv(socket_, text.data(), text.size(), 0);
    if (n < 0) return false;
    text.resize(static_cast<size_t>(n));
    return true;
  }

 private:
  static sockaddr_un address(int rank, socklen_t& length) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    const int n = std::snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "lci-conformance-%d-%d",
                                static_cast<int>(getppid()), rank);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
    return a;
  }

  int socket_ = -1;
};

}  // namespace

void channel_failed(const char* what) {
  std::fprintf(stderr, "conformance: ");
  std::perror(what);
  std::exit(3);
}

std::unique_ptr<channel> make_host_channel(int rank) { return std::make_unique<host_channel>(rank); }

}  // namespace conf
