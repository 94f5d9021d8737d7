// The sleep of threads that wait for a device of two networks, each of which has a sleep of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "lib/base/cpu.hpp"
#include "network/fabric.hpp"

namespace lci::network::routed {

/// A thread sleeps in the network of the last event, since the next one most probably comes from there, and wakes it
/// directly. While a thread is in park(), a thread of this object, the watcher, sleeps in the other network, and ends
/// the first thread's sleep after an event there. The first park() starts the watcher.
class joint_sleep {
 public:
  /// Both devices must exist longer than this object.
  joint_sleep(network::device& near, network::device& far) : near_(near), far_(far) {}
  ~joint_sleep();
  joint_sleep(const joint_sleep&) = delete;
  joint_sleep& operator=(const joint_sleep&) = delete;

  /// What a poll has found: numbers of events, or negative. Thread-safe.
  void note(int near, int far) {
    const bool is_far = sleeps_in_far_.load(std::memory_order_relaxed);
    if (LCI_UNLIKELY(is_far ? near > 0 : far > 0 && near <= 0))
      sleeps_in_far_.store(!is_far, std::memory_order_relaxed);
  }

  /// As device::wait(), but at most for `longest_wait_us`, since events of the other network don't end it. Thread-safe.
  void wait(int64_t timeout_us);
  /// As device::park() and device::unpark(): one thread at a time parks.
  void park(int64_t timeout_us);
  void unpark();

 private:
  static constexpr int64_t longest_wait_us = 1000;

  enum state : uint32_t { idle, watches_near, watches_far, stopped };
  network::device& watched_in(uint32_t s) { return s == watches_far ? far_ : near_; }
  network::device& other_than_watched_in(uint32_t s) { return s == watches_far ? near_ : far_; }
  bool start();
  /// Makes the watcher sleep in the other network than `in_far` says. Returns false if there can be no watcher.
  bool arm(bool in_far);
  void run();
  /// The watcher's sleep, until an event of the network or until the state is not `s` any more.
  void watch(uint32_t s);

  network::device &near_, &far_;
  std::atomic<bool> sleeps_in_far_{false};  // the choice for the next sleep
  std::atomic<bool> parks_in_far_{false};   // of the last park()
  std::atomic<bool> unparked_{false};
  /// Written by arm(), by the watcher (to idle) and by the destructor (to stopped). The watcher sleeps on it.
  std::atomic<uint32_t> state_{idle};
  std::atomic<uint32_t> watching_{idle};  // the state for which the watcher sleeps in a network
  bool tried_ = false;                    // whether start() was called; by the thread that parks alone
  std::thread thread_;
};

}  // namespace lci::network::routed
