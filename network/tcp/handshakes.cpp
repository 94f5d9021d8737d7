#include "network/tcp/handshakes.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "network/common/errno_text.hpp"

namespace lci::network::sockets {

namespace {

constexpr std::chrono::seconds hello_timeout{10};
// A peer says its hello sooner. A connection without one is closed if its descriptor is needed for another.
constexpr std::chrono::seconds usual_hello_time{1};
// How long an attempt that was dropped for the peer's own waits for that one, which was in flight.
constexpr std::chrono::seconds crossed_connection_timeout{30};
// Before the first of several tries to connect. What is missing is usually there again soon; each further pause is
// twice as long, up to pause_before_next_try.
constexpr std::chrono::milliseconds first_pause{5};
// How often a peer may close a connection without a reply, if no timeout is set: those tries take some 700 ms.
constexpr int most_dropped = 8;
// A peer that lacks descriptors or memory usually drops connections for no longer than this.
constexpr std::chrono::milliseconds longest_refusal{2000};
// Allowance for connections that do not authenticate; all ranks may connect at once.
constexpr size_t spare_inbound = 64;

enum class received { whole, not_yet, end, broken };

/// Receives a text of `size` bytes, and never reads more.
received receive_text(int fd, std::string& text, size_t size) {
  char bytes[64];
  text.reserve(size);  // before bytes are taken from the socket, which could not be stored
  while (text.size() < size) {
    const ssize_t n = recv(fd, bytes, std::min(sizeof bytes, size - text.size()), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || lacks_memory(errno))) return received::not_yet;
    if (n <= 0) return n == 0 ? received::end : received::broken;
    text.append(bytes, static_cast<size_t>(n));
  }
  return received::whole;
}

/// A new socket's buffer always has space for so few bytes.
bool send_text(int fd, const std::string& text) {
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(text.size());
}

}  // namespace

handshakes::handshakes(connection_owner& owner, int own_rank, int n_ranks, const sockaddr_storage& at, int events,
                       std::chrono::milliseconds timeout)
    : owner_(owner), own_rank_(own_rank), n_ranks_(n_ranks), events_(events), timeout_(timeout) {
  own_.address = at;
  own_.request_secret = new_secret();
  own_.answer = new_secret();
  listener_ = listen_at(own_.address, std::clamp(n_ranks, 16, 4096));
  if (listener_.get() < 0)
    throw resource_error("tcp: can't listen at " + text_of(at) + ": " + errno_text(errno) +
                         "; LCI_ATTR_DEVICE_NAME names another interface");
  if (!watch(listener_.get(), EPOLLIN, listener_mark, EPOLL_CTL_ADD))
    throw resource_error("tcp: can't wait for peers to connect: " + errno_text(errno) +
                         "; raise /proc/sys/fs/epoll/max_user_watches");
}

bool handshakes::watch(int fd, uint32_t events, uint64_t mark, int operation) {
  epoll_event e{};
  e.events = events;
  e.data.u64 = mark;
  return epoll_ctl(events_, operation, fd, &e) == 0;
}

void handshakes::begin(int rank, const endpoint& to) {
  std::lock_guard guard(mutex_);
  if (owner_.has_decided(rank) || attempts_.count(rank) != 0) return;  // the peer connected first
  attempt& a = attempts_[rank];
  a.to = to;
  a.since = clock::now();
  try {
    try_to_connect(rank);
  } catch (const std::bad_alloc&) {
    attempts_.erase(rank);  // the caller tries again
    throw;
  }
}

void handshakes::try_to_connect(int rank) {
  attempt& a = attempts_[rank];
  // Without keepalive, which would also end a connection whose peer computes and does not read.
  a.socket = begin_to_connect(a.to.address, std::chrono::milliseconds(0));
  if (a.socket.get() < 0) return try_later(rank, errno);
  if (!watch(a.socket.get(), EPOLLOUT, attempt_mark | static_cast<uint32_t>(rank), EPOLL_CTL_ADD))
    return try_later(rank, errno);
  a.trouble.clear();  // last: without memory for a new text, the old one says that the attempt is to be repeated
}

bool handshakes::takes_listeners_descriptor(int error) {
  if (!closing_ || (error != EMFILE && error != ENFILE) || listener_.get() < 0) return false;
  listener_ = {};
  accept_again_ = {};
  return true;
}

