#include "lib/tools/lcirun/listener.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/tools/lcirun/processes.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

namespace lci::launcher {

namespace {

// Limits for connections that have not authenticated: any process may connect and send nothing.
constexpr size_t most_callers = 256;
constexpr double hello_timeout_s = 10;
// A proxy answers faster than this. A connection that has not is closed if its descriptor is needed for another.
constexpr double usual_hello_time_s = 1;

std::string name_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  }
  return text;
}

}  // namespace

listener::listener(event_loop& loop, size_t hosts, bool verbose, accepted_t accepted)
    : loop_(loop), verbose_(verbose), accepted_(std::move(accepted)), taken_(hosts), expected_(hosts) {
  for (size_t i = 0; i < hosts; ++i) keys_.push_back(new_key());
  constexpr int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  sockaddr_in6 six{};  // with IPv6, one socket serves both versions
  six.sin6_family = AF_INET6;
  socket_ = socket(AF_INET6, type, 0);
  const int off = 0;
  if (socket_ >= 0 && (setsockopt(socket_, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
                       bind(socket_, reinterpret_cast<const sockaddr*>(&six), sizeof six) != 0)) {
    close(socket_);
    socket_ = -1;
  }
  if (socket_ < 0) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    socket_ = socket(AF_INET, type, 0);
    if (socket_ < 0) throw_errno("a socket for other hosts");
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&four), sizeof four) != 0) throw_errno("bind");
  }
  if (listen(socket_, 128) != 0) throw_errno("listen");
  socklen_t size = sizeof six;
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&six), &size) != 0) throw_errno("getsockname");
  port_ = ntohs(six.sin6_port);  // sin_port has the same offset
  loop_.watch(socket_, EPOLLIN, [this] { accept_one(); });
}

listener::~listener() {
  while (!callers_.empty()) send_away(callers_.front(), nullptr);
  if (socket_ >= 0) close(socket_);
}

std::vector<std::string> listener::addresses() {
  std::vector<std::string> far, near;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {"127.0.0.1"};
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const std::string name = name_of(each->ifa_addr);
    if (name.rfind("fe80:", 0) == 0) continue;  // a link-local address needs the interface's name
    ((each->ifa_flags & IFF_LOOPBACK) != 0 ? near : far).push_back(name);
  }
  freeifaddrs(list);
  std::stable_partition(far.begin(), far.end(), [](const auto& name) { return name.find(':') == std::string::npos; });
  far.insert(far.end(), near.begin(), near.end());
  return far;
}

void listener::accept_one() {
  for (auto it = callers_.begin(); it != callers_.end();) {
    caller& old = *it++;
    if (now() > old.until) send_away(old, "it sent nothing");
  }
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const int fd = accept4(socket_, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) return make_room(errno);
  if (callers_.size() >= most_callers) send_away(callers_.front(), "too many connections");
  caller& who = callers_.emplace_back(caller{fd, now() + hello_timeout_s, {}, {}, {}});
  loop_.watch(fd, EPOLLIN, [this, &who] { talk(who); });
}

void listener::make_room(int error) {
  const bool of_descriptors = error == EMFILE || error == ENFILE;
  if (!of_descriptors && error != ENOMEM && error != ENOBUFS) return;
  if (of_descriptors && !callers_.empty() && now() > callers_.front().until - hello_timeout_s + usual_hello_time_s) {
    return send_away(callers_.front(), "others needed its place");
  }
  if (of_descriptors && !has_complained_) {
    has_complained_ = true;
    complain("no descriptor is left for the connection of a host; raise `ulimit -n`");
  }
  poll(nullptr, 0, 1);  // the connection still waits, and is reported again at once
}

bool listener::receive(caller& who, std::string& into, size_t size) {
  char bytes[64];
  const ssize_t n = recv(who.socket, bytes, size - into.size(), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    send_away(who, "it was closed");
    return false;
  }
  into.append(bytes, size_t(n));
  return into.size() == size;
}

void listener::talk(caller& who) {
  if (who.challenge.empty()) {
    if (!receive(who, who.hello, hello_size)) return;
    const int host = claimed_host(who.hello);
    if (host < 0 || size_t(host) >= keys_.size() || taken_[size_t(host)]) {
      return send_away(who, "it is not an expected proxy");
    }
    who.challenge = make_challenge(keys_[size_t(host)], who.hello);
    if (send(who.socket, who.challenge.data(), who.challenge.size(), MSG_NOSIGNAL) != ssize_t(who.challenge.size())) {
      send_away(who, "it did not accept the challenge");
    }
    return;
  }
  if (!receive(who, who.answer, tag_size)) return;
  const auto host = size_t(claimed_host(who.hello));
  if (taken_[host] || !is_answer(keys_[host], who.hello, who.challenge, who.answer)) {
    return send_away(who, "it does not know the key");
  }
  taken_[host] = true;
  const int socket = who.socket;
  loop_.forget(socket);
  callers_.remove_if([&who](const caller& each) { return &each == &who; });
  if (--expected_ == 0) {  // all hosts have connected
    loop_.forget(socket_);
    close(socket_);
    socket_ = -1;
  }
  accepted_(int(host), socket);
}

void listener::send_away(caller& who, const char* why) {
  if (verbose_ && why != nullptr) complain(std::string("rejected a connection: ") + why);
  loop_.forget(who.socket);
  close(who.socket);
  callers_.remove_if([&who](const caller& each) { return &each == &who; });
}

}  // namespace lci::launcher
