// Construction, opening and closing of links, sleep.
#include "network/tcp/outside/device.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/memory.hpp"

namespace lci::network::outside {

namespace {

constexpr size_t longest_bundle = size_t{32} << 10;
// Time limit for reading the last messages of a peer that has disconnected.
constexpr std::chrono::seconds last_messages{5};
constexpr std::chrono::seconds longest_parting{2};
constexpr size_t most_partings = 64;
// A peer that finalizes frees its devices first, so a link's end is usually followed by the connection's end. Time to
// wait for that.
constexpr std::chrono::milliseconds device_end_delay{300};
constexpr int64_t longest_sleep_us = 20000;
// Time limit for reading messages of a peer that has died, from the kernel's buffers.
constexpr int most_last_reads = 256;

socket_handle new_epoll(int of_context, uint64_t context_mark, int wake, uint64_t wake_mark) {
  socket_handle made(epoll_create1(EPOLL_CLOEXEC));
  if (made.get() < 0 || !watch(made.get(), of_context, EPOLLIN, context_mark, true) ||
      !watch(made.get(), wake, EPOLLIN, wake_mark, true))
    throw resource_error(std::string("tcp: no epoll for peers outside of the job: ") + std::strerror(errno) +
                         "; raise `ulimit -n`");
  return made;
}

}  // namespace

device::device(context& c, size_t eager_size)
    : context_(c),
      bundle_end_(std::min(longest_bundle, c.attr().tcp_buffer_size / 4)),
      wake_("tcp"),
      chunks_(std::max({c.attr().tcp_buffer_size, sockets::frame_begin + sockets::connection::large,
                        sockets::frame_begin + sockets::frame_room(std::min(eager_size, sockets::largest_content))})),
      slots_(new std::atomic<slot*>[static_cast<size_t>(c.capacity())]()) {
  limits_.max_inject = limits_.max_send = std::min(eager_size, sockets::largest_content);
  limits_.max_rma = std::min(c.attr().max_msg_size, sockets::largest_content);
  limits_.rma = limits_.put_imm = limits_.put_then_send_ordered = limits_.ordered = true;
  limits_.max_ordered_put = limits_.max_rma;  // the one link to a peer carries everything in posting order
  events_ = new_epoll(c.events(), context_mark, wake_.fd(), wake_mark);
  number_ = context_.add(*this, eager_size);
  try {
    context_.flusher().add(*this);
  } catch (...) {
    context_.remove(*this);
    throw;
  }
}

device::~device() {
  context_.flusher().remove(*this);
  context_.remove(*this);
  for (const note& n : notes_)
    if (n.is_end) context_.dealt_with(n.peer);
}

slot& device::make_slot(int peer) {
  std::lock_guard guard(slots_mutex_);
  if (slot* const there = slot_if_any(peer)) return *there;
  const size_t n = owned_slots_.size() + 1;
  waiting_.reserve(n);
  deferred_.reserve(undelivered_, 2 * n);
  owned_slots_.push_back(std::make_unique<slot>(peer));
  slots_[static_cast<size_t>(peer - context_.first())].store(owned_slots_.back().get(),
                                                             std::memory_order_release);  // R1
  return *owned_slots_.back();
}

errorcode_t device::open_if_connected(slot& s) {
  if (s.close_sent || s.ended) return errorcode_t::fatal;
  const uint32_t now = context_.generation_of(s.peer);
  // The lock is held while the end of the last connection is handled; no new connection begins before that.
  if (now == 0 || now == s.generation) return errorcode_t::fatal;
  s.generation = now;
  s.open = true;
  return errorcode_t::done;
}

registration device::register_memory(void* base, size_t size) {
  registration r;
  r.rkey = regions_.add(base, size);
  return r;
}

// --- notifications by the context ---

void device::note_link(new_link made) {
  // Handle the notes at once if possible, so that messages that are posted next are sent before a disconnect().
  std::list<note> one;
  insist_on_memory([&] { one.emplace_back(); });
  note& n = one.front();
  n = {made.peer, made.generation, false, std::move(made), departure::left, {}};
  bool taken = false;
  try {
    taken = take_link(n);
  } catch (const std::bad_alloc&) {
  } catch (const resource_error&) {
  }
  if (!taken) {
    std::lock_guard guard(notes_lock_);
    notes_.splice(notes_.end(), one);
    any_notes_.store(true, std::memory_order_release);
  }
  wake_.set();
}

void device::note_end(int peer, uint32_t generation, departure how) {
  std::list<note> one;
  // The context waits for each device before it retires the id.
  insist_on_memory([&] { one.emplace_back(); });
  one.front() = {peer, generation, true, {}, how, clock::now() + last_messages};
  {
    std::lock_guard guard(notes_lock_);
    notes_.splice(notes_.end(), one);
    any_notes_.store(true, std::memory_order_release);
  }
  wake_.set();
}

bool device::handle_notes(event_sink& sink) {
  if (handling_notes_.exchange(true, std::memory_order_acquire)) return false;
  struct end {  // also if a handler throws
    device& of;
    std::list<note> left;
    ~end() {
      if (!left.empty()) {
        std::lock_guard guard(of.notes_lock_);
        of.notes_.splice(of.notes_.begin(), left);
        of.any_notes_.store(true, std::memory_order_relaxed);
      }
      of.handling_notes_.store(false, std::memory_order_release);
    }
  } now{*this, {}};
  {
    std::lock_guard guard(notes_lock_);
    now.left.swap(notes_);
    any_notes_.store(false, std::memory_order_relaxed);
  }
  for (auto n = now.left.begin(); n != now.left.end();) {
    if (!handle(*n, sink)) {
      ++n;
      continue;
    }
    // Notify the context last, also if the sink throws.
    struct dealt {
      context& of;
      const int peer;
      ~dealt() {
        if (peer >= 0) of.dealt_with(peer);
      }
    } const at_end{context_, n->is_end ? n->peer : -1};
    const departure how = n->how;
    const int gone = at_end.peer;
    n = now.left.erase(n);
    if (gone >= 0) report_departure(gone, how, sink);
  }
  report_device_ends(sink);
  advance_partings();
  return true;
}

void device::report_departure(int peer, departure how, event_sink& sink) {
  // The first exception of a handler. The rest is reported all the same, as the id is retired next.
  std::exception_ptr thrown;
  for (bool all = false; !all;) {
    try {
      deferred_.report(failed_, [&](const failed_operation& o) {
        n_operations_.fetch_sub(1, std::memory_order_relaxed);
        sink.on_operation_failure(o.context, o.peer);
      });
      all = true;
    } catch (...) {
      if (thrown == nullptr) thrown = std::current_exception();
    }
  }
  sink.on_peer_departure(peer, how);
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

bool device::handle(note& n, event_sink& sink) { return n.is_end ? end_link(n, sink) : take_link(n); }

bool device::take_link(note& n) {
  slot& s = slot_of(n.peer);
  const attempt receiving(s.receive_lock);
  if (receiving.failed()) return false;
  const attempt sending(s.lock);
  if (sending.failed()) return false;
  if (!s.open && n.generation > s.generation) {
    // Also if the connection has ended meanwhile: its messages are delivered, and the note of its end follows.
    s.generation = n.generation;
    s.open = true;
  }
  if (!s.open || s.generation != n.generation || s.way) return true;  // no peer makes two
  // Fails only for lack of resources; then a later poll tries again.
  if (n.made.network < 0) {
    if (!watch(events_.get(), n.made.socket.get(), EPOLLIN, static_cast<uint64_t>(n.peer), true)) return false;
    s.way = link(std::move(n.made.socket));
  } else {
    stream_port& port = *ports_[static_cast<size_t>(n.made.network)];
    s.way = link(port, port.open(n.peer, n.made.is_initiator, n.made.socket));
    context_.flusher().notice();  // the stream begins also if nobody polls
  }
  s.largest = n.made.largest;
  s.over = s.closed = false;
  n_links_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool device::end_link(note& n, event_sink& sink) {
  slot* const s = slot_if_any(n.peer);
  if (s == nullptr) return true;
  const attempt receiving(s->receive_lock);
  if (receiving.failed()) return false;
  if (n.how != departure::disconnected && s->way && !s->over) {
    // First deliver the peer's messages. If it has disconnected, all of them arrive, followed by the end of the stream.
    int n_events = 0;
    for (int reads = 0; reads < most_last_reads && read(*s, sink, n_events); ++reads) {
    }
    if (n.how == departure::left && !s->over && clock::now() < n.until) return false;
  }
  const attempt sending(s->lock);
  if (sending.failed()) return false;
  if (s->open && s->generation == n.generation) close(*s, n.how == departure::disconnected);
  s->generation = std::max(s->generation, n.generation);
  return true;
}

void device::close(slot& s, bool by_this_side) {
  link way = std::move(s.way);
  if (way) n_links_.fetch_sub(1, std::memory_order_relaxed);
  if (way.descriptor() >= 0) epoll_ctl(events_.get(), EPOLL_CTL_DEL, way.descriptor(), nullptr);
  slot* expected = &s;
  recent_.compare_exchange_strong(expected, nullptr, std::memory_order_relaxed);
  if (by_this_side && way && !s.broken && !s.over) {
    parting p{std::move(way), {}, clock::now() + longest_parting};
    // The program's memory must not be read any more, so nothing can follow the partial content in the stream.
    while (!s.waiting.empty() && s.waiting.front().copied != nullptr)
      p.waiting.splice(p.waiting.end(), s.waiting, s.waiting.begin());
    if (partings_.size() >= most_partings) partings_.pop_front();
    partings_.push_back(std::move(p));
    any_later_.store(true, std::memory_order_relaxed);
  }
  drop_operations(s);
  s.open = s.ended = s.blocked = s.broken = s.close_sent = s.shut = false;
  chunks_.give(std::move(s.incoming));
  s.content = {};
  s.over = s.closed = false;
}

void device::drop_operations(slot& s) {
  const auto fail = [&](void* context) {
    if (context != nullptr) report_later(failed_, failed_operation{context, s.peer});
  };
  for (const sockets::outgoing& o : s.waiting) fail(o.content.context());
  for (const sockets::request& r : s.asked) fail(r.context);
  if (s.content.what() == sockets::arriving::kind::data) fail(s.content.context);
  s.content = {};
  for (sockets::outgoing& o : s.waiting) chunks_.give(std::move(o.copied));
  s.waiting.clear();
  s.asked.clear();
}

void device::report_device_ends(event_sink& sink) {
  const auto now = clock::now();
  for (;;) {
    device_end e{};
    {
      std::lock_guard guard(notes_lock_);
      if (device_ends_.empty() || now - device_ends_.front().since < device_end_delay) return;
      e = device_ends_.front();
    }
    slot& s = *e.of;
    bool goes_on = false;
    {
      const attempt receiving(s.receive_lock);
      if (receiving.failed()) return;
      const attempt sending(s.lock);
      if (sending.failed()) return;
      goes_on = s.open && s.generation == e.generation && context_.generation_of(s.peer) == e.generation;
      if (goes_on) s.ended = true, drop_operations(s);
    }
    {
      std::lock_guard guard(notes_lock_);
      device_ends_.erase(device_ends_.begin());
    }
    if (goes_on) sink.on_device_end(s.peer);
  }
}

bool device::advance(parting& p) {
  while (!p.waiting.empty()) {
    const written how = write(p.way, p.waiting.front());
    if (how == written::broken) return true;
    if (how == written::partly) return clock::now() >= p.until;
    p.waiting.pop_front();
  }
  if (!p.shut) p.way.end();
  p.shut = true;
  if (p.way.is_read()) return true;
  // Closing a socket with unread data would reset the connection, and drop data in flight.
  char ignored[4096];
  for (int reads = 0; reads < most_last_reads; ++reads) {
    const ssize_t n = p.way.read(ignored, sizeof ignored);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return true;
    if (n < 0) break;
  }
  return clock::now() >= p.until;
}

bool device::advance_partings() {
  partings_.remove_if([this](parting& p) { return advance(p); });
  std::lock_guard guard(notes_lock_);
  any_later_.store(!partings_.empty() || !device_ends_.empty(), std::memory_order_relaxed);
  return partings_.empty();
}

// --- the end of the device, and sleep ---

bool device::flushed() {
  const auto now = clock::now();
  if (close_until_ == clock::time_point()) close_until_ = now + longest_parting;
  if (now >= close_until_) return true;
  flush_all();
  bool all = true;
  std::vector<slot*> slots;
  {
    std::lock_guard guard(slots_mutex_);
    for (const auto& s : owned_slots_) slots.push_back(s.get());
  }
  for (slot* const one : slots) {
    slot& s = *one;
    std::lock_guard guard(s.lock);
    if (!s.open || !s.way || s.broken || s.ended) continue;
    if (!s.close_sent) {
      if (append(s, frame_kind::close, {}, nullptr, SIZE_MAX) != errorcode_t::done) continue;
      s.close_sent = true;
    }
    if (!s.blocked) flush(s);
    if (!s.waiting.empty()) {
      all = false;
      continue;
    }
    if (!s.shut) s.way.end();
    s.shut = true;
    if (s.way.has_unsent()) all = false;
  }
  if (handling_notes_.exchange(true, std::memory_order_acquire)) return false;
  all = advance_partings() && all;
  handling_notes_.store(false, std::memory_order_release);
  return all && !any_notes_.load(std::memory_order_relaxed);
}

void device::sleep(int64_t timeout_us, bool parked) {
  if (timeout_us <= 0) return;
  flush_all();
  bool is_woken = true;
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  if (!deferred_.any() && !any_notes_.load(std::memory_order_acquire)) {
    sleep_set events(std::min(timeout_us, parked ? timeout_us : longest_sleep_us));
    for (size_t i = 0; i < n_ports_.load(std::memory_order_acquire); ++i) events.limit(ports_[i]->longest_sleep_us());
    events.add(events_.get());
    is_woken = events.sleep();
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
  // Who sleeps again and again without an event makes the progress that has none.
  if (!is_woken) advance_ports();
}

}  // namespace lci::network::outside
