// The deadlines of a device's posted operations.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

#include "lib/concurrent/spinlock.hpp"

namespace lci::core {

class ticket;

/// A heap by time. Thread-safe, by `lock_`. `armed` counts the entries, so that progress() comes here only
/// if there are any; `next_` spares it the lock while none is due. Both may be stale when read,
/// which delays a deadline by one round of progress. Each ticket stores its index in the heap (`timer_at`, under
/// the lock), so an operation that ends in time removes its entry at once, and the heap holds outstanding operations
/// only.
class timers {
 public:
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  /// Returns whether a deadline or timeout of `seconds` is finite. A negative value means none, and so does one of more
  /// than 30 years. `seconds` must not be NaN.
  static bool has_end(double seconds) { return seconds >= 0 && seconds < 1e9; }
  /// The time in so many seconds, as now(); `never` unless has_end(seconds).
  static int64_t after(double seconds) {
    return has_end(seconds) ? now() + static_cast<int64_t>(seconds * 1e9) : never;
  }
  /// Seconds from now until `time`, as after() returned it and not `never`; 0 if it has passed.
  static double seconds_until(int64_t time) { return static_cast<double>(std::max<int64_t>(time - now(), 0)) / 1e9; }

  /// `attention` is incremented and decremented with the entries.
  explicit timers(std::atomic<int>& attention) : armed(attention) {}

  /// While an object exists, one add() needs no memory. The constructor throws std::bad_alloc.
  class room {
   public:
    /// Null: room for nothing.
    explicit room(timers* in) : in_(in) {
      if (in_ != nullptr) in_->promise();
    }
    ~room() {
      if (in_ != nullptr) in_->end_promise();
    }
    room(const room&) = delete;
    room& operator=(const room&) = delete;

   private:
    timers* const in_;
  };

  /// `when`: as now(). Returns true if the entry is the earliest: then sleeping progress threads must be woken. Within
  /// the life of a `room` of the caller.
  bool add(ticket* who, uint64_t serial, int64_t when);
  void remove(ticket* who);
  /// Nanoseconds until the next deadline; 0 or less: one is due; `never`: there is none.
  int64_t left() const {
    const int64_t next = next_.load(std::memory_order_relaxed);
    return next == never ? never : next - now();
  }
  struct entry {
    int64_t when;
    ticket* who;
    uint64_t serial;
  };
  /// If the earliest deadline has passed at the time `at`, removes its entry and stores it in `due`.
  /// Returns false if no deadline has passed.
  bool take_due(int64_t at, entry& due);

 private:
  void promise();
  void end_promise();
  void place(size_t at, entry e);
  void sift_up(size_t at, entry e);
  void take_out(size_t at);

  std::atomic<int>& armed;
  std::atomic<int64_t> next_{never};
  spinlock lock_;
  std::vector<entry> heap_;  // under lock_; each is due before the two at 2i+1 and 2i+2
  size_t promised_ = 0;      // entries for which heap_ has room, at least; under lock_
};

}  // namespace lci::core
