// Polling: messages and failures.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "lib/base/insist_on_memory.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "network/tcp/device.hpp"

namespace lci::network::sockets {

namespace {

// A connection from which something was received lately is read directly, which saves a call of epoll. The others are
// checked at least every so many polls:
constexpr uint32_t polls_between_polls_of_all = 32;  // with one connection, as new ones may come
constexpr uint32_t polls_between_polls_of_others = 2;

// For a peer that counts as failed and continues to send.
constexpr int most_last_reads = 64;

}  // namespace

int device::poll(event_sink& sink, int) {
  note_poll();
  flush_all();
  int n_events = 0;
  if (LCI_UNLIKELY(deferred_.any())) n_events = report_deferred(sink);
  if (LCI_UNLIKELY(own_waits_.load(std::memory_order_relaxed))) n_events += std::max(receive_own(sink), 0);
  int n = 0;
  connection* const recent = recent_.load(std::memory_order_acquire);  // A2: pairs with R2
  if (LCI_LIKELY(recent != nullptr)) n = receive(*recent, sink);
  // An approximate counter: lost increments do no harm.
  const uint32_t polls = polls_.load(std::memory_order_relaxed) + 1;
  polls_.store(polls, std::memory_order_relaxed);
  const uint32_t between =
      n_connected_.load(std::memory_order_relaxed) > 1 ? polls_between_polls_of_others : polls_between_polls_of_all;
  if (recent == nullptr || polls % between == 0) {
    n = std::max(n, 0) + std::max(poll_all(sink), 0);
    check_if_late();  // messages of one peer must not delay the connection to another one
  }
  flush_all();
  if (n == 0 && n_events == 0)
    count_idle();
  else
    count_result();
  return n_events > 0 ? n_events + std::max(n, 0) : n;
}

int device::poll_all(event_sink& sink) {
  epoll_event events[16];
  const int n = epoll_wait(events_.get(), events, 16, 0);
  int n_events = 0;
  for (int i = 0; i < n; ++i) {
    const uint64_t mark = events[i].data.u64;
    if (handshakes::is_ours(mark)) {
      handshakes_->handle(mark);
    } else if (mark != self_mark) {
      connection& c = *link_if_any(static_cast<int>(mark));
      const int got = receive(c, sink);
      if (got <= 0) continue;
      n_events += got;
      recent_.store(&c, std::memory_order_release);  // R2: publishes its construction, seen by us
    }
  }
  return n_events;
}

int device::receive(connection& c, event_sink& sink) {
  const attempt lock(c.receive_lock);
  if (lock.failed()) return -1;
  int n_events = 0;
  read(c, sink, n_events);
  return n_events;
}

bool device::read(connection& c, event_sink& sink, int& n_events) {
  if (LCI_UNLIKELY(c.over)) return false;
  if (c.incoming == nullptr) c.incoming = insist_on_memory([this] { return chunks_.take(); });
  chunk& in = *c.incoming;
  const int fd = c.fd.load(std::memory_order_acquire);
  ssize_t n;
  if (LCI_LIKELY(!c.content && c.expects_content == 0)) {
    n = recv(fd, in.free_space(), in.room(), MSG_DONTWAIT);
    if (LCI_LIKELY(n > 0)) in.end += static_cast<size_t>(n);
  } else {
    n = read_content(c, fd);
  }
  if (LCI_LIKELY(n > 0)) {
    n_events += deliver(c, sink);
    return true;
  }
  // Where the buffer was full, 0 does not mean the end of the connection: a handler has thrown in another thread, so
  // the buffer's messages are still to be delivered.
  if (n == 0 && in.room() == 0 && c.content.is_whole()) return false;
  if (n == 0) {
    end_of(c, reason_of_end(c));
  } else if (errno == EFAULT) {
    end_of(c, "the destination of its data is not mapped any more: a range was unmapped while it was registered");
  } else if (errno != EAGAIN && errno != EINTR && !lacks_memory(errno)) {
    end_of(c, std::strerror(errno));
  } else if (in.empty() && recent_.load(std::memory_order_relaxed) != &c) {
    chunks_.give(std::move(c.incoming));
  }
  return false;
}

ssize_t device::read_content(connection& c, int fd) {
  chunk& in = *c.incoming;
  const auto [content, padding] = c.content.places();
  iovec places[3] = {content, padding, {in.free_space(), in.room()}};
  if (c.expects_content > 0) places[2].iov_len = std::min(in.room(), connection::little);
  msghdr message{};
  message.msg_iov = places;
  message.msg_iovlen = 3;
  const ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);
  if (n <= 0) return n;
  if (!c.content && c.expects_content > 0) --c.expects_content;
  in.end += c.content.advance(static_cast<size_t>(n));
  return n;
}

int device::receive_own(event_sink& sink) {
  connection& c = *link_if_any(own_rank_);
  const attempt lock(c.receive_lock);
  if (lock.failed()) return -1;
  if (c.incoming != nullptr) return deliver(c, sink);
  {
    // Messages to oneself are received from the send queue, without a copy.
    std::lock_guard guard(c.lock);
    if (!c.waiting.empty()) {
      c.incoming = std::move(c.waiting.front().copied);
      c.waiting.pop_front();
    }
    c.listed = false;
    own_waits_.store(false, std::memory_order_relaxed);
  }
  if (c.incoming == nullptr) return 0;
  self_.clear();
  return deliver(c, sink);
}