void handshakes::begin_to_close() {
  const std::lock_guard guard(mutex_);
  if (std::exchange(closing_, true)) return;
  for (auto& [rank, a] : attempts_) a.again = {};  // at once: the device does not wait for long
}

void handshakes::try_later(int rank, int error) {
  if (takes_listeners_descriptor(error)) return try_to_connect(rank);
  if (error == ECONNREFUSED) return give_up_closed(rank, errno_text(error));
  if (!lacks_resources(error) && (!may_pass(error) || timeout_.count() == 0)) return give_up(rank, errno_text(error));
  if (lacks_resources(error) && !std::exchange(warned_of_connecting_, true))
    log_warning("tcp: can't connect to rank " + std::to_string(rank) + " yet: " + errno_text(error));
  schedule(attempts_[rank], errno_text(error));
}

void handshakes::schedule(attempt& a, std::string trouble) {
  a.trouble = std::move(trouble);
  a.socket = socket_handle();
  a.connected = false;
  a.bytes.clear();
  a.pause = std::clamp<clock::duration>(2 * a.pause, first_pause, pause_before_next_try);
  a.again = clock::now() + a.pause;
}

void handshakes::try_again(int rank, const char* what) {
  attempt& a = attempts_[rank];
  // The peer may have accepted that connection, and then sees us as failed; unless it only lacked resources for a
  // moment.
  if (a.may_have_served && clock::now() - a.since > longest_refusal)
    return give_up(rank, "the connection broke during its reply, and it accepts no other");
  // If a timeout is set, handle_due() applies it.
  if (++a.n_dropped > most_dropped && timeout_.count() == 0) return give_up(rank, what);
  schedule(a, what);
}

bool handshakes::handle(uint64_t mark) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const int which = static_cast<int>(mark & 0xffffffff);
  if (mark == listener_mark)
    accept_all();
  else if (mark >> 32 == inbound_mark >> 32)
    read_hello(which);
  else
    advance(which);
  return true;
}

void handshakes::accept_all() {
  for (;;) {
    socket_handle s(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int fd = s.get();
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) pause_accepting(errno);
      return;
    }
    // A peer sends its hello at once, so the connection that has waited longest is least likely a peer's.
    if (inbound_.size() >= static_cast<size_t>(n_ranks_) + spare_inbound) inbound_.erase(oldest_inbound());
    prepare_for_messages(fd);
    // A peer whose connection is dropped tries again.
    if (!watch(fd, EPOLLIN | EPOLLRDHUP, inbound_mark | static_cast<uint32_t>(fd), EPOLL_CTL_ADD)) continue;
    inbound_.emplace(fd, inbound{std::move(s), {}, clock::now()});
    read_hello(fd);  // its hello may have arrived
  }
}

std::unordered_map<int, handshakes::inbound>::iterator handshakes::oldest_inbound() {
  return std::min_element(inbound_.begin(), inbound_.end(),
                          [](const auto& a, const auto& b) { return a.second.since < b.second.since; });
}

void handshakes::pause_accepting(int error) {
  if (!has_waiting(listener_)) return;
  if (!inbound_.empty() && clock::now() - oldest_inbound()->second.since > usual_hello_time) {
    inbound_.erase(oldest_inbound());
    return;
  }
  epoll_ctl(events_, EPOLL_CTL_DEL, listener_.get(), nullptr);
  accept_again_ = clock::now() + pause_before_next_try;
  if (!std::exchange(warned_, true)) log_warning("tcp: can't accept a peer's connection: " + errno_text(error));
}

void handshakes::read_hello(int fd) {
  const auto it = inbound_.find(fd);
  if (it == inbound_.end()) return;
  const received so_far = receive_text(fd, it->second.bytes, hello_size);
  if (so_far == received::not_yet) return;
  inbound who = std::move(it->second);
  inbound_.erase(it);
  hello h;
  if (so_far != received::whole || !decode(who.bytes, h) || !equal(h.request_secret, own_.request_secret)) return;
  if (h.rank < 0 || h.rank >= n_ranks_ || h.rank == own_rank_) return;
  answer(who, h);
}

