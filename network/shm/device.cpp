#include "network/shm/device.hpp"

#include <algorithm>
#include <bit>

#include "network/shm/bell.hpp"
#include "network/shm/device_entries.hpp"

namespace lci::network::shm {

namespace {

constexpr int lane_batch = 32;  // messages from one lane before the next lane is drained

}  // namespace

device::device(context& c, const device_attr_t&, size_t eager_size)
    : context_(c), place_(c.open_device()), entry_(c.own().device(place_.entry)) {
  shared_poller_.kept.store(~uint32_t{0}, std::memory_order_relaxed);
  shared_poller_.slow.store(false, std::memory_order_relaxed);
  limits_.max_inject = limits_.max_send = c.largest_message(eager_size);
  limits_.max_rma = size_t{1} << 30;
  limits_.rma = limits_.put_imm = c.attach_works();
  limits_.put_then_send_ordered = true;
  limits_.max_ordered_put = limits_.rma ? limits_.max_rma : 0;  // post() copies the data of a put
  limits_.ordered = true;
  limits_.sends_land_at_once = true;
  if (c.external_peers() != nullptr) next_ending_ = c.external_peers()->add_device();
  changes_seen_.store(c.changes() - 1, std::memory_order_relaxed);  // forces a check of what is there already
}

device::~device() {
  close_entry(context_.own(), place_.entry);
  for (auto& lane : owned_out_)
    if (std::find(spare_out_.begin(), spare_out_.end(), lane.get()) == spare_out_.end())
      close_end(lane->segment(), lane->index(), lane_header::sender);
  leave_external_peers();
  adopt_lanes();
  for (auto& lane : owned_in_)
    if (lane->source() >= 0) close_end(context_.own(), lane->index(), lane_header::receiver);
  free_entry(context_.own(), place_.entry);
}

// --- sending ---

errorcode_t device::inject(int peer, message_head head, const void* payload, size_t size) {
  // The common case is inlined completely, so that no registers need saving.
  const lane_slot* row = lanes_of(thread_index_if_known());
  if (LCI_LIKELY(row != nullptr)) {
    out_lane* lane = row[peer].load(std::memory_order_acquire);  // A5: see R5
    if (LCI_LIKELY(lane != nullptr && lane->has_room_alone())) {
      if (LCI_UNLIKELY(size != out_lane::most_behind_head))
        return size <= out_lane::most_of_lines ? inject_other_size(*lane, head, payload, size)
                                               : inject_slowly(peer, head, payload, size);
      lane->push_full_slot(head, payload);
      after_send(*lane);
      return errorcode_t::done;
    }
    if (lane != nullptr && lane->shared_by_threads && size <= out_lane::most_of_lines)
      return inject_among_threads(peer, head, payload, size);
  }
  return inject_slowly(peer, head, payload, size);
}

LCI_ALWAYS_INLINE inline void device::push_short(out_lane& lane, message_head head, const void* payload, size_t size) {
  if (size == 0)
    lane.push_head(head);
  else if (size <= out_lane::most_behind_head)
    lane.push_slot(head, payload, size);
  else if (size <= out_lane::most_of_line)
    lane.push_line(head, payload, size);
  else
    lane.push_lines(head, payload, size);
  after_send(lane);
}

// To an external peer, or by a thread that has no lane of its own. The lane is looked up again, under its lock, instead
// of being an argument: one argument more would not fit in the registers.
errorcode_t device::inject_among_threads(int peer, message_head head, const void* payload, size_t size) {
  const lane_slot& place = lanes_of(thread_index_if_known())[peer];
  out_lane* const lane = place.load(std::memory_order_acquire);  // A5: see R5
  if (LCI_UNLIKELY(lane == nullptr || !lane->lock.try_lock())) return errorcode_t::retry_lock;
  std::lock_guard guard(lane->lock, std::adopt_lock);
  if (LCI_UNLIKELY(place.load(std::memory_order_acquire) != lane)) return errorcode_t::retry_lock;  // see may_use()
  if (LCI_UNLIKELY(leads_nowhere(*lane, peer))) return errorcode_t::fatal;
  if (LCI_UNLIKELY(!lane->has_room())) return no_room(*lane, peer);
  push_short(*lane, head, payload, size);
  return errorcode_t::done;
}

// A separate function: inlined it would make inject() save registers.
errorcode_t device::inject_other_size(out_lane& lane, message_head head, const void* payload, size_t size) {
  push_short(lane, head, payload, size);
  return errorcode_t::done;
}

errorcode_t device::inject_slowly(int peer, message_head head, const void* payload, size_t size) {
  out_lane* const lane = lane_of(thread_index(), peer);
  if (lane != nullptr && lane->has_room_alone() && size > out_lane::most_of_lines &&
      lane->push_large(&head, sizeof head, payload, size, entry_.idle_polls)) {
    after_send(*lane);
    return errorcode_t::done;
  }
  return network::device::inject(peer, head, payload, size);
}

errorcode_t device::send(const net_op& op) {
  const size_t size = op.segments[0].size + (op.n_segments > 1 ? op.segments[1].size : 0);
  out_lane* lane = lane_of(thread_index(), op.peer);
  if (LCI_UNLIKELY(lane == nullptr)) {
    errorcode_t why = errorcode_t::retry_nomem;
    if ((lane = open_lane(op.peer, why)) == nullptr) return why;
  }
  if (LCI_UNLIKELY(lane->shared_by_threads)) {
    if (!lane->lock.try_lock()) return errorcode_t::retry_lock;
    std::lock_guard guard(lane->lock, std::adopt_lock);
    if (LCI_UNLIKELY(!may_use(*lane, op.peer))) return errorcode_t::retry_lock;
    if (LCI_UNLIKELY(leads_nowhere(*lane, op.peer))) return errorcode_t::fatal;
    return push(*lane, op, size);
  }
  return push(*lane, op, size);
}

inline errorcode_t device::push(out_lane& lane, const net_op& op, size_t size) {
  if (LCI_UNLIKELY(!lane.has_room())) return no_room(lane, op.peer);
  const segment& a = op.segments[0];
  const segment& b = op.segments[1];
  const size_t b_size = size - a.size;
  if (LCI_LIKELY(size <= slot_word::widest)) {
    lane.push_small(a.base, a.size, b.base, b_size);
  } else if (!lane.push_large(a.base, a.size, b.base, b_size, entry_.idle_polls)) {
    return no_room(lane, op.peer);
  }
  after_send(lane);
  return errorcode_t::done;
}

errorcode_t device::no_room(const out_lane& lane, int peer) {
  context_.watch_peers();
  return lane.receiver_closed() || context_.has_failed(peer) ? errorcode_t::fatal : errorcode_t::retry_nomem;
}

void device::ring_bell(device_entry& entry) { ring(entry); }

// --- receiving ---

// Rare cases are calls at the end, so that no registers need saving. `me` is constant where it is null.
LCI_ALWAYS_INLINE inline int device::poll_known_lanes(event_sink& sink, poller* me, uint32_t n_lanes) {
  const lane_place* lanes = in_lanes_.load(std::memory_order_acquire);  // A2: or a later, longer one
  // Most polls find nothing: they must be short, since an arriving message waits for them to end.
  if (me == nullptr) {
    for (uint32_t i = 0; i < n_lanes; ++i)
      if (lanes[i].load(std::memory_order_relaxed)->is_due()) return drain(sink, lanes, first_lanes(n_lanes), me);
  } else {
    const uint32_t mine = visited_by(*me) & first_lanes(n_lanes);
    for (uint32_t left = mine; left != 0; left &= left - 1)
      if (lanes[std::countr_zero(left)].load(std::memory_order_relaxed)->is_due()) return drain(sink, lanes, mine, me);
    if (LCI_UNLIKELY(looks_further(*me)))
      if (const int events = poll_other_lanes(sink, *me, lanes, n_lanes)) return events;
  }
  std::atomic<uint32_t>& counter = me == nullptr ? entry_.idle_polls : me->idle_polls;
  const uint32_t polls = counter.load(std::memory_order_relaxed) + 1;
  counter.store(polls, std::memory_order_relaxed);
  if (me != nullptr && polls % polls_between_reports == 0) report(*me, polls);
  if (LCI_UNLIKELY(crowd_.is_due(polls) || (changes_seen_.load(std::memory_order_relaxed) != context_.changes())))
    return look_around(sink, me, polls);
  return 0;
}

LCI_ALWAYS_INLINE inline int device::poll_lanes(event_sink& sink, poller* me) {
  const uint32_t n_lanes = n_few_lanes_.load(std::memory_order_acquire);  // A4: an array of so many lanes
  if (LCI_UNLIKELY(device_entry::lanes_in(entry_.announced.load(std::memory_order_relaxed)) != n_lanes))
    return poll_new_or_many_lanes(sink, me);
  return poll_known_lanes(sink, me, n_lanes);
}

int device::poll_new_or_many_lanes(event_sink& sink, poller* me) {
  if (device_entry::lanes_in(entry_.announced.load(std::memory_order_relaxed)) !=
      n_in_lanes_.load(std::memory_order_relaxed))
    adopt_lanes();
  const uint32_t n_lanes = n_in_lanes_.load(std::memory_order_acquire);  // A4
  if (n_lanes <= lanes_of_each_poll) return poll_known_lanes(sink, me, n_lanes);
  const int events = poll_many_lanes(sink, me, n_lanes);
  return events != 0 ? events : poll_known_lanes(sink, me, 0);
}

int device::poll(event_sink& sink, int max_events) {
  (void)max_events;  // a batch from each lane keeps them fair
  if (LCI_UNLIKELY(thread_index_if_known() != only_poller_.load(std::memory_order_relaxed)))
    return poll_among_others(sink);
  return poll_lanes(sink, nullptr);
}

// Threads that poll at the same time share no line that a poll writes: an arriving message would wait for its transfer.
int device::poll_among_others(event_sink& sink) {
  const int thread = thread_index_if_known();
  poller* me = LCI_LIKELY(thread >= 0) ? pollers_.get(static_cast<size_t>(thread)) : nullptr;
  if (LCI_UNLIKELY(me == nullptr)) {
    me = join_pollers();
    if (me == nullptr) return poll_lanes(sink, nullptr);
  }
  const uint32_t polls = me->polls.load(std::memory_order_relaxed) + 1;
  me->polls.store(polls, std::memory_order_relaxed);
  if (LCI_UNLIKELY(polls % polls_of_round == 0) || LCI_UNLIKELY(me->slow.load(std::memory_order_relaxed)))
    observe_polls(*me, polls);
  return poll_lanes(sink, me);
}

int device::drain(event_sink& sink, const lane_place* lanes, uint32_t which, poller* me) {
  const uint32_t idle_polls = (me == nullptr ? entry_.idle_polls : me->idle_polls).load(std::memory_order_relaxed);
  (me == nullptr ? only_ : *me).idle_before_event.store(idle_polls, std::memory_order_relaxed);
  int events = 0;
  bool busy = false;
  for (; which != 0; which &= which - 1) {
    in_lane& lane = *lanes[std::countr_zero(which)].load(std::memory_order_relaxed);
    if (!lane.ready() || !lane.lock.try_lock()) continue;
    std::lock_guard guard(lane.lock, std::adopt_lock);
    if (LCI_UNLIKELY(lane.source() < 0)) continue;
    const bool lone = !lane.in_a_stream(idle_polls);
    busy |= !lone;
    events += lane.drain(
        lone && prepare_answer(lane) ? 1 : lane_batch,
        [&](int source, const std::byte* data, size_t size) { sink.on_recv(source, data, size, nullptr); },
        [&](int source, uint32_t imm) { sink.on_remote_write(source, imm); });
  }
  // In a constant stream of messages polls are never idle, so check the peers here.
  if (LCI_UNLIKELY(busy) && LCI_UNLIKELY(changes_seen_.load(std::memory_order_relaxed) != context_.changes()))
    (void)check_peers(sink);
  return events > 0 ? events : -1;
}

// The peer polls the slot of the answer. It is fetched for writing while the message is read, unless that takes so long
// that the peer takes it back meanwhile: then the answer would wait for it twice.
inline void device::fetch_slot_of_answer(const in_lane& lane, const out_lane& back) {
  if (!lane.next_is_in_byte_ring()) back.prefetch_next();
}

bool device::prepare_answer(in_lane& lane) {
  const int thread = thread_index_if_known();
  out_lane* const back = thread >= 0 ? lane_of(thread, lane.source()) : nullptr;
  if (back == nullptr) return false;
  if (LCI_UNLIKELY(back->shared_by_threads)) return prepare_answer_among_threads(lane, *back);
  if (lane.own() && back->index() == lane.index()) return false;  // the thread's message to itself
  if (!lane.is_answered(back->sent())) return false;
  fetch_slot_of_answer(lane, *back);
  return true;
}

bool device::prepare_answer_among_threads(in_lane& lane, out_lane& back) {
  if (!back.lock.try_lock()) return false;
  std::lock_guard guard(back.lock, std::adopt_lock);
  if (!may_use(back, lane.source()) || !lane.is_answered(back.sent())) return false;
  fetch_slot_of_answer(lane, back);
  return true;
}

attention device::attention_of(int peer) {
  out_lane* const lane = lane_of(thread_index(), peer);
  if (lane == nullptr || lane->shared_by_threads || context_.is_external(peer)) return attention::unknown;
  return lane->receivers_attention(entry_.idle_polls.load(std::memory_order_relaxed));
}

template <class F>
bool device::any_lane(F f) const {
  const uint32_t n_lanes = n_in_lanes_.load(std::memory_order_acquire);  // A4
  const lane_place* lanes = in_lanes_.load(std::memory_order_acquire);   // A2
  std::unique_lock guard(mutex_, std::defer_lock);
  if (n_lanes > lanes_of_each_poll) guard.lock();  // of lanes that are being exchanged one might be missed
  return std::any_of(lanes, lanes + n_lanes,
                     [&](const lane_place& p) { return f(*p.load(std::memory_order_relaxed)); });
}

bool device::has_met(int peer) {
  if (context_.has_turned_to(peer)) return true;
  return any_lane([=](const in_lane& lane) { return lane.source() == peer; });
}

int device::look_around(event_sink& sink, poller* me, uint32_t polls) {
  crowd_.look(polls, polls - (me == nullptr ? only_ : *me).idle_before_event.load(std::memory_order_relaxed));
  // Where threads yield, polls come here more often than the peers need to be looked after.
  if (polls % polls_between_looks != 0 && changes_seen_.load(std::memory_order_relaxed) == context_.changes()) return 0;
  return me == nullptr ? check_peers(sink) : check_peers_after_all_lanes(sink, *me);
}

int device::check_peers(event_sink& sink) {
  context_.watch_peers();
  const uint64_t changes = context_.changes();
  size_t seen = failures_reported_.load(std::memory_order_relaxed);
  while (LCI_UNLIKELY(seen < context_.n_failures()))
    if (failures_reported_.compare_exchange_strong(seen, seen + 1, std::memory_order_relaxed))
      sink.on_peer_failure(context_.failure(seen++), "its process has ended without a close notification");
  const bool told = look_for_ends(sink);
  const bool done = (context_.external_peers() == nullptr || check_external_peers(sink)) && told;
  if (done && changes_seen_.load(std::memory_order_relaxed) != changes)  // polls of all threads read that line
    changes_seen_.store(changes, std::memory_order_relaxed);
  return 0;
}

bool device::look_for_ends(event_sink& sink) {
  size_t due = 0;
  {
    const std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard.owns_lock()) return true;  // another thread is checking, or opening a lane
    due = closed_peers_.size();           // these were found in the previous check
    for (const auto& lane : owned_out_) {
      const int peer = lane->target;
      if (peer >= 0 && lane->receiver_closed()) note_closed(peer);
    }
  }
  // If a handler throws, the next check reports the others.
  for (;;) {
    int peer = -1;
    {
      const std::unique_lock guard(mutex_, std::try_to_lock);
      if (!guard.owns_lock() || n_ends_told_ >= due) return true;
      peer = closed_peers_[n_ends_told_];
      // Its messages come first, whichever thread keeps their lanes. A lane that a thread drains is ready, too.
      for (const auto& lane : owned_in_)
        if (lane->source() == peer && lane->ready()) return false;
      ++n_ends_told_;
    }
    sink.on_device_end(peer);
  }
}

