// Wakes the progress threads of a runtime.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "lib/concurrent/progress_bell.hpp"
#include "network/fabric.hpp"

namespace lci::core {

using device_bell = lci::progress_bell<>;

/// The bells of all devices of a runtime that progress threads serve. Rung for work that any of these threads can
/// do, and only where work is deferred, which is rare. Thread-safe.
class progress_bells {
 public:
  void add(device_bell& bell, network::device& net) {
    std::lock_guard guard(mutex_);
    bells_.push_back({&bell, &net});
  }
  void remove(const device_bell& bell) {
    std::lock_guard guard(mutex_);
    bells_.erase(std::find_if(bells_.begin(), bells_.end(), [&](const entry& e) { return e.bell == &bell; }));
  }
  void ring() {
    std::lock_guard guard(mutex_);
    for (const entry& e : bells_) e.bell->ring(*e.net);
  }
  static void ring_all(void* bells) { static_cast<progress_bells*>(bells)->ring(); }

 private:
  struct entry {
    device_bell* bell;
    network::device* net;
  };
  std::mutex mutex_;
  std::vector<entry> bells_;  // under mutex_
};

}  // namespace lci::core
