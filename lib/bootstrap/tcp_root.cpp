#include "lib/bootstrap/tcp_root.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/quiet_thread.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"

namespace lci::network::tcp {

namespace {

// A connection that has not completed its join within this time is closed.
constexpr auto join_time = std::chrono::seconds(10);
// Limit of connections that have not joined: they must not exhaust our descriptors.
constexpr size_t max_unauthenticated = 128;
// The most connections that are accepted before the bytes of earlier ones are read. make_room() spares ranks whose
// request to join was read, so a rank's request must be read before many others are accepted.
constexpr int accepted_at_once = 32;
// A rank joins faster than this. A connection that has not is closed if its descriptor is needed for another.
constexpr auto usual_join_time = std::chrono::seconds(1);
// Limit of bytes queued for a rank that does not read; the largest answer is that of one get_all.
constexpr size_t max_waiting = size_t{1} << 30;

/// Makes the root wait for events of `fd`. Returns false, with `errno` set, if the kernel has no memory for that, or
/// the user has too many watches.
bool add(int events, int fd) {
  epoll_event e{};
  e.events = EPOLLIN | EPOLLRDHUP;
  e.data.fd = fd;
  for (int tries = 1; epoll_ctl(events, EPOLL_CTL_ADD, fd, &e) != 0; ++tries) {
    if (tries == memory_tries) return false;
    await_memory();
  }
  return true;
}

}  // namespace

root::root(socket_fd listener, socket_fd own, int size, const job_key& key)
    : size_(size),
      key_(key),
      job_id_("tcp_" + hex(make_nonce(12))),
      listener_(std::move(listener)),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      ranks_(static_cast<size_t>(size)),
      has_left_(static_cast<size_t>(size)) {
  if (events_.get() < 0 || wake_.get() < 0) {
    throw bootstrap_error(std::string("tcp bootstrap: ") + strerror(errno) + "; raise `ulimit -n`");
  }
  const auto watch = [this](int fd) {
    if (!add(events_.get(), fd))
      throw bootstrap_error(std::string("tcp bootstrap: can't wait for ranks: ") + strerror(errno) +
                            "; raise /proc/sys/fs/epoll/max_user_watches");
  };
  watch(wake_.get());
  watch(listener_.get());
  auto m = std::make_unique<member>();
  m->from = "its own process";
  m->claimed_rank = 0;
  m->fd = std::move(own);
  watch(m->fd.get());
  member& self = *m;
  members_[m->fd.get()] = std::move(m);
  admit(self);
  thread_ = quiet_thread("lci-tcp-root", [this] { serve(); });
}

root::~root() {
  stopping_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void root::serve() {
  try {
    serve_until_stopped();
  } catch (const std::bad_alloc&) {
    // No rank may wait for an answer that this thread can't give: without a connection all of them throw.
    log_warning("the root of a tcp bootstrap has no memory, and closes the connections of all ranks");
    members_.clear();
    listener_ = socket_fd();
  }
}

void root::serve_until_stopped() {
  bool listening = true;
  clock::time_point end{};
  for (;;) {
    if (stopping_.load(std::memory_order_acquire)) {
      if (listening) {
        epoll_ctl(events_.get(), EPOLL_CTL_DEL, listener_.get(), nullptr);
        listener_ = socket_fd();  // frees the port for the next job
        const auto longest = std::chrono::duration<double>(std::min(close_timeout_, 1e9));  // more would overflow
        end = clock::now() + std::chrono::duration_cast<clock::duration>(longest);
        listening = false;
      }
      const bool any = std::any_of(ranks_.begin(), ranks_.end(), [](member* m) { return m != nullptr; });
      if (!any || (close_timeout_ > 0 && clock::now() >= end)) return;
    }
    epoll_event events[64];
    const int n = epoll_wait(events_.get(), events, 64, next_wait_ms());
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_.get()) {
        uint64_t count = 0;
        [[maybe_unused]] const ssize_t got = read(fd, &count, sizeof count);
      } else if (fd == listener_.get()) {
        accept_all();
      } else if (const auto it = members_.find(fd); it != members_.end() && !it->second->closing) {
        attend(*it->second, events[i].events);
      }
    }
    check_deadlines();
    close_forgotten();
  }
}

void root::close_forgotten() {
  for (const int fd : forgotten_) members_.erase(fd);
  forgotten_.clear();
}

int root::next_wait_ms() const {
  if (stopping_.load(std::memory_order_acquire)) return 50;
  const bool unauthenticated =
      static_cast<long>(members_.size()) > size_ - std::count(ranks_.begin(), ranks_.end(), nullptr);
  if (n_waiting_ == 0) return unauthenticated ? 1000 : -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(fence_end_ - clock::now()).count() + 1;
  return static_cast<int>(std::clamp<long>(left, 0, 1000));
}

void root::wait_if_short(int error) {
  const bool of_descriptors = error == EMFILE || error == ENFILE;
  if (!of_descriptors && !lacks_memory(error)) return;
  // Without a free descriptor accept() fails even if no connection waits.
  pollfd waiting{listener_.get(), POLLIN, 0};
  if (of_descriptors && poll(&waiting, 1, 0) <= 0) return;
  if (of_descriptors && make_room(usual_join_time)) return;
  if (of_descriptors && !has_warned_) {
    has_warned_ = true;
    log_warning("tcp bootstrap: no descriptor is left for the connection of a rank; raise `ulimit -n`");
  }
  await_memory();
}

