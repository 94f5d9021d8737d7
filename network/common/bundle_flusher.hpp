// A thread that sends the bundles of messages that a program without progress leaves behind.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/base/cpu.hpp"

namespace lci::network {

/// A device that may delay messages in bundles.
class bundling_device {
 public:
  /// Sends waiting messages unless the device has been polled since the previous call. Returns whether messages still
  /// wait.
  virtual bool flush_if_unpolled() = 0;

 protected:
  ~bundling_device() = default;
  /// Called by the device in each poll().
  void note_poll() {
    if (LCI_UNLIKELY(!polled_.load(std::memory_order_relaxed))) polled_.store(true, std::memory_order_relaxed);
  }
  /// Returns whether the device has been polled since the previous call.
  bool was_polled() { return polled_.exchange(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> polled_{false};
};

/// Flushes bundles of a program that posts and then makes no progress for a long time: after a millisecond or two this
/// thread sends them. One per context, thread-safe. The thread starts with the first bundle, checks the devices every
/// millisecond while there are bundles, and sleeps after a while without any.
class flusher {
 public:
  flusher() = default;
  ~flusher();
  flusher(const flusher&) = delete;
  flusher& operator=(const flusher&) = delete;

  void add(bundling_device& d);
  /// Returns when the thread no longer uses the device.
  void remove(bundling_device& d);

  /// A bundle was started. Any thread may call this, also while it holds locks of a device. If there is no memory for
  /// the thread, the next call tries again: the caller has taken a message and must not fail.
  void notice() noexcept {
    stirred_.store(true, std::memory_order_seq_cst);
    // Either this thread sees that the flusher sleeps, or the flusher sees the store before it sleeps.
    if (asleep_.load(std::memory_order_seq_cst)) wake();
  }

 private:
  void run();
  void wake() noexcept;

  std::mutex devices_mutex_;  // held while a device is being flushed
  std::vector<bundling_device*> devices_;
  std::atomic<bool> stirred_{false};
  std::atomic<bool> asleep_{true};  // or not started; changed to false under sleep_mutex_
  std::mutex sleep_mutex_;
  std::condition_variable changed_;
  bool stop_ = false;   // under sleep_mutex_
  std::thread thread_;  // under sleep_mutex_
};

}  // namespace lci::network
