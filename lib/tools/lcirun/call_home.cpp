#include "lib/tools/lcirun/call_home.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "lib/tools/lcirun/connection.hpp"
#include "lib/tools/lcirun/handshake.hpp"
#include "lib/tools/lcirun/processes.hpp"

namespace lci::launcher {

namespace {

constexpr double setup_timeout_s = 60;  // ssh may be slow
constexpr double address_timeout_s = 3;

bool wait_for(int fd, short events, double until) {
  for (;;) {
    pollfd each{fd, events, 0};
    const double left = until - now();
    const int n = poll(&each, 1, left > 0 ? int(left * 1e3) + 1 : 0);
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

bool receive(int socket, std::string& into, size_t size, double until) {
  char bytes[64];
  while (into.size() < size) {
    if (!wait_for(socket, POLLIN, until)) return false;
    const ssize_t n = recv(socket, bytes, std::min(sizeof bytes, size - into.size()), 0);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) return false;
    if (n > 0) into.append(bytes, size_t(n));
  }
  return true;
}

/// A socket whose connection is in progress, or -1.
int connect_to(const std::string& address, int port) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  four.sin_port = six.sin6_port = htons(static_cast<uint16_t>(port));
  const bool is_four = inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1;
  if (!is_four && inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) != 1) {
    errno = EINVAL;
    return -1;
  }
  const int fd = socket(is_four ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int begun = is_four ? connect(fd, reinterpret_cast<const sockaddr*>(&four), sizeof four)
                            : connect(fd, reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (begun == 0 || errno == EINPROGRESS) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/// Completes the connection, and the handshake in which both sides prove that they have the key. Returns an empty text,
/// or the reason of a failure.
std::string authenticate(int socket, const proxy_setup& setup, double until) {
  if (!wait_for(socket, POLLOUT, until)) return "no answer";
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return strerror(error);
  const handshake mine(setup.key, setup.host);
  std::string challenge;
  if (send(socket, mine.hello().data(), hello_size, MSG_NOSIGNAL) != ssize_t(hello_size) ||
      !receive(socket, challenge, challenge_size, until)) {
    return "the listener there is not lcirun";
  }
  const std::string answer = mine.answer(challenge);
  if (answer.empty()) return "the listener there does not know the job's key";
  if (send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) != ssize_t(answer.size())) {
    return "it did not accept our answer";
  }
  return {};
}

}  // namespace

proxy_setup receive_setup(int input) {
  const double until = now() + setup_timeout_s;
  frame_buffer received(max_setup);
  for (;;) {
    char bytes[65536];
    if (!wait_for(input, POLLIN, until)) {
      throw std::runtime_error("no instructions came on standard input; lcirun starts this by itself");
    }
    const ssize_t n = read(input, bytes, sizeof bytes);
    if (n == 0) throw std::runtime_error("standard input ended before the instructions did");
    if (n < 0) continue;
    received.append(bytes, size_t(n));
    frame_t type{};
    std::string_view fields;
    if (received.next(type, fields)) {
      std::string why = "what came on standard input is not from lcirun";
      auto setup = type == frame_t::setup ? read_setup(fields, why) : std::nullopt;
      if (!setup) throw std::runtime_error(why);
      return *std::move(setup);
    }
    if (received.bad()) throw std::runtime_error("what came on standard input is not from lcirun");
  }
}

int call_home(const proxy_setup& setup) {
  std::vector<std::string> addresses = setup.addresses;
  // Most likely to be reachable: the address from which ssh connected, as this host sees it.
  if (const char* text = getenv("SSH_CONNECTION")) {
    std::string client;
    if (std::istringstream(text) >> client) addresses.insert(addresses.begin(), client);
  }
  const double end = now() + setup.options.host_timeout;
  std::string tried;
  for (const std::string& address : addresses) {
    if (now() > end) break;
    const int socket = connect_to(address, setup.port);
    const std::string why =
        socket < 0 ? strerror(errno) : authenticate(socket, setup, std::min(end, now() + address_timeout_s));
    if (why.empty()) return socket;
    if (socket >= 0) close(socket);
    tried += (tried.empty() ? "" : "; ") + address + ": " + why;
  }
  throw std::runtime_error("cannot connect back to lcirun at port " + std::to_string(setup.port) + " (" + tried + ")");
}

}  // namespace lci::launcher
