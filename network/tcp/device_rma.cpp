// Puts and gets: frames with content, which is written from its source and read into its destination, given by the
// frame's head. A put to memory that is not registered here ends the connection; a get of such memory is refused.
#include <cerrno>
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/insist_on_memory.hpp"
#include "lib/base/log.hpp"
#include "network/tcp/device.hpp"

namespace lci::network::sockets {

namespace {

/// The data of a put; several segments are copied together.
segment content_of(const net_op& op, std::vector<std::byte>& together) {
  if (op.n_segments == 1) return op.segments[0];
  for (int i = 0; i < op.n_segments; ++i) {
    const auto* const from = static_cast<const std::byte*>(op.segments[i].base);
    together.insert(together.end(), from, from + op.segments[i].size);
  }
  return {together.data(), together.size(), 0};
}

constexpr const char* too_much = "it asks for more at a time than it may";

constexpr const char* unregistered =
    "it writes to memory that is not registered here, read-only, or not mapped any more";

bool asks_too_much(connection& c) {
  std::lock_guard guard(c.lock);
  return c.waiting.size() >= connection::most_with_answers;
}

}  // namespace

errorcode_t device::put(const net_op& op) {
  if (LCI_UNLIKELY(op.peer == own_rank_)) return move_own(op);
  std::vector<std::byte> together;
  const segment from = content_of(op, together);
  // If the target is notified, it knows when the data is there, so the origin needs no answer.
  const bool asks = !op.inject && !op.has_imm;
  const uint32_t flags = (op.has_imm ? put_head::has_imm : 0) | (asks ? put_head::wants_answer : 0);
  const put_head head{op.remote_addr, op.remote_key, op.imm, flags};
  const request asked{nullptr, from.size, op.context};
  const bool copied = op.inject || frame_room(sizeof head + from.size) <= connection::large;
  const parts all{&head, sizeof head, from.base, from.size};
  if (copied && !asks) return send(op.peer, frame_kind::put, all);
  return begin_operation([&] {
    const content_frame content{frame_kind::put, &head, sizeof head, from.base, from.size, asks ? nullptr : op.context};
    const errorcode_t sent =
        copied ? send(op.peer, frame_kind::put, all, &asked)
               : send_content(link_to(op.peer), content, connection::most_waiting, asks ? &asked : nullptr);
    return asks && sent == errorcode_t::done ? errorcode_t::posted : sent;
  });
}

template <class F>
errorcode_t device::begin_operation(F call) {
  struct counted {
    device& of;
    errorcode_t result = errorcode_t::fatal;
    ~counted() {
      if (result != errorcode_t::posted) of.count_end();
    }
  } it{*this};
  const size_t n = n_operations_.fetch_add(1, std::memory_order_relaxed) + 1;
  deferred_.reserve(completed_, n);
  deferred_.reserve(failed_, n);
  return it.result = call();
}

errorcode_t device::get(const net_op& op) {
  if (LCI_UNLIKELY(op.peer == own_rank_)) return move_own(op);
  const segment& to = op.segments[0];
  const request asked{static_cast<std::byte*>(to.base), to.size, op.context};
  const get_head head{op.remote_addr, op.remote_key, to.size};
  return begin_operation([&] {
    const errorcode_t sent = send(op.peer, frame_kind::get, {&head, sizeof head, nullptr, 0}, &asked);
    return sent == errorcode_t::done ? errorcode_t::posted : sent;
  });
}

errorcode_t device::move_own(const net_op& op) {
  std::vector<std::byte> together;
  const segment here = content_of(op, together);
  std::byte* const there = regions_.find(op.remote_key, op.remote_addr, here.size, op.kind != verb::get);
  if (LCI_UNLIKELY(there == nullptr)) {
    if (op.inject) return log_warning("tcp: a put to memory of this rank that is not registered"), errorcode_t::done;
    return begin_operation([&] {
      report_later(failed_, failed_operation{op.context, op.peer});
      return errorcode_t::posted;
    });
  }
  if (op.kind == verb::get) return move_bytes(here.base, there, here.size), errorcode_t::done;
  move_bytes(there, here.base, here.size);
  if (!op.has_imm) return errorcode_t::done;
  const put_head head{0, 0, op.imm, put_head::has_imm};
  return send(op.peer, frame_kind::put, {&head, sizeof head, nullptr, 0});
}

errorcode_t device::send_content(connection& c, const content_frame& frame, size_t most, const request* asked) {
  std::list<outgoing> mine;
  mine.push_back({nullptr, frame});
  bool alone, later;
  {
    std::lock_guard guard(c.lock);
    if (LCI_UNLIKELY(c.is_gone() || c.close_sent.load(std::memory_order_relaxed))) return errorcode_t::fatal;
    if (LCI_UNLIKELY(c.broken || c.waiting.size() >= most)) return errorcode_t::retry_nomem;
    if (asked != nullptr) {
      if (c.asked.size() >= connection::most_asked) return errorcode_t::retry_nomem;
      c.asked.push_back(*asked);
    }
    const bool more = more_comes_.load(std::memory_order_relaxed);
    alone = c.fd.load(std::memory_order_relaxed) >= 0 && !c.sending && !more && c.waiting.empty();
    later = c.blocked || (more && c.waiting.size() + 1 < batch::most);
    if (alone) {
      c.sending = true;
    } else {
      c.waiting.splice(c.waiting.end(), mine);
      list(c);
    }
  }
  if (!alone) {
    if (!later) flush(c);
    return errorcode_t::posted;
  }
  batch only(mine.front());
  const written how = write(c, only);
  if (how == written::whole) return end_alone(c), errorcode_t::done;
  end_alone(c, mine, how == written::broken ? errno : 0);
  return errorcode_t::posted;
}

void device::answer(connection& c, frame_kind kind, const std::byte* content, size_t size) {
  const bool copied = frame_room(size) <= connection::large;
  if (copied && send(c.rank, kind, {content, size, nullptr, 0}) != errorcode_t::retry_nomem) return;
  // If this fails, reading finds the reason.
  (void)send_content(c, {kind, nullptr, 0, content, size}, SIZE_MAX, nullptr);
}

const char* device::take(connection& c, const frame_view& frame) {
  switch (frame.kind) {
    case frame_kind::put:
      return begin_put(c, frame);
    case frame_kind::get:
      return answer_get(c, frame);
    case frame_kind::data:
    case frame_kind::refusal:
    case frame_kind::landed:
      return take_answer(c, frame);
    default:  // a close notification
      c.closed = true;
      end_peer(c.rank);
      return nullptr;
  }
}

const char* device::begin_put(connection& c, const frame_view& frame) {
  put_head head;
  std::memcpy(&head, frame.message, sizeof head);
  if (asks_too_much(c)) return too_much;
  std::byte* const to = frame.content == 0 ? nullptr : regions_.find(head.key, head.address, frame.content, true);
  if (LCI_UNLIKELY(to == nullptr && frame.content != 0)) return unregistered;
  begin_content(c, {arriving::kind::put, to, frame.content, frame.padding});
  c.content.flags = head.flags;
  c.content.imm = head.imm;
  return nullptr;
}

const char* device::answer_get(connection& c, const frame_view& frame) {
  get_head head;
  std::memcpy(&head, frame.message, sizeof head);
  if (head.size > largest_content) return no_frame;
  if (asks_too_much(c)) return too_much;
  const std::byte* const from = regions_.find(head.key, head.address, head.size, false);
  answer(c, from != nullptr ? frame_kind::data : frame_kind::refusal, from, from != nullptr ? head.size : 0);
  return nullptr;
}

const char* device::take_answer(connection& c, const frame_view& frame) {
  request asked;
  {
    std::lock_guard guard(c.lock);
    if (c.asked.empty()) return no_frame;
    asked = c.asked.front();
    if ((asked.to == nullptr) != (frame.kind == frame_kind::landed)) return no_frame;
    if (frame.kind == frame_kind::data && frame.content != asked.size) return no_frame;
    c.asked.pop_front();
  }
  if (frame.kind == frame_kind::refusal) {
    report_later(failed_, failed_operation{asked.context, c.rank});
    return nullptr;
  }
  begin_content(c, {arriving::kind::data, asked.to, frame.content, frame.padding});
  c.content.context = asked.context;
  return nullptr;
}

void device::begin_content(connection& c, const arriving& content) {
  c.content = content;
  if (content.size() >= connection::long_content) c.expects_content = connection::long_memory;
}

int device::end_content(connection& c, event_sink& sink) {
  if ((c.content.flags & put_head::wants_answer) != 0) {
    // First, as there may be no memory for it: then the next poll tries again, as the origin waits for it.
    insist_on_memory([&] { answer(c, frame_kind::landed, nullptr, 0); });
    c.content.flags &= ~put_head::wants_answer;
  }
  const arriving whole = std::exchange(c.content, arriving());
  if (whole.what() == arriving::kind::data) return count_end(), sink.on_complete(whole.context), 1;
  if ((whole.flags & put_head::has_imm) == 0) return 0;
  return sink.on_remote_write(c.rank, whole.imm), 1;
}

void device::drop(connection& c, const std::list<outgoing>& unsent) {
  for (const outgoing& o : unsent)
    if (o.content.context() != nullptr) report_later(failed_, failed_operation{o.content.context(), c.rank, true});
}

bool device::drop_asked(connection& c) {
  flush(c);  // drops what waits
  std::list<request> unanswered;
  {
    std::lock_guard guard(c.lock);
    if (c.sending || !c.waiting.empty()) return false;
    unanswered.swap(c.asked);
  }
  if (c.content.what() == arriving::kind::data)
    report_later(failed_, failed_operation{c.content.context, c.rank, true});
  c.content = {};
  for (const request& r : unanswered) report_later(failed_, failed_operation{r.context, c.rank, true});
  c.ended.store(true, std::memory_order_release);  // E1: pairs with E2
  return true;
}

}  // namespace lci::network::sockets