void handshakes::answer(inbound& who, const hello& h) {
  reply r;
  r.answer = own_.answer;
  // The peer's attempt came too late, and it will see ours; or it connects twice, which no device does.
  if (owner_.has_decided(h.rank)) return;
  const auto mine = attempts_.find(h.rank);
  const bool crossed = mine != attempts_.end() && mine->second.socket.get() >= 0 && own_rank_ < h.rank;
  r.what = crossed ? reply::verdict::crossed : reply::verdict::accepted;
  const bool sent = send_text(who.socket.get(), encode(r));
  if (crossed || !sent) return;
  if (mine != attempts_.end()) attempts_.erase(mine);
  owner_.on_connected(h.rank, std::move(who.socket));
}

void handshakes::advance(int rank) {
  const auto it = attempts_.find(rank);
  if (it == attempts_.end() || it->second.socket.get() < 0) return;
  attempt& a = it->second;
  const int fd = a.socket.get();
  if (!a.connected) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    // The peer closed its listener before it accepted the connection, or was short of resources; the next try tells.
    if (error == ECONNRESET) return try_again(rank, "it has closed the connection before the hello");
    if (error != 0) return try_later(rank, error);
    prepare_for_messages(fd);
    hello h;
    h.request_secret = a.to.request_secret;
    h.rank = own_rank_;
    if (!send_text(fd, encode(h))) return try_again(rank, "sending the hello failed");
    a.connected = true;
    // The socket is watched already; a change of the events can't fail for lack of resources.
    (void)watch(fd, EPOLLIN | EPOLLRDHUP, attempt_mark | static_cast<uint32_t>(rank), EPOLL_CTL_MOD);
    return;
  }
  const received so_far = receive_text(fd, a.bytes, reply_size);
  if (so_far == received::not_yet) return;
  if (so_far == received::broken) a.may_have_served = true;
  if (so_far != received::whole) return try_again(rank, "it has closed the connection without a reply");
  reply r;
  if (!decode(a.bytes, r) || !equal(r.answer, a.to.answer))
    return give_up_closed(rank, "another program listens there");
  if (r.what == reply::verdict::crossed) {
    if (own_rank_ < rank) return give_up(rank, "it refers to another connection, which does not exist");
    a.socket = socket_handle();
    a.since = clock::now();
    return;
  }
  socket_handle socket = std::move(a.socket);
  attempts_.erase(it);
  owner_.on_connected(rank, std::move(socket));
}

std::string handshakes::end_attempt(int rank, const std::string& reason) {
  std::string text = "no connection with it at " + text_of(attempts_[rank].to.address) + ": " + reason;
  attempts_.erase(rank);  // last: without memory for the text it goes on
  return text;
}

void handshakes::give_up(int rank, const std::string& reason) {
  owner_.on_unreachable(rank, end_attempt(rank, reason));
}

void handshakes::give_up_closed(int rank, const std::string& reason) {
  owner_.on_closed(rank, end_attempt(rank, reason));
}

void handshakes::handle_due() {
  const std::lock_guard guard(mutex_);
  const auto now = clock::now();
  if (accept_again_ != clock::time_point{} && now >= accept_again_ &&
      watch(listener_.get(), EPOLLIN, listener_mark, EPOLL_CTL_ADD))
    accept_again_ = {};
  for (auto it = inbound_.begin(); it != inbound_.end();)
    it = now - it->second.since > hello_timeout ? inbound_.erase(it) : std::next(it);
  std::vector<int> again, due;
  for (const auto& [rank, a] : attempts_) {
    const bool troubled = !a.trouble.empty();
    const bool makes_way = a.socket.get() < 0 && !troubled;
    const bool lost = makes_way && now - a.since > crossed_connection_timeout;
    const bool late = !makes_way && !a.connected && timeout_.count() > 0 && now - a.since > timeout_;
    if (lost || late)
      due.push_back(rank);
    else if (troubled && now >= a.again)
      again.push_back(rank);
  }
  for (const int rank : due) {
    const std::string trouble = attempts_[rank].trouble;
    give_up(rank, trouble.empty() ? "it does not answer" : trouble);
  }
  for (const int rank : again) try_to_connect(rank);
}

}  // namespace lci::network::sockets
