// Puts and gets: frames with content, as between ranks.
#include <cstring>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include "network/tcp/outside/device.hpp"

namespace lci::network::outside {

using sockets::content_frame;
using sockets::get_head;
using sockets::put_head;
using sockets::request;

namespace {

constexpr const char* senseless = "it sent data that is not a valid message";
constexpr const char* greedy = "it asks for more at a time than it may";
constexpr const char* foreign = "it writes to memory that is not registered here, read-only, or not mapped any more";

}  // namespace

template <class F>
errorcode_t device::begin_operation(F call) {
  const size_t n = n_operations_.fetch_add(1, std::memory_order_relaxed) + 1;
  struct counted {
    std::atomic<size_t>& operations;
    errorcode_t result = errorcode_t::fatal;
    ~counted() {
      if (result != errorcode_t::posted) operations.fetch_sub(1, std::memory_order_relaxed);
    }
  } it{n_operations_};
  deferred_.reserve(completed_, n);
  deferred_.reserve(failed_, n);
  it.result = call();
  if (it.result == errorcode_t::done) it.result = errorcode_t::posted;
  return it.result;
}

errorcode_t device::put(const net_op& op) {
  std::vector<std::byte> both;
  segment from = op.n_segments > 0 ? op.segments[0] : segment{};
  if (op.n_segments > 1) {
    const parts pieces = parts::of(op);
    both.resize(pieces.size());
    pieces.copy_to(both.data());
    from = {both.data(), both.size(), 0};
  }
  // An immediate notifies the target when the data has arrived, so the target sends no answer.
  const bool asks = !op.inject && !op.has_imm;
  const put_head head{op.remote_addr, op.remote_key, op.imm,
                      (op.has_imm ? put_head::has_imm : 0) | (asks ? put_head::wants_answer : 0)};
  const bool is_short = op.inject || sockets::frame_room(sizeof head + from.size) <= sockets::connection::large;
  const parts copied{&head, sizeof head, from.base, from.size};
  if (is_short && !asks) return send(op.peer, frame_kind::put, copied);
  const request asked{nullptr, from.size, op.context};
  return begin_operation([&] {
    if (is_short) return send(op.peer, frame_kind::put, copied, &asked);
    slot& s = slot_of(op.peer);
    const attempt lock(s.lock);
    if (lock.failed()) return errorcode_t::retry_lock;
    const errorcode_t why_not = check_open(s);
    if (why_not != errorcode_t::done) return why_not;
    const content_frame content(frame_kind::put, &head, sizeof head, from.base, from.size, asks ? nullptr : op.context);
    return append_content(s, content, slot::most_waiting, asks ? &asked : nullptr);
  });
}

errorcode_t device::get(const net_op& op) {
  const segment& to = op.segments[0];
  const request asked{static_cast<std::byte*>(to.base), to.size, op.context};
  const get_head head{op.remote_addr, op.remote_key, to.size};
  return begin_operation([&] { return send(op.peer, frame_kind::get, {&head, sizeof head, nullptr, 0}, &asked); });
}

errorcode_t device::append_content(slot& s, const content_frame& frame, size_t most, const request* asked) {
  if (!s.way || s.broken || s.waiting.size() >= most) return errorcode_t::retry_nomem;
  if (asked != nullptr && s.asked.size() >= slot::most_asked) return errorcode_t::retry_nomem;
  std::list<sockets::outgoing> mine;
  mine.push_back({nullptr, frame});
  if (asked != nullptr) s.asked.push_back(*asked);
  s.waiting.splice(s.waiting.end(), mine);
  if (!s.blocked) flush(s);
  if (!s.waiting.empty()) list(s);
  return errorcode_t::done;
}

void device::answer(slot& s, frame_kind kind, const std::byte* content, size_t size) {
  std::lock_guard guard(s.lock);
  if (check_open(s) != errorcode_t::done) return;
  // If it can't be sent, reading finds the reason.
  if (sockets::frame_room(size) <= sockets::connection::large)
    (void)append(s, kind, {content, size, nullptr, 0}, nullptr, SIZE_MAX);
  else
    (void)append_content(s, {kind, nullptr, 0, content, size}, SIZE_MAX, nullptr);
}

const char* device::take(slot& s, const sockets::frame_view& frame) {
  switch (frame.kind) {
    case frame_kind::put:
      return take_put(s, frame);
    case frame_kind::get:
      return take_get(s, frame);
    case frame_kind::data:
    case frame_kind::refusal:
    case frame_kind::landed:
      return take_answer(s, frame);
    default:
      break;
  }
  // A close notification.
  s.closed = true;
  std::lock_guard guard(notes_lock_);
  device_ends_.push_back({&s, s.generation, clock::now()});
  any_later_.store(true, std::memory_order_relaxed);
  return nullptr;
}

const char* device::take_put(slot& s, const sockets::frame_view& frame) {
  put_head head;
  std::memcpy(&head, frame.message, sizeof head);
  if ((head.flags & put_head::wants_answer) != 0) {
    std::lock_guard guard(s.lock);
    if (s.waiting.size() >= slot::most_with_answers) return greedy;
  }
  std::byte* const to = frame.content == 0 ? nullptr : regions_.find(head.key, head.address, frame.content, true);
  if (to == nullptr && frame.content != 0) return foreign;
  s.content = {sockets::arriving::kind::put, to, frame.content, frame.padding};
  s.content.flags = head.flags;
  s.content.imm = head.imm;
  return nullptr;
}

const char* device::take_get(slot& s, const sockets::frame_view& frame) {
  get_head head;
  std::memcpy(&head, frame.message, sizeof head);
  if (head.size > sockets::largest_content) return senseless;
  {
    std::lock_guard guard(s.lock);
    if (s.waiting.size() >= slot::most_with_answers) return greedy;
  }
  const std::byte* const from = regions_.find(head.key, head.address, head.size, false);
  answer(s, from != nullptr ? frame_kind::data : frame_kind::refusal, from, from != nullptr ? head.size : 0);
  return nullptr;
}

const char* device::take_answer(slot& s, const sockets::frame_view& frame) {
  request asked{};
  {
    std::lock_guard guard(s.lock);
    if (s.asked.empty()) return senseless;
    asked = s.asked.front();
    const bool of_put = asked.to == nullptr;
    if (of_put && frame.kind != frame_kind::landed) return senseless;
    if (!of_put && frame.kind == frame_kind::landed) return senseless;
    if (frame.kind == frame_kind::data && frame.content != asked.size) return senseless;
    s.asked.pop_front();
  }
  if (frame.kind == frame_kind::refusal) {
    report_later(failed_, failed_operation{asked.context, s.peer});
    return nullptr;
  }
  s.content = {sockets::arriving::kind::data, asked.to, frame.content, frame.padding};
  s.content.context = asked.context;
  return nullptr;
}

int device::end_content(slot& s, event_sink& sink) {
  if ((s.content.flags & put_head::wants_answer) != 0) {
    // First, as there may be no memory for it: then the next poll tries again.
    answer(s, frame_kind::landed, nullptr, 0);
    s.content.flags &= ~put_head::wants_answer;
  }
  const sockets::arriving whole = std::exchange(s.content, sockets::arriving());
  if (whole.what() == sockets::arriving::kind::data) {
    n_operations_.fetch_sub(1, std::memory_order_relaxed);
    sink.on_complete(whole.context);
    return 1;
  }
  if ((whole.flags & put_head::has_imm) == 0) return 0;
  sink.on_remote_write(s.peer, whole.imm);
  return 1;
}

}  // namespace lci::network::outside
