// Sending. A system call takes as long as copying a hundred small messages, so messages in close succession are
// bundled.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <list>
#include <new>
#include <utility>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/race_detector.hpp"
#include "lib/base/ticks.hpp"
#include "network/tcp/device.hpp"

namespace lci::network::sockets {

namespace {

// Up to this size messages are assembled on the stack; longer ones are passed to the system in pieces.
constexpr size_t largest_put_together = 1024;
constexpr std::array<std::byte, frame_alignment> padding{};
// Bytes of content that one call writes. A longer call saves little, and during it the socket can't take the receiver's
// acknowledgements.
constexpr size_t most_at_once = 1 << 20;

}  // namespace

/// A message as pieces of memory, including the frame's head.
struct gathered {
  std::byte head[sizeof(frame_head)];
  iovec pieces[4];
  gathered(frame_kind kind, const parts& m) {
    put_frame_head(head, kind, m.size());
    pieces[0] = {head, sizeof head};
    pieces[1] = {const_cast<void*>(m.head), m.head_size};
    pieces[2] = {const_cast<void*>(m.rest), m.rest_size};
    pieces[3] = {const_cast<std::byte*>(padding.data()), frame_room(m.size()) - sizeof head - m.size()};
  }
  /// All but the first `skip` bytes. Returns the number of pieces.
  size_t pieces_after(size_t skip, std::array<iovec, 4>& to) const {
    size_t n = 0;
    for (const iovec& piece : pieces) {
      const size_t left_out = std::min(skip, piece.iov_len);
      skip -= left_out;
      if (piece.iov_len == left_out) continue;
      to[n++] = {static_cast<std::byte*>(piece.iov_base) + left_out, piece.iov_len - left_out};
    }
    return n;
  }
  /// Copies all but the first `skip` bytes.
  void copy_to(chunk& to, size_t skip) const {
    std::array<iovec, 4> rest;
    const size_t n = pieces_after(skip, rest);
    for (size_t i = 0; i < n; ++i) {
      copy_bytes(to.free_space(), static_cast<const std::byte*>(rest[i].iov_base), rest[i].iov_len);
      to.end += rest[i].iov_len;
    }
  }
};

namespace {

/// Returns the bytes written, 0 if the socket is full, -1 with `errno`.
template <class F>
ssize_t bytes_of(F call) {
  for (;;) {
    const ssize_t n = call();
    if (n >= 0) return n;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK || lacks_memory(errno) ? 0 : -1;
  }
}

constexpr int how = MSG_DONTWAIT | MSG_NOSIGNAL;

/// The same for sendmsg(), whose pieces may be memory of the program.
ssize_t send_pieces(int fd, const msghdr& message) {
  const auto for_each = [&](auto see) {
    for (size_t i = 0; i < message.msg_iovlen; ++i) see(message.msg_iov[i].iov_base, message.msg_iov[i].iov_len);
  };
  return reading_before(for_each, [&] { return bytes_of([&] { return sendmsg(fd, &message, how); }); });
}

}  // namespace

errorcode_t device::post(const net_op& op) {
  if (LCI_LIKELY(op.kind == verb::send)) return send(op.peer, frame_kind::message, parts::of(op));
  return op.kind == verb::put ? put(op) : get(op);
}

errorcode_t device::send(int peer, frame_kind kind, const parts& m, const request* asked) {
  connection& c = link_to(peer);
  joined done = join(c, kind, m, asked);
  if (LCI_UNLIKELY(done == joined::no_room)) {
    flush(c);
    done = join(c, kind, m, asked);
  }
  if (done == joined::alone && !write_alone(c, kind, m, asked)) return errorcode_t::retry_nomem;
  if (done == joined::filled) flush(c);
  if (LCI_UNLIKELY(done == joined::no_room)) return errorcode_t::retry_nomem;
  return LCI_UNLIKELY(done == joined::gone) ? errorcode_t::fatal : errorcode_t::done;
}

device::joined device::join(connection& c, frame_kind kind, const parts& m, const request* asked) {
  const size_t room = frame_room(m.size());
  const uint64_t now = cpu_ticks();
  std::lock_guard guard(c.lock);
  if (LCI_UNLIKELY(c.is_gone())) return joined::gone;
  // Nothing may follow a close notification: to the peer, this device has ended.
  if (LCI_UNLIKELY(c.close_sent.load(std::memory_order_relaxed))) return joined::gone;
  if (LCI_UNLIKELY(asked != nullptr && c.asked.size() >= connection::most_asked)) return joined::no_room;
  const bool connected = c.fd.load(std::memory_order_relaxed) >= 0;
  if (connected && kind != frame_kind::close && !more_comes_.load(std::memory_order_relaxed) &&
      c.goes_alone(now, room)) {
    if (LCI_UNLIKELY(asked != nullptr)) c.asked.push_back(*asked);
    c.sending = true;
    return joined::alone;
  }
  if (c.broken) return joined::no_room;
  chunk* open = c.open_chunk();
  if (LCI_UNLIKELY(open == nullptr)) {
    if (c.waiting.size() >= connection::most_waiting) return joined::no_room;
    // Without memory as without room: a post returns `retry`.
    if (!append_chunk(c.waiting, chunks_)) return joined::no_room;
    open = c.waiting.back().copied.get();
  }
  chunk& to = *open;
  if (to.room() < room) return joined::no_room;
  if (LCI_UNLIKELY(asked != nullptr)) c.asked.push_back(*asked);
  m.copy_to(begin_frame(to.free_space(), kind, m.size()));
  to.end += room;
  c.series.last = now;
  list(c);
  return connected && !c.sending && !c.blocked && to.size() >= row_end_ ? joined::filled : joined::waits;
}

void device::list(connection& c) {
  if (c.listed) return;
  if (c.rank == own_rank_) {
    c.listed = true;
    own_waits_.store(true, std::memory_order_seq_cst);
    // Either the sleeper sees the message before it sleeps, or this thread sees that it sleeps.
    if (LCI_UNLIKELY(has_sleepers())) self_.set();
    return;
  }
  waiting_.add(&c);
  c.listed = true;
  context_.flusher().notice();
  wake_if_parked();  // for sleepers other than progress threads the flusher sends it
}

bool device::write_alone(connection& c, frame_kind kind, const parts& m, const request* asked) {
  const int fd = c.fd.load(std::memory_order_relaxed);
  const size_t size = frame_room(m.size());
  ssize_t n;
  if (LCI_LIKELY(size <= largest_put_together)) {
    alignas(frame_alignment) std::byte bytes[largest_put_together];
    m.copy_to(begin_frame(bytes, kind, m.size()));
    n = bytes_of([&] { return ::send(fd, bytes, size, how); });
  } else {
    gathered g(kind, m);
    msghdr message{};
    message.msg_iov = g.pieces;
    message.msg_iovlen = 4;
    n = send_pieces(fd, message);
  }
  int error = LCI_UNLIKELY(n < 0) ? errno : 0;
  if (LCI_LIKELY(n == static_cast<ssize_t>(size))) {
    end_alone(c);
    return true;
  }
  std::list<outgoing> rest;
  size_t done = n > 0 ? static_cast<size_t>(n) : 0;
  if (error == 0) error = keep_rest(fd, gathered(kind, m), size, done, rest);
  if (error == ENOMEM && done == 0) {
    take_back(c, asked);
    return false;
  }
  end_alone(c, rest, error);  // without memory after a part was written, the peer can't find the next frame
  return true;
}

int device::keep_rest(int fd, const gathered& m, size_t size, size_t& done, std::list<outgoing>& rest) {
  for (int tries = 1; done < size; ++tries) {
    if (append_chunk(rest, chunks_)) {
      m.copy_to(*rest.back().copied, done);
      return 0;
    }
    if (tries == memory_tries) return ENOMEM;
    await_memory();  // meanwhile the socket may take more
    std::array<iovec, 4> pieces;
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = m.pieces_after(done, pieces);
    const ssize_t n = send_pieces(fd, message);
    if (n < 0) return errno;
    done += static_cast<size_t>(n);
  }
  return 0;
}

void device::take_back(connection& c, const request* asked) {
  std::lock_guard guard(c.lock);
  c.sending = false;
  if (asked == nullptr) return;
  // Later posts have added theirs behind it.
  const auto is_it = [&](const request& r) { return r.context == asked->context; };
  c.asked.erase(std::find_if(c.asked.begin(), c.asked.end(), is_it));
}

// Not every socket error ends the connection; shutdown() makes the readers on both ends notice it.
void device::break_off(connection& c, int error) {
  c.broken = true;
  c.broken_by = error;
  shutdown(c.fd.load(std::memory_order_relaxed), SHUT_RDWR);
}

void device::end_alone(connection& c) {
  std::lock_guard guard(c.lock);
  c.sending = false;
  c.series.last = cpu_ticks();
}

void device::end_alone(connection& c, std::list<outgoing>& rest, int error) {
  std::lock_guard guard(c.lock);
  c.sending = false;
  c.series.last = cpu_ticks();
  if (LCI_UNLIKELY(error != 0)) break_off(c, error);
  c.blocked = error == 0;
  c.waiting.splice(c.waiting.begin(), rest);
  list(c);
}

void device::flush(connection& c) {
  if (c.fd.load(std::memory_order_acquire) < 0 && !c.is_gone()) return;
  {
    std::lock_guard guard(c.lock);
    if (c.sending) return;
    c.sending = true;
  }
  int error = 0;
  for (written so_far = written::nothing;;) {
    batch next;
    std::list<outgoing> gone, dropped;
    {
      std::lock_guard guard(c.lock);
      if (LCI_UNLIKELY(so_far == written::broken)) break_off(c, error);
      c.first_is_taken = false;
      if (so_far != written::nothing)
        while (!c.waiting.empty() && c.waiting.front().is_written())
          gone.splice(gone.end(), c.waiting, c.waiting.begin());
      if (c.broken || c.is_gone())
        dropped.swap(c.waiting);
      else if (!c.waiting.empty() && so_far != written::partly)
        next = batch(c.waiting);
      if (!next.empty())
        c.first_is_taken = true;
      else
        end_turn(c);
    }
    for (outgoing& o : gone) {
      chunks_.give(std::move(o.copied));
      if (LCI_UNLIKELY(o.content.context() != nullptr)) report_later(completed_, o.content.context());
    }
    if (LCI_UNLIKELY(!dropped.empty())) drop(c, dropped);
    if (next.empty()) return;
    so_far = write(c, next);
    if (LCI_UNLIKELY(so_far == written::broken)) error = errno;
  }
}

void device::end_turn(connection& c) {
  c.blocked = !c.waiting.empty();
  c.sending = false;
  c.series.last = cpu_ticks();
  if (LCI_LIKELY(!c.watched || c.blocked)) return;
  c.watched = false;
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.u64 = static_cast<uint32_t>(c.rank);
  epoll_ctl(events_.get(), EPOLL_CTL_MOD, c.fd.load(std::memory_order_relaxed), &e);
}

device::written device::write(connection& c, batch& next) {
  const int fd = c.fd.load(std::memory_order_relaxed);
  if (chunk* const bytes = next.copied()) {
    const ssize_t n = bytes_of([&] { return ::send(fd, bytes->data(), bytes->size(), how); });
    if (n < 0) return written::broken;
    bytes->begin += static_cast<size_t>(n);
    return bytes->empty() ? written::whole : written::partly;
  }
  batch::piece_list pieces;
  for (;;) {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = next.gather(pieces, most_at_once);
    size_t asked = 0;
    for (size_t i = 0; i < message.msg_iovlen; ++i) asked += pieces[i].iov_len;
    const ssize_t n = send_pieces(fd, message);
    if (n < 0) return written::broken;
    next.advance(static_cast<size_t>(n));
    if (next.is_written()) return written::whole;
    if (static_cast<size_t>(n) < asked) return written::partly;
  }
}

void device::flush_listed() {
  waiting_.flush([this](connection* c) {
    flush(*c);
    std::lock_guard guard(c->lock);
    c->listed = c->sending || !c->waiting.empty();
    return c->listed;
  });
}

bool device::flush_if_unpolled() {
  if (!was_polled() && waiting_.any()) {
    // Waiting messages may also wait for a connection.
    std::array<epoll_event, 16> events;
    const int n = epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int i = 0; i < n; ++i)
      if (const uint64_t mark = events[static_cast<size_t>(i)].data.u64; handshakes::is_ours(mark))
        handshakes_->handle(mark);
    handshakes_->handle_due();
    flush_all();
  }
  return waiting_.any();
}

}  // namespace lci::network::sockets
