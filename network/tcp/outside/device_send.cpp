// Sending: the first message of a series is sent at once, messages in close succession are bundled.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <utility>

#include "lib/base/memory.hpp"
#include "lib/base/ticks.hpp"
#include "network/tcp/outside/device.hpp"

namespace lci::network::outside {

errorcode_t device::post(const net_op& op) {
  if (LCI_LIKELY(op.kind == verb::send)) return send(op.peer, frame_kind::message, parts::of(op));
  return op.kind == verb::put ? put(op) : get(op);
}

errorcode_t device::send(int peer, frame_kind kind, const parts& m, const sockets::request* asked) {
  slot& s = slot_of(peer);
  const attempt lock(s.lock);
  if (lock.failed()) return errorcode_t::retry_lock;
  const errorcode_t why_not = check_open(s);
  if (LCI_UNLIKELY(why_not != errorcode_t::done)) return why_not;
  return append(s, kind, m, asked, slot::most_waiting);
}

errorcode_t device::append(slot& s, frame_kind kind, const parts& m, const sockets::request* asked, size_t most) {
  // Posts are refused until the link exists, so no message is lost if the link can't be opened.
  if (LCI_UNLIKELY(!s.way || s.broken)) return errorcode_t::retry_nomem;
  if (LCI_UNLIKELY(asked != nullptr && s.asked.size() >= slot::most_asked)) return errorcode_t::retry_nomem;
  const size_t room = sockets::frame_room(m.size());
  if (s.waiting.empty() || s.waiting.back().copied == nullptr || s.waiting.back().copied->room() < room) {
    if (!s.waiting.empty() && !s.blocked) flush(s);
    if (s.broken || s.waiting.size() >= most) return errorcode_t::retry_nomem;
    s.waiting.push_back({chunks_.take(), {}});
  }
  if (LCI_UNLIKELY(asked != nullptr)) s.asked.push_back(*asked);
  sockets::chunk& to = *s.waiting.back().copied;
  m.copy_to(sockets::begin_frame(to.free_space(), kind, m.size()));
  to.end += room;
  const bool at_once =
      !more_comes_.load(std::memory_order_relaxed) && s.series.goes_alone(cpu_ticks(), sockets::connection::few);
  if (!s.blocked && (at_once || to.size() >= bundle_end_)) flush(s);
  if (!s.waiting.empty()) list(s);
  s.series.last = cpu_ticks();
  return errorcode_t::done;
}

void device::list(slot& s) {
  if (s.listed) return;
  waiting_.add(&s);
  s.listed = true;
  context_.flusher().notice();
  if (LCI_UNLIKELY(sleepers_.load(std::memory_order_seq_cst) != 0)) wake_.set();
}

void device::flush(slot& s) {
  const bool was_blocked = std::exchange(s.blocked, false);
  while (s.way && !s.broken && !s.waiting.empty()) {
    const written how = write(s.way, s.waiting.front());
    if (how == written::partly) {
      s.blocked = true;
      break;
    }
    if (how == written::broken) {
      // Reading finds the end of the connection, and reports it.
      s.broken = true;
      s.way.abort();
      break;
    }
    sockets::outgoing gone = std::move(s.waiting.front());
    s.waiting.pop_front();
    chunks_.give(std::move(gone.copied));
    if (gone.content.context() != nullptr) report_later(completed_, gone.content.context());
  }
  if (const int fd = s.way.descriptor(); LCI_UNLIKELY(s.blocked != was_blocked && fd >= 0))
    (void)watch(events_.get(), fd, s.blocked ? EPOLLIN | EPOLLOUT : EPOLLIN, static_cast<uint64_t>(s.peer), false);
}

device::written device::write(link& way, sockets::outgoing& next) {
  for (;;) {
    ssize_t n;
    if (next.copied != nullptr) {
      n = way.write(next.copied->data(), next.copied->size());
      if (n >= 0) next.copied->begin += static_cast<size_t>(n);
      if (n >= 0 && next.copied->empty()) return written::whole;
    } else {
      auto pieces = next.content.pieces();
      n = way.write(pieces.data(), static_cast<int>(pieces.size()));
      if (n >= 0) next.content.advance(static_cast<size_t>(n));
      if (n >= 0 && next.content.is_written()) return written::whole;
    }
    if (n >= 0 || errno == EINTR) continue;
    return errno == EAGAIN || lacks_memory(errno) ? written::partly : written::broken;
  }
}

void device::flush_listed() {
  waiting_.flush([this](slot* s) {
    const attempt lock(s->lock);
    if (lock.failed()) return true;
    flush(*s);
    s->listed = !s->broken && !s->waiting.empty();
    return s->listed;
  });
}

bool device::flush_if_unpolled() {
  const bool polled = was_polled();
  if (!polled) flush_all();
  return (!polled && advance_ports()) || waiting_.any();
}

}  // namespace lci::network::outside
