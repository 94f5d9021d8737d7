// Several threads that poll a device: which lanes each of them keeps, and who visits those of one that has stopped.
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <tuple>

#include "lib/base/ticks.hpp"
#include "network/shm/device.hpp"

namespace lci::network::shm {

namespace {

// Of each poller but the one that reports, before it looks whether that one still does.
constexpr uint32_t polls_between_checks = 256;
// Polls that are further apart are slow: a message would wait for longer than a visit of all lanes takes.
const uint64_t slow_round = ticks_in(std::chrono::microseconds(8));     // device::polls_of_round polls
const uint64_t absent_round = ticks_in(std::chrono::microseconds(64));  // the same of a poller that others see stop
// A look at another poller's count takes a line from it, so looks at one that polls are rare. One that has stopped, as
// the count was the same at most_looks looks, may be late only: then two threads visit its lanes for a moment. If it
// has stopped, the next ones have often stopped, too: e.g. where there are fewer cores than threads.
const uint64_t between_walks = ticks_in(std::chrono::microseconds(8));
const uint64_t between_looks = ticks_in(std::chrono::microseconds(1));
constexpr uint32_t most_looks = 8, most_looks_further = 2;
// Walks in a row, some milliseconds, that have found that a poller has stopped: then others keep its lanes.
constexpr uint32_t stops_until_absent = 128;

}  // namespace

/// The first poll of a thread, or of the first one after another has polled. Returns null if it is the only one.
poller* device::join_pollers() {
  const int thread = thread_index();
  // Relaxed: it only says which counters to use. A thread that finds the old value polls once more as if alone.
  int only = only_poller_.load(std::memory_order_relaxed);
  if (only == no_poller &&
      only_poller_.compare_exchange_strong(only, thread, std::memory_order_relaxed, std::memory_order_relaxed))
    return nullptr;
  if (only == thread) return nullptr;
  if (only != several_pollers) only_poller_.store(several_pollers, std::memory_order_relaxed);
  if (thread == max_thread_index) return &shared_poller_;
  std::lock_guard guard(mutex_);
  try {
    auto made = std::make_unique<poller>(thread);
    owned_pollers_.reserve(owned_pollers_.size() + 1);
    ring_.reserve(owned_pollers_.size() + 1);  // share_lanes_out() must not fail
    pollers_.put(static_cast<size_t>(thread), made.get());
    owned_pollers_.push_back(std::move(made));
    poller* const mine = owned_pollers_.back().get();
    if (reporter_.load(std::memory_order_relaxed) == nullptr) reporter_.store(mine, std::memory_order_relaxed);
    share_lanes_out();
    return mine;
  } catch (const std::bad_alloc&) {
    return &shared_poller_;
  }
}

// Threads of a process whose indices are neighbours often work on the same, and so do threads of the same index in
// several processes. So the lanes of a peer's threads go to the pollers of the same order; those of the own rank go to
// neighbours, as messages that a thread sends to its own rank are probably for another one (docs/decisions/0029).
void device::share_lanes_out() {
  ring_.clear();
  for (const auto& p : owned_pollers_)
    if (!p->absent.load(std::memory_order_relaxed)) ring_.push_back({p.get(), 0, 0});
  if (ring_.empty()) return;
  std::sort(ring_.begin(), ring_.end(), [](const share& a, const share& b) { return a.of->thread < b.of->thread; });
  const lane_place* const lanes = in_lanes_.load(std::memory_order_relaxed);
  const size_t n_lanes = std::min(n_in_lanes_.load(std::memory_order_relaxed), lanes_of_each_poll);
  const auto lane_at = [=](size_t place) -> const in_lane& { return *lanes[place].load(std::memory_order_relaxed); };
  std::array<uint32_t, lanes_of_each_poll> places;
  for (uint32_t i = 0; i < n_lanes; ++i) places[i] = i;
  std::sort(places.begin(), places.begin() + n_lanes, [&](uint32_t a, uint32_t b) {
    const in_lane &x = lane_at(a), &y = lane_at(b);
    return std::tuple(x.source(), x.thread(), a) < std::tuple(y.source(), y.thread(), b);
  });
  const size_t n = ring_.size();
  size_t n_own = 0, n_others = 0;
  for (size_t i = 0; i < n_lanes; ++i) {
    const in_lane& lane = lane_at(places[i]);
    const uint32_t bit = uint32_t{1} << places[i];
    if (!lane.own()) {
      ring_[n_others++ % n].kept |= bit;
      continue;
    }
    const size_t turn = n_own++ % n;
    size_t keeper = n % 2 == 0 ? turn ^ 1 : (turn + 1) % n;
    if (ring_[keeper].of->thread == lane.thread()) keeper = (keeper + 1) % n;
    ring_[keeper].kept |= bit;
    for (share& s : ring_)
      if (s.of->thread == lane.thread()) s.own |= bit;
  }
  for (size_t i = 0; i < n; ++i) {
    const auto change = [](std::atomic<uint32_t>& of, uint32_t to) {  // a store would take the line from its thread
      if (of.load(std::memory_order_relaxed) != to) of.store(to, std::memory_order_relaxed);
    };
    change(ring_[i].of->kept, ring_[i].kept);
    change(ring_[i].of->own, ring_[i].own);
    poller* const next = ring_[(i + 1) % n].of;
    if (ring_[i].of->next.load(std::memory_order_relaxed) != next)
      ring_[i].of->next.store(next, std::memory_order_release);  // R10: pairs with A10
  }
  only_poller_.store(n == 1 ? ring_.front().of->thread : several_pollers, std::memory_order_relaxed);
}

/// At the end of a round, and at each slow poll: whether the thread is slow, and whether others have stopped.
void device::observe_polls(poller& me, uint32_t polls) {
  if (&me == &shared_poller_) return;
  const uint64_t now = cpu_ticks();
  if (polls % polls_of_round == 0) {
    const uint64_t took = now - me.round_since.load(std::memory_order_relaxed);
    me.round_since.store(now, std::memory_order_relaxed);
    me.slow.store(took > slow_round, std::memory_order_relaxed);
    if (LCI_UNLIKELY(me.absent.load(std::memory_order_relaxed)) && took <= absent_round) {
      const std::unique_lock guard(mutex_, std::try_to_lock);
      if (!guard.owns_lock()) return;
      me.absent.store(false, std::memory_order_relaxed);
      share_lanes_out();
    }
  }
  poller* const other = me.looked_at.load(std::memory_order_relaxed);
  const bool between = me.looks.load(std::memory_order_relaxed) == 0 &&
                       (other == nullptr || other == me.next.load(std::memory_order_relaxed));
  if (now - me.last_look.load(std::memory_order_relaxed) < (between ? between_walks : between_looks)) return;
  me.last_look.store(now, std::memory_order_relaxed);
  look_at_others(me);
}

// Each poller looks at the next one of the ring, and at those behind it as long as they have stopped. So one that has
// stopped is found by the nearest one before it that still polls. If no other one polls, its walk leads round the ring.
void device::look_at_others(poller& me) {
  poller* const other = me.looked_at.load(std::memory_order_relaxed);
  if (other == nullptr) return begin_walk(me);
  poller* const first = me.next.load(std::memory_order_acquire);  // A10: pairs with R10
  const uint32_t polls = other->polls.load(std::memory_order_relaxed);
  const bool moved = polls != me.polls_seen.load(std::memory_order_relaxed);
  const auto looks = static_cast<uint16_t>(me.looks.load(std::memory_order_relaxed) + 1);
  const auto moves = static_cast<uint16_t>(me.moves.load(std::memory_order_relaxed) + moved);
  me.polls_seen.store(polls, std::memory_order_relaxed);
  me.looks.store(looks, std::memory_order_relaxed);
  me.moves.store(moves, std::memory_order_relaxed);
  // One that had stopped, and polls now and then, as a progress thread that stands aside, goes on counting as stopped.
  const bool had_stopped = other->times_stopped.load(std::memory_order_relaxed) != 0;
  const bool last = looks >= (other == first ? most_looks : most_looks_further);
  if (had_stopped ? last && 2 * moves >= looks : moved) {
    if (had_stopped) other->times_stopped.store(0, std::memory_order_relaxed);
    me.taken.store(me.gathered.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return begin_walk(me);
  }
  if (!last) return;
  note_stop(*other);
  const uint32_t gathered = me.gathered.load(std::memory_order_relaxed) | other->kept.load(std::memory_order_relaxed);
  me.gathered.store(gathered, std::memory_order_relaxed);
  poller* const next = other->next.load(std::memory_order_acquire);  // A10: pairs with R10
  const bool round = next == &me || next == first;
  // Lanes that an earlier walk has taken stay so until this one ends.
  me.taken.store(round ? gathered : gathered | me.taken.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (round) return begin_walk(me);
  me.looked_at.store(next, std::memory_order_relaxed);
  me.polls_seen.store(next->polls.load(std::memory_order_relaxed), std::memory_order_relaxed);
  me.looks.store(0, std::memory_order_relaxed);
  me.moves.store(0, std::memory_order_relaxed);
}

void device::begin_walk(poller& me) {
  poller* const first = me.next.load(std::memory_order_acquire);  // A10
  poller* const other = first == &me ? nullptr : first;
  me.gathered.store(0, std::memory_order_relaxed);
  me.looks.store(0, std::memory_order_relaxed);
  me.moves.store(0, std::memory_order_relaxed);
  me.looked_at.store(other, std::memory_order_relaxed);
  if (other != nullptr)
    me.polls_seen.store(other->polls.load(std::memory_order_relaxed), std::memory_order_relaxed);
  else
    me.taken.store(0, std::memory_order_relaxed);
}

void device::note_stop(poller& other) {
  if (!other.everywhere.load(std::memory_order_relaxed)) other.everywhere.store(true, std::memory_order_relaxed);
  const uint32_t times = other.times_stopped.load(std::memory_order_relaxed) + 1;
  other.times_stopped.store(times, std::memory_order_relaxed);
  if (times < stops_until_absent) return;
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock() || ring_.size() < 2) return;
  other.times_stopped.store(0, std::memory_order_relaxed);
  other.absent.store(true, std::memory_order_relaxed);
  share_lanes_out();
}

/// After a poll that has found nothing in the lanes that its poller visits.
int device::poll_other_lanes(event_sink& sink, poller& me, const lane_place* lanes, uint32_t n_lanes) {
  uint32_t others = first_lanes(n_lanes) & ~visited_by(me);
  if (me.everywhere.load(std::memory_order_relaxed))
    me.everywhere.store(false, std::memory_order_relaxed);
  else
    others &= ~me.own.load(std::memory_order_relaxed);  // another thread visits them: see docs/decisions/0029
  for (; others != 0; others &= others - 1)
    if (lanes[std::countr_zero(others)].load(std::memory_order_relaxed)->is_due())
      return drain(sink, lanes, others, &me);
  return 0;
}

/// A failure of a peer is reported after its messages, whichever thread keeps their lanes; ends are in look_for_ends().
int device::check_peers_after_all_lanes(event_sink& sink, poller& me) {
  context_.watch_peers();
  if (LCI_LIKELY(failures_reported_.load(std::memory_order_relaxed) == context_.n_failures())) return check_peers(sink);
  const uint32_t n_lanes = n_in_lanes_.load(std::memory_order_acquire);  // A4
  const lane_place* lanes = in_lanes_.load(std::memory_order_acquire);   // A2
  me.everywhere.store(true, std::memory_order_relaxed);
  const int events = poll_other_lanes(sink, me, lanes, std::min(n_lanes, lanes_of_each_poll));
  return events != 0 ? events : check_peers(sink);
}

// One thread writes the count that peers read. If all did, each would wait for the line that another one has written.
void device::report(poller& me, uint32_t polls) {
  if (LCI_LIKELY(reporter_.load(std::memory_order_relaxed) == &me)) {
    entry_.idle_polls.store(polls, std::memory_order_relaxed);
  } else if (polls % polls_between_checks == 0) {
    const uint32_t now = entry_.idle_polls.load(std::memory_order_relaxed);
    if (now == me.reported.load(std::memory_order_relaxed)) reporter_.store(&me, std::memory_order_relaxed);
    me.reported.store(now, std::memory_order_relaxed);
  }
}

}  // namespace lci::network::shm
