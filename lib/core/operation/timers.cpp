#include "lib/core/operation/timers.hpp"

#include <algorithm>

#include "lib/core/operation/ticket.hpp"

namespace lci::core {

void timers::place(size_t at, entry e) {
  heap_[at] = e;
  e.who->timer_at = at;
}

void timers::sift_up(size_t at, entry e) {
  for (; at > 0 && e.when < heap_[(at - 1) / 2].when; at = (at - 1) / 2) place(at, heap_[(at - 1) / 2]);
  place(at, e);
}

void timers::take_out(size_t at) {
  heap_[at].who->timer_at = ticket::no_timer;
  const entry last = heap_.back();
  heap_.pop_back();
  armed.fetch_sub(1, std::memory_order_relaxed);
  const size_t n = heap_.size();
  if (at < n) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
      if (child + 1 < n && heap_[child + 1].when < heap_[child].when) ++child;
      if (last.when <= heap_[child].when) break;
      place(at, heap_[child]);
    }
    sift_up(at, last);
  }
  next_.store(n == 0 ? never : heap_.front().when, std::memory_order_relaxed);
}

void timers::promise() {
  std::lock_guard guard(lock_);
  const size_t needed = heap_.size() + promised_ + 1;
  if (heap_.capacity() < needed) heap_.reserve(std::max(needed, 2 * heap_.capacity()));
  ++promised_;
}

void timers::end_promise() {
  std::lock_guard guard(lock_);
  --promised_;
}

bool timers::add(ticket* who, uint64_t serial, int64_t when) {
  std::lock_guard guard(lock_);
  heap_.push_back({});
  sift_up(heap_.size() - 1, {when, who, serial});
  armed.fetch_add(1, std::memory_order_relaxed);
  next_.store(heap_.front().when, std::memory_order_relaxed);
  return who->timer_at == 0;
}

void timers::remove(ticket* who) {
  std::lock_guard guard(lock_);
  if (who->timer_at != ticket::no_timer) take_out(who->timer_at);
}

bool timers::take_due(int64_t at, entry& due) {
  if (next_.load(std::memory_order_relaxed) > at) return false;
  std::lock_guard guard(lock_);
  if (heap_.empty() || heap_.front().when > at) return false;
  due = heap_.front();
  take_out(0);
  return true;
}

}  // namespace lci::core
