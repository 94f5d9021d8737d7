// Says whether threads of the program poll a device that a progress thread serves.
#pragma once

#include <atomic>

namespace lci::core {

/// The progress thread asks; the next poll of another thread answers. Unasked, polls pay nothing: the question is one
/// of the device's reasons to do more than poll. One thread asks; any thread answers. It is a hint, so nothing is
/// ordered.
class program_polls {
 public:
  /// `attention` counts the device's reasons.
  explicit program_polls(std::atomic<int>& attention) : attention_(attention) {}

  void ask() {
    if (!asked_.exchange(true, std::memory_order_relaxed)) attention_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Returns whether a thread of the program has polled since the last ask().
  bool answered() const { return !asked_.load(std::memory_order_relaxed); }
  void answer() {
    if (asked_.load(std::memory_order_relaxed) && asked_.exchange(false, std::memory_order_relaxed))
      attention_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<int>& attention_;
  std::atomic<bool> asked_{false};
};

}  // namespace lci::core