bool root::make_room(clock::duration waited) {
  member* oldest = nullptr;
  const auto latest = clock::now() + join_time - waited;
  for (auto& [fd, m] : members_) {
    if (m->rank >= 0 || m->closing || m->join_end > latest) continue;
    // Those that have sent a request to join come last.
    if (oldest == nullptr || std::pair(m->challenged, m->join_end) < std::pair(oldest->challenged, oldest->join_end))
      oldest = m.get();
  }
  if (oldest == nullptr) return false;
  turn_away(*oldest, "it did not join, and others needed its place");
  close_forgotten();
  return true;
}

void root::accept_all() {
  for (int n = 0; n < accepted_at_once; ++n) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    socket_fd fd(
        accept4(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.get() < 0) return wait_if_short(errno);
    if (members_.size() >= static_cast<size_t>(size_) + max_unauthenticated) make_room(clock::duration::zero());
    const int one = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    const int number = fd.get();
    member& m = insist_on_memory([&]() -> member& {
      auto made = std::make_unique<member>();
      made->from = address_text(address);
      return *members_.emplace(number, std::move(made)).first->second;
    });
    m.join_end = clock::now() + join_time;
    m.fd = std::move(fd);
    if (!add(events_.get(), number)) turn_away(m, std::string("it could not be watched: ") + strerror(errno));
  }
}

void root::attend(member& m, uint32_t events) {
  if ((events & EPOLLOUT) != 0) send(m, kind::welcome, {});  // continues with queued bytes
  char bytes[65536];
  for (;;) {
    const ssize_t n = recv(m.fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0 && lacks_memory(errno)) return await_memory();  // the socket stays ready
    if (n <= 0) return forget(m);
    insist_on_memory([&] { m.in.append(bytes, static_cast<size_t>(n)); });
    frame f;
    for (;;) {
      const auto state = insist_on_memory([&] { return m.in.next(f, m.rank < 0 ? max_join_body : max_body); });
      if (state == frame_buffer::state::partial) break;
      if (state == frame_buffer::state::garbage) return garbage(m, "bytes that are no frame");
      handle(m, f);
      if (m.closing) return;
    }
  }
}

void root::send(member& m, kind what, const std::string& body) {
  // An empty welcome is no message: it only continues with queued bytes.
  if (what != kind::welcome || !body.empty()) insist_on_memory([&] { m.out += encode(what, body); });
  size_t done = 0;
  while (done < m.out.size()) {
    const ssize_t n = ::send(m.fd.get(), m.out.data() + done, m.out.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  m.out.erase(0, done);
  if (m.out.size() > max_waiting) return forget(m);
  if (m.out.empty() == !m.wants_out) return;
  m.wants_out = !m.out.empty();
  epoll_event e{};
  e.events = EPOLLIN | EPOLLRDHUP | (m.wants_out ? uint32_t{EPOLLOUT} : 0u);
  e.data.fd = m.fd.get();
  epoll_ctl(events_.get(), EPOLL_CTL_MOD, m.fd.get(), &e);
}

void root::forget(member& m) {
  if (m.closing) return;
  m.closing = true;
  forgotten_.push_back(m.fd.get());
  if (m.rank < 0) {
    // turn_away() has counted its rejections. A peer that closes by itself has rejected our proof, or is no rank.
    if (!m.turned_away) count_rejected(m, "it went before it had joined");
    return;
  }
  const auto r = static_cast<size_t>(m.rank);
  ranks_[r] = nullptr;
  has_left_[r] = true;
  if (m.in_fence) --n_waiting_;
  const std::string how = m.has_closed ? " has ended" : " has died or lost its connection";
  if (failure_.empty()) {
    failure_ = "rank " + std::to_string(m.rank) + " of " + std::to_string(size_) + " (" + m.from + ")" + how;
  }
  if (n_waiting_ > 0) fail_fence(failure_);
}

void root::count_rejected(const member& m, const std::string& why) {
  ++n_rejected_;
  last_rejected_ = m.from + ": " + why;
}

void root::garbage(member& m, const std::string& what) {
  if (m.rank < 0) {
    turn_away(m, "it sent " + what);
    return;
  }
  failure_ = "rank " + std::to_string(m.rank) + " (" + m.from + ") sent " + what;
  forget(m);
}

void root::check_deadlines() {
  const auto now = clock::now();
  for (auto& [fd, m] : members_) {
    if (m->rank < 0 && !m->closing && now >= m->join_end) turn_away(*m, "it did not join in time");
  }
  if (n_waiting_ > 0 && now >= fence_end_) fail_fence(missing_text());
}

std::string root::missing_text() const {
  std::vector<int> absent, late;
  for (int r = 0; r < size_; ++r) {
    const member* m = ranks_[static_cast<size_t>(r)];
    if (m == nullptr) {
      absent.push_back(r);
    } else if (!m->in_fence) {
      late.push_back(r);
    }
  }
  std::string text;
  if (!absent.empty()) text = list_ranks(absent) + " never joined";
  if (!late.empty()) {
    text += (text.empty() ? "" : "; ") + list_ranks(late) + " joined, but did not come to the fence";
  }
  text = "of " + std::to_string(size_) + " ranks, " + text;
  if (n_rejected_ > 0) {
    text += " (" + std::to_string(n_rejected_) + " connections were rejected, the last from " + last_rejected_ + ")";
  }
  return text;
}

}  // namespace lci::network::tcp
