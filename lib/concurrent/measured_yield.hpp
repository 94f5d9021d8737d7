// Yields of threads that wait for others, beside threads that compute.
#pragma once

#include <sched.h>

#include <chrono>
#include <utility>

#include "lib/base/cpu.hpp"

namespace lci {

/// Lets other threads run on the calling thread's processor, and measures how long that takes. Among threads that poll,
/// and yield themselves, it takes microseconds. Beside threads that compute it takes a time slice, some milliseconds,
/// while a thread that sleeps is continued soon after it is woken. So a thread that can sleep yields only while yields
/// are not dear (slow). Each thread has its own measurements.
class measured_yield {
 public:
  using clock = std::chrono::steady_clock;

  static void yield() {
    state& mine = of_this_thread();
    if (mine.left_out) return;
    const auto begin = clock::now();
    sched_yield();
    const auto end = clock::now();
    if (LCI_UNLIKELY(end - begin > longest)) mine.dear_until = end + times_without * (end - begin);
  }
  /// Returns whether a yield of this thread took long, a short while ago.
  static bool is_dear() {
    state& mine = of_this_thread();
    if (LCI_LIKELY(mine.dear_until == clock::time_point{})) return false;
    if (clock::now() < mine.dear_until) return true;
    mine.dear_until = {};
    return false;
  }

  /// While an object with `leaves_out` exists, the thread's calls of yield() do nothing.
  class pause {
   public:
    explicit pause(bool leaves_out) : before_(std::exchange(of_this_thread().left_out, leaves_out)) {}
    ~pause() { of_this_thread().left_out = before_; }
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;

   private:
    const bool before_;
  };

 private:
  struct state {
    clock::time_point dear_until{};
    bool left_out = false;
  };
  static state& of_this_thread() {
    thread_local state mine;
    return mine;
  }

  /// Longer than yields among dozens of polling threads a processor, and shorter than a time slice of a thread that
  /// computes, which is 1.5 ms with two processors, and 3 ms with eight or more.
  static constexpr std::chrono::nanoseconds longest = std::chrono::milliseconds(1);
  /// So many times as long as a long yield has taken: long yields take 5 % of a thread's time at most.
  static constexpr int times_without = 20;
};

}  // namespace lci
