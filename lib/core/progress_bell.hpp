// How work that is left in this process reaches a progress thread that sleeps.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "network/fabric.hpp"

namespace lci::core {

/// Of one device. Any thread may ring; the device's progress thread alone sleeps.
///
/// Whoever leaves work for progress() first makes it visible, then calls ring(). The thread that is
/// about to sleep first calls announce(), then looks for work, then parks in the network device. Both
/// calls begin with an exchange of one flag, and exchanges of a flag have an order. If announce() comes
/// first, ring() finds the flag set, and unparks: that ends the park under way or the next one. If
/// ring() comes first, announce() reads what it wrote, or what a later ring() did, so that the work is
/// visible to the look that follows (R1, A1). Either way nobody sleeps on work.
class progress_bell {
 public:
  void ring(network::device& net) {
    if (asleep_.exchange(false, std::memory_order_acq_rel)) net.unpark();  // R1: pairs with A1
  }
  void announce() { asleep_.exchange(true, std::memory_order_acq_rel); }  // A1: pairs with R1
  /// Awake again. A ring() meanwhile costs an unpark() for nothing.
  void leave() { asleep_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> asleep_{false};
};

/// Of all devices of a runtime that progress threads serve: for work that any of them can do.
/// Thread-safe. Rung only where work is put off, which is rare.
class progress_bells {
 public:
  void add(progress_bell& bell, network::device& net) {
    std::lock_guard guard(mutex_);
    bells_.push_back({&bell, &net});
  }
  void remove(const progress_bell& bell) {
    std::lock_guard guard(mutex_);
    bells_.erase(std::find_if(bells_.begin(), bells_.end(),
                              [&](const entry& e) { return e.bell == &bell; }));
  }
  void ring() {
    std::lock_guard guard(mutex_);
    for (const entry& e : bells_) e.bell->ring(*e.net);
  }
  static void ring_all(void* bells) { static_cast<progress_bells*>(bells)->ring(); }

 private:
  struct entry {
    progress_bell* bell;
    network::device* net;
  };
  std::mutex mutex_;
  std::vector<entry> bells_;  // under mutex_
};

}  // namespace lci::core
