// Sends what was left behind in bundles.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace lci::network {

/// What may hold messages back.
class holds_back {
 public:
  /// Sends what waits unless the device has been polled since this was asked last. Returns whether anything
  /// waits.
  virtual bool flush_if_unattended() = 0;

 protected:
  ~holds_back() = default;
};

/// A program may post and then do something else for long, without progress: what joined a bundle then leaves
/// by this thread, a millisecond or two later. One of a context; it begins with the first bundle, looks at
/// devices every millisecond while there are bundles, and sleeps when there have been none for a while.
class flusher {
 public:
  flusher() = default;
  ~flusher();
  flusher(const flusher&) = delete;
  flusher& operator=(const flusher&) = delete;

  void add(holds_back& d);
  /// Waits until nothing is done for the device any more.
  void remove(holds_back& d);

  /// A bundle has been begun. May be called by any thread, also under locks of a device.
  void notice() {
    stirred_.store(true, std::memory_order_seq_cst);
    // Either we see that the thread sleeps, or it sees what was stored before it sleeps.
    if (asleep_.load(std::memory_order_seq_cst)) wake();
  }

 private:
  void run();
  void wake();

  std::mutex devices_mutex_;  // held while something is done for one of them
  std::vector<holds_back*> devices_;
  std::atomic<bool> stirred_{false};
  std::atomic<bool> asleep_{true};  // or not begun; changed to false under sleep_mutex_
  std::mutex sleep_mutex_;
  std::condition_variable changed_;
  bool stop_ = false;   // under sleep_mutex_
  std::thread thread_;  // under sleep_mutex_
};

}  // namespace lci::network
