// Threads of one role in this process, and their barrier between rounds.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "bench/lci_perf/binding.hpp"

namespace lci_perf {

/// A spinning barrier: rounds are too short for threads to sleep between them. Thread-safe; reusable by the same `n`
/// threads.
class spin_barrier {
 public:
  spin_barrier(int n, bool crowded) : n_(n), crowded_(crowded) {}

  void wait() {
    waiter w(crowded_);
    wait([&] { w.idle(); });
  }
  /// Calls idle() while it waits. A thread whose device is polled by no other thread must make progress there: its
  /// posted operations may still have to be sent, and other threads wait for them.
  template <class Idle>
  void wait(Idle idle) {
    const unsigned turn = turn_.load(std::memory_order_relaxed);
    // B1: the last thread to arrive sees what the others did before
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

/// Runs `body`; an exception ends the process with its text, since other threads and the other rank would wait for this
/// thread for ever.
void run_or_die(const std::function<void()>& body);

/// Ends the process with the text, since others would wait for ever.
[[noreturn]] void give_up(const std::string& why);

}  // namespace lci_perf
