// Polling: messages, notes of the context, and deferred events.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "lib/base/memory.hpp"
#include "lib/base/ticks.hpp"
#include "network/tcp/outside/device.hpp"

namespace lci::network::outside {

namespace {

// The link from which data was received last is read directly, which saves a call of epoll.
constexpr uint32_t polls_between_polls_of_one = 32, polls_between_polls_of_several = 2;
// The same while there is no link.
constexpr uint32_t polls_between_looks = 64;
constexpr uint32_t idle_polls_between_looks = 256, busy_polls_between_looks = 4096;
// For threads that sleep between polls.
const uint64_t longest_pause = ticks_in(std::chrono::microseconds(20));

}  // namespace

int device::poll(event_sink& sink, int) {
  if (LCI_LIKELY(!context_.is_used())) return 0;
  note_poll();
  flush_all();
  int n_events = 0;
  if (LCI_UNLIKELY(deferred_.any())) n_events = report_deferred(sink);
  if (LCI_UNLIKELY(any_notes_.load(std::memory_order_acquire))) handle_notes(sink);
  slot* const recent = recent_.load(std::memory_order_acquire);  // A2: pairs with R2
  int n = recent != nullptr ? receive(*recent, sink) : 0;
  // An approximate counter: lost increments do no harm.
  const uint32_t polls = polls_.load(std::memory_order_relaxed) + 1;
  polls_.store(polls, std::memory_order_relaxed);
  const int n_links = n_links_.load(std::memory_order_relaxed);
  const uint32_t between = n_links == 0        ? polls_between_looks
                           : recent == nullptr ? 1
                           : n_links == 1      ? polls_between_polls_of_one
                                               : polls_between_polls_of_several;
  const uint64_t now = cpu_ticks();
  if (polls % between == 0 || now - polled_all_.load(std::memory_order_relaxed) > longest_pause) {
    polled_all_.store(now, std::memory_order_relaxed);
    n = std::max(n, 0) + std::max(poll_links(sink), 0);
  }
  if (LCI_UNLIKELY(n_ports_.load(std::memory_order_acquire) != 0)) n = std::max(n, 0) + poll_ports(sink);
  flush_all();
  const bool is_idle = n == 0 && n_events == 0;
  if ((is_idle && idle_.is_due(idle_polls_between_looks)) || polls % busy_polls_between_looks == 0 ||
      checked_.is_over(now)) {
    checked_.begin(now);
    context_.look();
    if (any_later_.load(std::memory_order_relaxed)) handle_notes(sink);
  }
  return n_events > 0 ? n_events + std::max(n, 0) : n;
}

int device::poll_links(event_sink& sink) {
  epoll_event events[16];
  const int n = epoll_wait(events_.get(), events, 16, 0);
  int n_events = 0;
  for (int i = 0; i < n; ++i) {
    const uint64_t mark = events[i].data.u64;
    if (mark == context_mark) {
      context_.look();
      continue;
    }
    if (mark == port_mark) continue;  // poll_ports() follows
    if (mark == wake_mark) {
      wake_.clear();
      continue;
    }
    slot& s = *slot_if_any(static_cast<int>(mark));
    if ((events[i].events & EPOLLOUT) != 0) {
      const attempt lock(s.lock);
      if (!lock.failed() && s.blocked) flush(s);
    }
    const int got = receive(s, sink);
    if (got <= 0) continue;
    n_events += got;
    recent_.store(&s, std::memory_order_release);  // R2: publishes its construction, seen by us
  }
  return n_events;
}

int device::report_deferred(event_sink& sink) {
  deferred_.begin_report();
  int n_events = deferred_.report(completed_, [&](void* context) {
    n_operations_.fetch_sub(1, std::memory_order_relaxed);
    sink.on_complete(context);
  });
  deferred_.report(undelivered_, [&](slot* s) {
    const attempt lock(s->receive_lock);
    if (lock.failed()) return deferred_.add(undelivered_, s);
    if (s->incoming != nullptr) n_events += deliver(*s, sink);
  });
  n_events += deferred_.report(failed_, [&](const failed_operation& o) {
    n_operations_.fetch_sub(1, std::memory_order_relaxed);
    sink.on_operation_failure(o.context, o.peer);
  });
  return n_events;
}

int device::receive(slot& s, event_sink& sink) {
  const attempt lock(s.receive_lock);
  if (lock.failed()) return -1;
  int n_events = 0;
  read(s, sink, n_events);
  return n_events;
}

bool device::read(slot& s, event_sink& sink, int& n_events) {
  if (!s.way || s.over) return false;
  if (s.incoming == nullptr) s.incoming = chunks_.take();
  sockets::chunk& in = *s.incoming;
  ssize_t n;
  if (LCI_LIKELY(!s.content)) {
    n = s.way.read(in.free_space(), in.room());
    if (n > 0) in.end += static_cast<size_t>(n);
  } else {
    const auto [content, padding] = s.content.places();
    iovec places[3] = {content, padding, {in.free_space(), std::min(in.room(), sockets::connection::little)}};
    n = s.way.read(places, 3);
    if (n > 0) in.end += s.content.advance(static_cast<size_t>(n));
  }
  if (LCI_LIKELY(n > 0)) {
    n_events += deliver(s, sink);
    return true;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR || lacks_memory(errno))) {
    if (in.empty() && !s.content && recent_.load(std::memory_order_relaxed) != &s) chunks_.give(std::move(s.incoming));
    return false;
  }
  // Where the buffer was full, 0 does not mean the end of the connection: a handler has thrown in another thread, so
  // the buffer's messages are still to be delivered.
  if (n == 0 && in.room() == 0 && s.content.is_whole()) return false;
  if (n == 0)
    stop_reading(s, "its link has ended without a close notification", false);
  else if (errno == EFAULT)
    stop_reading(s, "the destination of its data is not mapped any more", true);
  else
    stop_reading(s, std::strerror(errno), false);
  return false;
}

