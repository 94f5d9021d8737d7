// The ranks of one launcher share a parent process: its id names their sockets, which live in the
// kernel only (abstract names), so nothing is left behind.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/conformance/control.hpp"

namespace conf {
namespace {

class process_control : public control {
 public:
  process_control(int rank, int size) : rank_(rank), size_(size), center_(size) {
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t length;
    const sockaddr_un me = address(rank, length);
    if (socket_ < 0 || bind(socket_, reinterpret_cast<const sockaddr*>(&me), length) != 0) {
      std::perror("conformance: socket between the ranks");
      std::exit(3);
    }
  }
  ~process_control() override { close(socket_); }

  std::vector<std::string> exchange(const std::string& mine, bool last, int seconds,
                                    const std::function<void()>& idle) override {
    end_ = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    if (rank_ != 0) {
      send(0, std::string(1, last ? 'L' : 'N') + std::to_string(rank_) + " " + mine, idle);
      return unpack_answer(receive(idle));
    }
    std::string own = deliver(center_.add(0, {last, mine}), idle);
    while (own.empty()) {
      const std::string text = receive(idle);
      const size_t space = text.find(' ');
      const int from = std::atoi(text.c_str() + 1);
      own = deliver(center_.add(from, {text[0] == 'L', text.substr(space + 1)}), idle);
    }
    return unpack_answer(own);
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

  void wait_or_abort(const std::function<void()>& idle) {
    if (std::chrono::steady_clock::now() > end_) throw test_aborted{};
    idle();
  }

  void send(int to, const std::string& text, const std::function<void()>& idle) {
    socklen_t length;
    const sockaddr_un a = address(to, length);
    while (sendto(socket_, text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&a),
                  length) < 0) {
      // Refused: that rank has not come up yet.
      if (errno != EAGAIN && errno != ECONNREFUSED && errno != ENOBUFS && errno != EINTR) {
        std::perror("conformance: send between the ranks");
        std::exit(3);
      }
      wait_or_abort(idle);
    }
  }

  std::string receive(const std::function<void()>& idle) {
    std::string text(200'000, '\0');
    ssize_t n;
    while ((n = recv(socket_, text.data(), text.size(), 0)) < 0) wait_or_abort(idle);
    text.resize(static_cast<size_t>(n));
    return text;
  }

  /// Sends the answers out and returns rank 0's own, empty if there is none yet.
  std::string deliver(const std::vector<std::pair<int, std::string>>& answers,
                      const std::function<void()>& idle) {
    std::string own;
    for (const auto& [rank, answer] : answers) {
      if (rank == 0)
        own = answer;
      else
        send(rank, answer, idle);
    }
    return own;
  }

  int rank_, size_;
  hub center_;  // rank 0's is used
  int socket_ = -1;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

std::unique_ptr<control> make_process_control(int rank, int size) {
  return std::make_unique<process_control>(rank, size);
}

}  // namespace conf
