#include "lib/layers/na/name_service.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

namespace na {
namespace {

using clock = std::chrono::steady_clock;

// Both messages have a fixed size, so that no length is ever trusted. Numbers are in the host's byte order: the core's
// addresses are of the same host.
constexpr char request_magic[8] = {'N', 'A', '-', 'W', 'H', 'O', '1', '\n'};
constexpr char answer_magic[8] = {'N', 'A', '-', 'I', 'A', 'M', '1', '\n'};
struct request {
  char magic[8];
  identity who;
};
struct answer {
  char magic[8];
  identity who;
  uint32_t greetings;
  uint32_t coming;
  char address[504];
  char name[256];
};
static_assert(sizeof(answer) == 792, "without gaps");

struct addresses {
  ~addresses() {
    if (list != nullptr) freeaddrinfo(list);
  }
  addrinfo* list = nullptr;
};

int look_up(const url& where, const char* host, int flags, addresses& found) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  return getaddrinfo(host, std::to_string(where.port).c_str(), &hints, &found.list);
}

std::string spelled(const url& where) {
  const bool v6 = where.host.find(':') != std::string::npos;
  return "tcp://" + (v6 ? "[" + where.host + "]" : where.host) + ":" + std::to_string(where.port);
}

[[noreturn]] void fail(const url& where, const std::string& why) {
  throw lci::peer_failure_error(-1, "no process answers at " + spelled(where) + ": " + why);
}

bool printable(const char* text, size_t size) {
  const char* const end = static_cast<const char*>(std::memchr(text, 0, size));
  return end != nullptr && end != text && std::all_of(text, end, [](char c) { return c > ' ' && c <= '~'; });
}

/// Waits until the socket can be read or written. False: the time is over.
bool ready(int socket, short events, clock::time_point deadline, const std::atomic<bool>& give_up) {
  while (clock::now() < deadline && !give_up.load(std::memory_order_relaxed)) {
    pollfd p{socket, events, 0};
    if (poll(&p, 1, 20) > 0) return true;
  }
  return false;
}

/// Whether the card has come.
bool ask(int socket, const addrinfo& a, const identity& me, clock::time_point deadline,
         const std::atomic<bool>& give_up, answer* to, std::string* why) {
  if (connect(socket, a.ai_addr, a.ai_addrlen) != 0) {
    int error = errno;
    if (error == EINPROGRESS) {
      if (!ready(socket, POLLOUT, deadline, give_up)) return *why = "it takes too long", false;
      socklen_t size = sizeof error;
      getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
    }
    if (error != 0) return *why = std::strerror(error), false;
  }
  request r;
  std::memcpy(r.magic, request_magic, sizeof r.magic);
  r.who = me;
  if (send(socket, &r, sizeof r, MSG_NOSIGNAL) != sizeof r) return *why = std::strerror(errno), false;
  size_t have = 0;
  while (have < sizeof *to) {
    if (!ready(socket, POLLIN, deadline, give_up)) return *why = "it takes too long", false;
    const ssize_t n = recv(socket, reinterpret_cast<char*>(to) + have, sizeof *to - have, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return *why = "it is no listener of NA, which answers with a card", false;
    have += static_cast<size_t>(n);
  }
  if (std::memcmp(to->magic, answer_magic, sizeof answer_magic) != 0 || !printable(to->address, sizeof to->address) ||
      !printable(to->name, sizeof to->name) || to->greetings == 0)
    return *why = "it is no listener of NA: it answers with something else than a card", false;
  return true;
}

}  // namespace

resolved::~resolved() { close(socket_); }

std::unique_ptr<resolved> resolve(const url& where, const identity& me, double seconds,
                                  const std::atomic<bool>& give_up) {
  if (where.port == 0 || where.host.empty())
    throw lci::invalid_argument_error("the name of a process needs a host and a port, as tcp://host:port");
  const clock::time_point deadline = clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  addresses found;
  const int error = look_up(where, where.host.c_str(), AI_ADDRCONFIG, found);
  if (error != 0) fail(where, gai_strerror(error));
  std::string why = "the host has no address";
  for (const addrinfo* a = found.list; a != nullptr; a = a->ai_next) {
    const int s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) throw lci::resource_error(std::string("a socket is refused: ") + std::strerror(errno));
    answer got;
    if (ask(s, *a, me, deadline, give_up, &got, &why))
      return std::make_unique<resolved>(card{got.who, got.greetings, got.address, got.name}, got.coming != 0, s);
    close(s);
  }
  fail(where, why);
}