bool device::anything_ready() const {
  const uint32_t n_lanes = n_in_lanes_.load(std::memory_order_acquire);
  if (device_entry::lanes_in(entry_.announced.load(std::memory_order_acquire)) != n_lanes) return true;
  return any_lane([](const in_lane& lane) { return lane.ready(); });
}

// No unpark() is lost: it sets the flag before it changes the bell. If the sleeper has read the changed bell, it sees
// the flag (A7); otherwise the kernel finds the bell changed, or a thread to wake.
void device::unpark() {
  unparked_.store(true, std::memory_order_relaxed);
  ring(entry_);  // R7: releases the flag
}

void device::sleep(int64_t timeout_us, bool parked) {
  // A message in a lane of any poller ends the sleep, or prevents it, so the next poll must find it.
  if (poller* me = known_poller()) me->everywhere.store(true, std::memory_order_relaxed);
  context_.watch_peers();
  const uint32_t bell = entry_.bell.load(std::memory_order_acquire);  // A7: pairs with R7
  if (parked && unparked_.exchange(false, std::memory_order_relaxed)) return;
  announce_sleeper(entry_);
  if (!anything_ready() && changes_seen_.load(std::memory_order_relaxed) == context_.changes()) {
    // Peers that die don't ring the bell, so wake up now and then.
    sleep_until_bell(entry_, bell, std::min<int64_t>(timeout_us, 100000));
  }
  entry_.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace lci::network::shm
