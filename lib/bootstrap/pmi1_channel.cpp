#include "lib/bootstrap/pmi1_channel.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <thread>

#include "lib/base/memory.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/meanwhile.hpp"

namespace lci::network::pmi1 {

namespace {

using clock = std::chrono::steady_clock;

constexpr int nap_ms = static_cast<int>(longest_nap / std::chrono::milliseconds(1));

/// Waits until `fd` is ready or `timeout` seconds have passed since `begin`. Returns false if the time ran out.
bool poll_until(int fd, short events, clock::time_point begin, double timeout) {
  for (;;) {
    int wait_ms = -1;
    if (timeout > 0) {
      const std::chrono::duration<double, std::milli> spent = clock::now() - begin;
      const double left = timeout * 1e3 - spent.count();
      if (left <= 0) return false;
      wait_ms = static_cast<int>(std::min(left + 1, double(INT_MAX)));
    }
    if (work_meanwhile()) wait_ms = wait_ms < 0 ? nap_ms : std::min(wait_ms, nap_ms);
    pollfd p{fd, events, 0};
    const int n = poll(&p, 1, wait_ms);
    if (n > 0) return true;
    if (n < 0 && errno == ENOMEM)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the kernel may get memory again
    else if (n < 0 && errno != EINTR)
      throw bootstrap_error(std::string("poll on the launcher's socket: ") + strerror(errno));
  }
}

struct addresses {
  addrinfo* list = nullptr;
  ~addresses() {
    if (list != nullptr) freeaddrinfo(list);
  }
};

}  // namespace

channel::~channel() { close(fd_); }

int channel::connect_to(const std::string& port, double timeout) {
  const size_t colon = port.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == port.size()) {
    throw bootstrap_error("PMI_PORT=" + printable(port) + " is not of the form host:port; " + bootstrap_remedy);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addresses found;
  const int rc = getaddrinfo(port.substr(0, colon).c_str(), port.substr(colon + 1).c_str(), &hints, &found.list);
  if (rc != 0) {
    throw bootstrap_error("PMI_PORT=" + printable(port) + ": " + gai_strerror(rc) + "; " + bootstrap_remedy);
  }
  std::string why = "no address";
  for (const addrinfo* a = found.list; a != nullptr; a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
      why = strerror(errno);
      continue;
    }
    int error = 0;
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
      error = errno;
      if (error == EINPROGRESS) {
        socklen_t length = sizeof error;
        if (!poll_until(fd, POLLOUT, clock::now(), timeout)) {
          error = ETIMEDOUT;
        } else {
          getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
        }
      }
    }
    if (error == 0) return fd;
    why = strerror(error);
    close(fd);
  }
  throw bootstrap_error("cannot connect to the launcher at PMI_PORT=" + printable(port) + ": " + why +
                        "; was this process started by a rank instead of by the launcher? Then unset PMI_PORT. Else " +
                        bootstrap_remedy);
}

void channel::wait(short events) {
  if (poll_until(fd_, events, asked_, timeout_)) return;
  throw no_answer("no answer from the launcher within " + seconds_text(timeout_) +
                  "; a rank may be late or stuck, or the launcher does not speak PMI-1; "
                  "LCI_ATTR_BOOTSTRAP_TIMEOUT=<seconds> sets how long to wait");
}

void channel::send(const std::string& line) {
  asked_ = clock::now();
  size_t done = 0;
  int tries = 1;
  while (done < line.size()) {
    const ssize_t n = ::send(fd_, line.data() + done, line.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait(POLLOUT);
    } else if (lacks_memory(errno) && tries++ < memory_tries) {
      await_memory();
    } else if (errno == EPIPE || errno == ECONNRESET) {
      throw bootstrap_error("the launcher closed the connection; it may have ended the job");
    } else if (errno != EINTR) {
      throw bootstrap_error(std::string("write to the launcher: ") + strerror(errno));
    }
  }
}

std::string channel::receive() {
  std::string line;
  int tries = 1;
  for (;;) {
    if (insist_on_memory([&] { return in_.next(line); })) return line;
    if (in_.overlong()) {
      throw bootstrap_error("the launcher's answer is longer than " + std::to_string(max_line) + " bytes: '" +
                            printable(in_.rest()) + "'");
    }
    char bytes[4096];
    const ssize_t n = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) {
      insist_on_memory([&] { in_.append(bytes, static_cast<size_t>(n)); });
    } else if (n == 0 || errno == ECONNRESET) {
      std::string text = "the launcher closed the connection; it may have ended the job";
      if (!in_.rest().empty()) text += " (unfinished line: '" + printable(in_.rest()) + "')";
      throw bootstrap_error(text);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      wait(POLLIN);
    } else if (lacks_memory(errno) && tries++ < memory_tries) {
      await_memory();
    } else if (errno != EINTR) {
      throw bootstrap_error(std::string("read from the launcher: ") + strerror(errno));
    }
  }
}

}  // namespace lci::network::pmi1