name_service::name_service(const url& at) {
  addresses found;
  const bool loopback = at.host.empty();
  const int error = look_up(at, loopback ? "127.0.0.1" : at.host.c_str(), AI_PASSIVE, found);
  if (error != 0) throw lci::resource_error(spelled(at) + ": the host is unknown: " + gai_strerror(error));
  std::string why;
  for (const addrinfo* a = found.list; a != nullptr && socket_ < 0; a = a->ai_next) {
    const int s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int yes = 1;
    if (s >= 0) setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (s >= 0 && bind(s, a->ai_addr, a->ai_addrlen) == 0 && listen(s, 1024) == 0) {
      socket_ = s;
    } else {
      why = std::strerror(errno);
      if (s >= 0) close(s);
    }
  }
  if (socket_ < 0) throw lci::resource_error("can't listen at " + spelled(at) + ": " + why);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  char port[NI_MAXSERV] = "";
  url mine = at;
  mine.host = loopback ? "127.0.0.1" : at.host;
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, nullptr, 0, port, sizeof port, NI_NUMERICSERV) == 0)
    mine.port = static_cast<uint16_t>(std::strtoul(port, nullptr, 10));
  name_ = spelled(mine);
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_ < 0 || name_.size() >= sizeof(answer::name)) {
    close(socket_);
    throw lci::resource_error(stop_ < 0 ? "an eventfd is refused" : "the host's name is too long");
  }
}

name_service::~name_service() {
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
  }
  close(stop_);
  close(socket_);
}

struct name_service::connection {
  int socket;
  clock::time_point until;
  size_t have = 0;
  bool answered = false;
  request asked{};
};

/// The connections of the listener's thread, oldest first.
class name_service::table {
 public:
  explicit table(name_service& of) : service_(of) {}
  ~table() {
    while (!list.empty()) end(list.begin());
  }
  void add(int socket) {
    if (list.size() >= most_connections) {
      // Room is made by those who have not sent a request.
      const auto silent = std::find_if(list.begin(), list.end(), [](const connection& c) { return !c.answered; });
      end(silent != list.end() ? silent : list.begin());
    }
    list.push_back({socket, clock::now() + std::chrono::seconds(2)});
  }
  std::vector<connection>::iterator end(std::vector<connection>::iterator it) {
    if (it->answered) {
      const std::lock_guard guard(service_.mutex_);
      service_.asking_.erase(service_.asking_.find(it->asked.who));
    }
    close(it->socket);
    return list.erase(it);
  }
  bool any_answered() const {
    return std::any_of(list.begin(), list.end(), [](const connection& c) { return c.answered; });
  }

  std::vector<connection> list;

 private:
  name_service& service_;
};

void name_service::start(const card& mine, std::function<void()> make_progress,
                         std::function<bool(const identity&)> coming) {
  if (mine.address.size() >= sizeof(answer::address)) throw lci::resource_error("the core's address is too long");
  card_ = mine;
  make_progress_ = std::move(make_progress);
  coming_ = std::move(coming);
  thread_ = std::thread([this] {
    table connections(*this);
    serve(connections);
  });
}

bool name_service::asked_by(const identity& who) const {
  const std::lock_guard guard(mutex_);
  return asking_.count(who) != 0;
}

/// False if the answer can't be sent, which fits into the buffer of a new socket.
bool name_service::reply(connection& c) {
  {
    const std::lock_guard guard(mutex_);
    asking_.insert(c.asked.who);
  }
  c.answered = true;
  c.until = clock::now() + std::chrono::seconds(30);
  answer a{};
  std::memcpy(a.magic, answer_magic, sizeof a.magic);
  a.who = card_.who;
  a.greetings = card_.greetings;
  a.coming = coming_(c.asked.who) ? 1 : 0;
  std::memcpy(a.address, card_.address.data(), card_.address.size());
  std::memcpy(a.name, name_.data(), name_.size());
  return send(c.socket, &a, sizeof a, MSG_NOSIGNAL) == sizeof a;
}

void name_service::serve(table& connections) {
  // Returns false if the connection is to be closed: the process at its other end has closed it, or has sent something
  // that is not a request.
  const auto receive = [&](connection& c) {
    char more;
    char* const to = c.answered ? &more : reinterpret_cast<char*>(&c.asked) + c.have;
    const ssize_t n = recv(c.socket, to, c.answered ? 1 : sizeof c.asked - c.have, 0);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    if (n == 0 || c.answered) return false;
    c.have += static_cast<size_t>(n);
    if (std::memcmp(c.asked.magic, request_magic, std::min(c.have, sizeof request_magic)) != 0) return false;
    return c.have < sizeof c.asked || reply(c);
  };
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign({{stop_, POLLIN, 0}, {socket_, POLLIN, 0}});
    for (const connection& c : connections.list) polled.push_back({c.socket, POLLIN, 0});
    const bool connecting = connections.any_answered();
    const int pause = connecting ? 1 : connections.list.empty() ? -1 : 100;
    if (poll(polled.data(), polled.size(), pause) < 0 && errno != EINTR) return;
    if (polled[0].revents != 0) return;
    if (connecting) make_progress_();
    const clock::time_point now = clock::now();
    size_t i = 2;
    for (auto c = connections.list.begin(); c != connections.list.end(); ++i)
      c = (polled[i].revents != 0 && !receive(*c)) || now > c->until ? connections.end(c) : std::next(c);
    if (polled[1].revents == 0) continue;
    for (int accepted = 0; accepted < 64; ++accepted) {  // not for ever, as connections may come without end
      const int s = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (s < 0) {
        // Without descriptors the connection stays in the socket's queue, which must not keep a processor busy.
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) poll(nullptr, 0, 10);
        break;
      }
      connections.add(s);
    }
  }
}

}  // namespace na