int device::deliver(connection& c, event_sink& sink) {
  struct rest {  // if a handler throws, or there is no memory
    device& of;
    connection& c;
    bool whole = false;
    ~rest() {
      if (LCI_UNLIKELY(of.more_comes_.load(std::memory_order_relaxed)))
        of.more_comes_.store(false, std::memory_order_relaxed);
      if (LCI_LIKELY(whole)) return;
      of.deferred_.add(of.undelivered_, &c);
    }
  } left{*this, c};
  chunk& in = *c.incoming;
  frame_view frame{};
  size_t needed = 0;
  int n_events = 0;
  const char* wrong = nullptr;
  for (;;) {
    if (LCI_UNLIKELY(c.content)) {
      c.content.take_from(in);
      if (!c.content.is_whole()) break;
      n_events += end_content(c, sink);
    }
    const frame_state state = read_frame(in.data(), in.size(), frame, needed);
    if (state == frame_state::garbage) wrong = no_frame;
    if (state != frame_state::whole) break;
    if (LCI_UNLIKELY(frame.kind != frame_kind::message)) {
      // There may be no memory for an answer: then the next poll takes the frame again. It is awaited here first, since
      // the caller of progress() could not tell such a lack of memory from one for which a message was lost.
      wrong = insist_on_memory([&] { return take(c, frame); });
      in.begin += needed;
      if (wrong == nullptr) continue;
      break;
    }
    in.begin += needed;
    const bool more = in.size() >= sizeof(frame_head);
    if (more != more_comes_.load(std::memory_order_relaxed)) more_comes_.store(more, std::memory_order_relaxed);
    ++n_events;
    sink.on_recv(c.rank, frame.message, frame.size, nullptr);
  }
  if (LCI_LIKELY(wrong == nullptr))
    keep_rest(c, needed);  // there may be no memory for a longer chunk
  else
    end_of(c, wrong);
  left.whole = true;
  return n_events;
}

void device::keep_rest(connection& c, size_t needed) {
  chunk& in = *c.incoming;
  if (LCI_LIKELY(in.empty())) {
    in.clear();
    if (c.rank == own_rank_ || recent_.load(std::memory_order_relaxed) != &c) chunks_.give(std::move(c.incoming));
  } else if (frame_begin + needed > in.capacity) {
    // The peer sends longer messages than we do.
    auto larger = insist_on_memory([&] { return std::make_unique<chunk>(frame_begin + needed); });
    std::memcpy(larger->free_space(), in.data(), in.size());
    larger->end += in.size();
    c.incoming = std::move(larger);
  } else if (in.begin + needed > in.capacity) {
    in.compact();
  }
}

std::string device::reason_of_end(connection& c) {
  std::lock_guard guard(c.lock);
  return c.broken ? std::strerror(c.broken_by)
                  : "its process has ended, or has closed the connection, without a close notification";
}

void device::end_of(connection& c, const std::string& reason) {
  stop_reading(c);
  // A peer to which we have sent a close notification may have ended at the same time.
  if (!c.closed && !c.close_sent.load(std::memory_order_relaxed)) fail_peer(c.rank, reason);
  end_peer(c.rank);
  deferred_.add(ended_links_, &c);
}

void device::stop_reading(connection& c) {
  c.over = true;
  const int fd = c.fd.load(std::memory_order_relaxed);
  // A live peer learns from this that we have given it up.
  if (fd >= 0 && !c.closed) shutdown(fd, SHUT_RDWR);
  c.incoming.reset();
  connection* expected = &c;
  recent_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  epoll_ctl(events_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

int device::report_deferred(event_sink& sink) {
  deferred_.begin_report();
  self_.clear();
  int n_events = deferred_.report(completed_, [&](void* context) {
    count_end();
    sink.on_complete(context);
  });
  deferred_.report(undelivered_, [&](connection* c) {
    const attempt lock(c->receive_lock);
    if (lock.failed()) return deferred_.add(undelivered_, c);
    if (c->incoming != nullptr) n_events += deliver(*c, sink);
  });
  deferred_.report(ended_links_, [&](connection* c) {
    struct again {  // if a handler throws, or another thread reads or writes
      device& of;
      connection* c;
      bool wanted = true;
      ~again() {
        if (wanted) of.deferred_.add(of.ended_links_, c);
      }
    } later{*this, c};
    const attempt lock(c->receive_lock);
    if (lock.failed()) return;
    finish(*c, sink, n_events);
    later.wanted = !drop_asked(*c);
  });
  // First the failures of peers, then the operations that failed because of them.
  const auto has_ended = [&](int rank) { return link_if_any(rank)->ended.load(std::memory_order_acquire); };  // E2
  n_events += deferred_.report_failures(sink, has_ended);
  deferred_.report(failed_, [&](const failed_operation& o) {
    // Writing may fail before reading finds the close notification of the peer.
    if (o.of_link && !has_ended(o.peer)) return deferred_.add(failed_, o);
    count_end();
    ++n_events;
    sink.on_operation_failure(o.context, o.peer);
  });
  return n_events;
}

void device::finish(connection& c, event_sink& sink, int& n_events) {
  // Deliver the peer's messages before reporting its end.
  if (c.incoming != nullptr) n_events += deliver(c, sink);
  const bool connected = c.fd.load(std::memory_order_acquire) >= 0;
  for (int reads = 0; connected && reads < most_last_reads && read(c, sink, n_events); ++reads) {
  }
  if (!c.over) stop_reading(c);
}

}  // namespace lci::network::sockets