void device::stop_reading(slot& s, const char* trouble, bool at_once) {
  s.over = true;
  chunks_.give(std::move(s.incoming));
  slot* expected = &s;
  recent_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  if (s.way.descriptor() >= 0) epoll_ctl(events_.get(), EPOLL_CTL_DEL, s.way.descriptor(), nullptr);
  if (s.closed && !at_once) return;
  s.way.abort();
  context_.on_trouble(s.peer, s.generation, trouble, at_once);
}

int device::deliver(slot& s, event_sink& sink) {
  struct rest {  // if a handler throws, or there is no memory
    device& of;
    slot& s;
    bool whole = false;
    ~rest() {
      if (of.more_comes_.load(std::memory_order_relaxed)) of.more_comes_.store(false, std::memory_order_relaxed);
      if (LCI_UNLIKELY(!whole)) of.deferred_.add(of.undelivered_, &s);
    }
  } left{*this, s};
  sockets::chunk& in = *s.incoming;
  sockets::frame_view frame{};
  size_t needed = 0;
  int n_events = 0;
  const char* wrong = nullptr;
  while (wrong == nullptr) {
    if (LCI_UNLIKELY(s.content)) {
      s.content.take_from(in);
      if (!s.content.is_whole()) break;
      n_events += end_content(s, sink);
    }
    const sockets::frame_state state = sockets::read_frame(in.data(), in.size(), frame, needed);
    // The peer has announced the length of its longest message, so a length in a head can't make this process allocate
    // more.
    if (state == sockets::frame_state::garbage ||
        (in.size() >= sizeof(sockets::frame_head) && frame.kind == frame_kind::message && frame.size > s.largest))
      wrong = "it sent data that is not a valid message";
    if (wrong != nullptr || state != sockets::frame_state::whole) break;
    if (LCI_UNLIKELY(frame.kind != frame_kind::message)) {
      wrong = take(s, frame);
      in.begin += needed;
      continue;
    }
    in.begin += needed;
    const bool more = in.size() >= sizeof(sockets::frame_head);
    if (more != more_comes_.load(std::memory_order_relaxed)) more_comes_.store(more, std::memory_order_relaxed);
    ++n_events;
    sink.on_recv(s.peer, frame.message, frame.size, nullptr);
  }
  if (LCI_LIKELY(wrong == nullptr))
    keep_rest(s, needed);  // there may be no memory for a longer chunk
  else
    stop_reading(s, wrong, true);
  left.whole = true;
  return n_events;
}

void device::keep_rest(slot& s, size_t needed) {
  sockets::chunk& in = *s.incoming;
  if (in.empty()) {
    in.clear();
    if (recent_.load(std::memory_order_relaxed) != &s) chunks_.give(std::move(s.incoming));
  } else if (sockets::frame_begin + needed > in.capacity) {
    // The peer sends longer messages than this runtime.
    auto larger = std::make_unique<sockets::chunk>(sockets::frame_begin + needed);
    std::memcpy(larger->free_space(), in.data(), in.size());
    larger->end += in.size();
    s.incoming = std::move(larger);
  } else if (in.begin + needed > in.capacity) {
    in.compact();
  }
}

}  // namespace lci::network::outside
