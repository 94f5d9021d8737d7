// Threads of one role in this process, and how they wait for each other between rounds.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "bench/lci_perf/binding.hpp"

namespace lci_perf {

/// A barrier that spins: rounds are too short for threads to go to sleep between them.
/// Thread-safe; used again and again by the same `n` threads.
class spin_barrier {
 public:
  spin_barrier(int n, bool crowded) : n_(n), crowded_(crowded) {}

  void wait() {
    waiter w(crowded_);
    wait([&] { w.idle(); });
  }
  /// Calls idle() meanwhile. Whoever has a device that nobody else polls makes progress there: what
  /// it has posted may still have to leave, and others wait for it.
  template <class Idle>
  void wait(Idle idle) {
    const unsigned turn = turn_.load(std::memory_order_relaxed);
    // B1: the last to come sees what the others did before
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_) {
      arrived_.store(0, std::memory_order_relaxed);
      turn_.store(turn + 1, std::memory_order_release);  // B2: pairs with B3
      return;
    }
    while (turn_.load(std::memory_order_acquire) == turn) idle();  // B3: pairs with B2
  }

 private:
  const int n_;
  const bool crowded_;
  std::atomic<int> arrived_{0};
  std::atomic<unsigned> turn_{0};
};

/// Runs `body`; an exception ends the process with its text, since the other threads and the other
/// rank would wait for this one for ever.
void run_or_die(const std::function<void()>& body);

/// Ends the process with the text: what others wait for will not happen.
[[noreturn]] void give_up(const std::string& why);

}  // namespace lci_perf
