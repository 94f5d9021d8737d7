// Which posted operations of a device have a deadline, and the next of them.
#pragma once

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

/// A heap by time. Thread-safe. `armed` counts how many there are, so that progress() looks here only
/// if there are any; `next_` spares it the lock while none is due. Both may be stale when they are read,
/// which delays a deadline by a round. Where a ticket is in the heap is written beside it (timer_at),
/// under the lock: whatever ends in time leaves at once, and the heap is as large as what is under way.
class timers {
 public:
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  /// `attention` is counted up and down with the entries.
  explicit timers(std::atomic<int>& attention) : armed(attention) {}

  /// True if nothing is due before it: then a sleeper has to look again.
  bool add(ticket* who, uint64_t serial, int64_t when);
  void remove(ticket* who);
  /// Nanoseconds until the next one is due; `never` if there is none. 0 or less: one is.
  int64_t left() const {
    const int64_t next = next_.load(std::memory_order_relaxed);
    return next == never ? never : next - now();
  }
  struct entry {
    int64_t when;
    ticket* who;
    uint64_t serial;
  };
  /// Takes out those that are due.
  std::vector<entry> take_due();

 private:
  void place(size_t at, entry e);
  void sift_up(size_t at, entry e);
  void take_out(size_t at);

  std::atomic<int>& armed;
  std::atomic<int64_t> next_{never};
  spinlock lock_;
  std::vector<entry> heap_;  // under lock_; each is due before the two at 2i+1 and 2i+2
};

}  // namespace lci::core
