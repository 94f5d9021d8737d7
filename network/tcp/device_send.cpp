// What a device sends. A call to the system takes as long as copying a hundred small messages, so those that
// follow each other closely go together.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "network/tcp/device.hpp"

namespace lci::network::sockets {

namespace {

// Put together on the stack; longer ones are handed to the system in pieces.
constexpr size_t largest_put_together = 1024;
constexpr std::array<std::byte, frame_alignment> padding{};

parts parts_of(const net_op& op) {
  const segment none{};
  const segment& a = op.n_segments > 0 ? op.segments[0] : none;
  const segment& b = op.n_segments > 1 ? op.segments[1] : none;
  return {a.base, a.size, b.base, b.size};
}

/// A message as pieces of memory. The frame's head is part of it.
struct gathered {
  std::byte head[sizeof(frame_head)];
  iovec pieces[4];
  explicit gathered(const parts& m) {
    begin_frame(head, frame_kind::message, m.size());
    pieces[0] = {head, sizeof head};
    pieces[1] = {const_cast<void*>(m.head), m.head_size};
    pieces[2] = {const_cast<void*>(m.rest), m.rest_size};
    pieces[3] = {const_cast<std::byte*>(padding.data()), frame_room(m.size()) - sizeof head - m.size()};
  }
  /// All but the first `skip` bytes.
  void copy_to(chunk& to, size_t skip) const {
    for (const iovec& piece : pieces) {
      const size_t left_out = std::min(skip, piece.iov_len);
      skip -= left_out;
      if (piece.iov_len == left_out) continue;
      std::memcpy(to.free_space(), static_cast<const std::byte*>(piece.iov_base) + left_out, piece.iov_len - left_out);
      to.end += piece.iov_len - left_out;
    }
  }
};

/// Bytes written, 0: the socket takes none now; -1 with `errno`.
template <class F>
ssize_t written(F call) {
  for (;;) {
    const ssize_t n = call();
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM ? 0 : -1;
  }
}

constexpr int how = MSG_DONTWAIT | MSG_NOSIGNAL;

}  // namespace

errorcode_t device::post(const net_op& op) {
  return op.kind == verb::send ? send(op.peer, parts_of(op)) : errorcode_t::fatal;  // limits::rma is false
}

errorcode_t device::send(int peer, const parts& m) {
  connection& c = link_to(peer);
  joined done = join(c, frame_kind::message, m);
  if (LCI_UNLIKELY(done == joined::no_room)) {
    flush(c);
    done = join(c, frame_kind::message, m);
  }
  if (done == joined::alone) write_alone(c, m);
  if (done == joined::filled) flush(c);
  if (LCI_UNLIKELY(done == joined::no_room)) return errorcode_t::retry_nomem;
  return LCI_UNLIKELY(done == joined::gone) ? errorcode_t::fatal : errorcode_t::done;
}

device::joined device::join(connection& c, frame_kind kind, const parts& m) {
  const size_t room = frame_room(m.size());
  const uint64_t now = cpu_ticks();
  std::lock_guard guard(c.lock);
  if (LCI_UNLIKELY(c.is_gone())) return joined::gone;
  const bool connected = c.fd.load(std::memory_order_relaxed) >= 0;
  if (connected && kind == frame_kind::message && !more_comes_.load(std::memory_order_relaxed) &&
      c.goes_alone(now, room)) {
    c.sending = true;
    return joined::alone;
  }
  if (c.broken) return joined::no_room;
  if (c.filling == nullptr) c.filling = chunks_.take();
  chunk& to = *c.filling;
  if (to.room() < room) return joined::no_room;
  m.copy_to(begin_frame(to.free_space(), kind, m.size()));
  to.end += room;
  c.last = now;
  list(c);
  return connected && !c.sending && !c.blocked && to.size() >= row_end_ ? joined::filled : joined::waits;
}

void device::list(connection& c) {
  if (std::exchange(c.listed, true)) return;
  if (c.rank == own_rank_) {
    own_waits_.store(true, std::memory_order_seq_cst);
    // Either the sleeper sees the message before it sleeps, or we see that it sleeps.
    if (LCI_UNLIKELY(sleepers_.load(std::memory_order_seq_cst) != 0)) wake_poller(bell_.get());
    return;
  }
  {
    std::lock_guard guard(waiting_lock_);
    waiting_.push_back(&c);
    n_waiting_.store(waiting_.size(), std::memory_order_seq_cst);
  }
  context_.flusher().notice();
  // As above. Who waits, other than a progress thread, leaves it to the flusher.
  if (LCI_UNLIKELY(parked_.load(std::memory_order_seq_cst) != 0)) wake_poller(wake_.get());
}

void device::write_alone(connection& c, const parts& m) {
  const int fd = c.fd.load(std::memory_order_relaxed);
  const size_t size = frame_room(m.size());
  ssize_t n;
  if (LCI_LIKELY(size <= largest_put_together)) {
    alignas(frame_alignment) std::byte bytes[largest_put_together];
    m.copy_to(begin_frame(bytes, frame_kind::message, m.size()));
    n = written([&] { return ::send(fd, bytes, size, how); });
  } else {
    gathered g(m);
    msghdr message{};
    message.msg_iov = g.pieces;
    message.msg_iovlen = 4;
    n = written([&] { return sendmsg(fd, &message, how); });
  }
  const bool whole = LCI_LIKELY(n == static_cast<ssize_t>(size));
  if (LCI_UNLIKELY(!whole && n >= 0)) {
    c.rest = chunks_.take();
    gathered(m).copy_to(*c.rest, static_cast<size_t>(n));
  }
  std::lock_guard guard(c.lock);
  c.sending = false;
  c.last = cpu_ticks();
  if (LCI_LIKELY(whole)) return;
  c.broken = n < 0;
  c.blocked = n >= 0;
  list(c);
}

void device::flush(connection& c) {
  if (c.fd.load(std::memory_order_acquire) < 0 && !c.is_gone()) return;
  {
    std::lock_guard guard(c.lock);
    if (c.sending) return;
    c.sending = true;
  }
  for (bool blocked = false;;) {
    std::unique_ptr<chunk> dropped_filling, dropped_rest;
    {
      std::lock_guard guard(c.lock);
      if (c.broken || c.is_gone()) {
        dropped_filling = std::move(c.filling);
        dropped_rest = std::move(c.rest);
      }
      if (c.rest == nullptr) c.rest = std::move(c.filling);
      if (c.rest == nullptr || blocked) {
        c.blocked = c.rest != nullptr;
        c.sending = false;
        c.last = cpu_ticks();
        if (LCI_UNLIKELY(c.watched && !c.blocked)) {
          c.watched = false;
          epoll_event e{};
          e.events = EPOLLIN;
          e.data.u64 = static_cast<uint32_t>(c.rank);
          epoll_ctl(events_.get(), EPOLL_CTL_MOD, c.fd.load(std::memory_order_relaxed), &e);
        }
        return;
      }
    }
    blocked = !write_rest(c);
  }
}

bool device::write_rest(connection& c) {
  chunk& rest = *c.rest;
  const int fd = c.fd.load(std::memory_order_relaxed);
  const ssize_t n = written([&] { return ::send(fd, rest.data(), rest.size(), how); });
  if (n < 0) {
    std::lock_guard guard(c.lock);
    c.broken = true;
    return true;  // all is dropped
  }
  rest.begin += static_cast<size_t>(n);
  if (!rest.empty()) return false;
  chunks_.give(std::move(c.rest));
  return true;
}

void device::flush_listed() {
  std::vector<connection*> listed;
  {
    std::lock_guard guard(waiting_lock_);
    listed.swap(waiting_);
  }
  std::vector<connection*> left;
  for (connection* c : listed) {
    flush(*c);
    std::lock_guard guard(c->lock);
    c->listed = c->sending || c->filling != nullptr || c->rest != nullptr;
    if (c->listed) left.push_back(c);
  }
  std::lock_guard guard(waiting_lock_);
  waiting_.insert(waiting_.end(), left.begin(), left.end());
  n_waiting_.store(waiting_.size(), std::memory_order_relaxed);
}

bool device::flush_if_unattended() {
  if (!attended_.exchange(false, std::memory_order_relaxed) && n_waiting_.load(std::memory_order_relaxed) != 0) {
    // What waits may wait for a connection, too.
    std::array<epoll_event, 16> events;
    const int n = epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < n; ++i)
      if (const uint64_t mark = events[static_cast<size_t>(i)].data.u64; handshakes::is_ours(mark)) handshakes_->handle(mark);
    flush_all();
  }
  return n_waiting_.load(std::memory_order_relaxed) != 0;
}

}  // namespace lci::network::sockets
