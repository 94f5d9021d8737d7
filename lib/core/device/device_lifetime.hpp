// What a device must know to end: whether it is being freed, and what has yet to end before.
#pragma once

#include <atomic>
#include <vector>

#include "lib/base/memory.hpp"
#include "lib/core/operation/dependent.hpp"

namespace lci::core {

/// Part of a device. Thread-safe except collect_in() and note(), which the thread that destroys the device calls.
class device_lifetime {
 public:
  /// Counts the device's entries in the runtime's list of deferred work; freeing the device lets them run a last time.
  void begin_task() { tasks_.fetch_add(1, std::memory_order_relaxed); }
  void end_task() { tasks_.fetch_sub(1, std::memory_order_release); }  // last access: the device may be freed
  bool has_tasks() const { return tasks_.load(std::memory_order_acquire) != 0; }

  /// A message begins, or ends, to wait for room in a stream's window. A peer may never make room.
  void begin_to_hold() { held_.fetch_add(1, std::memory_order_relaxed); }
  void end_to_hold() { held_.fetch_sub(1, std::memory_order_release); }  // last access: the device may be freed
  bool holds_messages() const { return held_.load(std::memory_order_acquire) != 0; }

  /// Has threads that wait for memory give up, since the device is about to be freed. The thread that frees it may have
  /// to wait for them before it can call begin_to_close(), for example for a progress thread.
  void stop_waits() { waits_.store(false, std::memory_order_relaxed); }
  /// Returns whether a thread may wait for memory without bound.
  bool may_wait() const { return waits_.load(std::memory_order_relaxed); }

  void begin_to_close() {
    stop_waits();
    closing_.store(true, std::memory_order_release);
  }
  /// Returns whether the device is being freed: work that waits for a peer's answer must end without it.
  bool closing() const { return closing_.load(std::memory_order_acquire); }
  /// Returns true once: progress was refused while the device closes, and that has not been logged.
  bool is_first_refusal() { return !refusal_logged_.exchange(true, std::memory_order_relaxed); }

  /// After so many seconds without an event, free_device() drops those messages of the program that it could not send.
  /// Tests set a shorter time.
  double longest_quiet_time = 10;

  /// From now on note() appends to `rest`, which must outlive the device.
  void collect_in(std::vector<unfinished>& rest) { rest_ = &rest; }
  /// An operation that never completed, to be signalled once the device is gone.
  void note(const unfinished& u) {
    if (rest_ != nullptr && u.comp != nullptr) insist_on_memory([&] { rest_->push_back(u); });
  }

 private:
  std::atomic<int> tasks_{0}, held_{0};
  std::atomic<bool> closing_{false};
  std::atomic<bool> waits_{true};
  std::atomic<bool> refusal_logged_{false};
  std::vector<unfinished>* rest_ = nullptr;
};

}  // namespace lci::core
