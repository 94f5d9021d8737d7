// Threads that wait for long on one device: one of them, the leader, sleeps in the network.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "lib/concurrent/parking.hpp"

namespace lci {

/// Part of a device. Thread-safe. See long_wait in lib/core/device/long_sleep.hpp.
class waiting_line {
 public:
  /// Where a follower sleeps; a local variable of its thread.
  class follower final : public sleeping_place {
   public:
    void sleep(int64_t timeout_ns) override {
      if (woken_.load(std::memory_order_acquire) == 0) os_futex::wait_here(&woken_, 0, timeout_ns);  // A1
    }
    void wake() override {
      woken_.store(1, std::memory_order_release);  // R1: pairs with A1
      os_futex::wake_here(&woken_, 1);
    }

   private:
    friend waiting_line;
    std::atomic<uint32_t> woken_{0};
    follower* next_ = nullptr;
  };

  bool try_to_lead() {
    std::lock_guard guard(mutex_);
    if (led_) return false;
    return led_ = true;
  }
  /// Wakes a follower, which is to lead next.
  void stop_leading() {
    std::lock_guard guard(mutex_);
    led_ = false;
    if (first_ != nullptr) first_->wake();
  }
  /// Called by a thread that has been a follower and does not wait any more: it may have been woken to lead.
  void pass_on() {
    std::lock_guard guard(mutex_);
    if (!led_ && first_ != nullptr) first_->wake();
  }
  /// Returns false if there is no leader.
  bool join(follower& f) {
    std::lock_guard guard(mutex_);
    if (!led_) return false;
    f.next_ = first_;
    first_ = &f;
    return true;
  }
  void leave(follower& f) {
    std::lock_guard guard(mutex_);
    follower** at = &first_;
    while (*at != &f) at = &(*at)->next_;
    *at = f.next_;
  }

  // A wait that ends in vain is often followed by another one at once, which then need not begin with polls.
  void note_quiet(std::chrono::steady_clock::time_point now) {
    quiet_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  }
  void note_event() {
    if (quiet_.load(std::memory_order_relaxed) != never) quiet_.store(never, std::memory_order_relaxed);
  }
  bool is_quiet(std::chrono::steady_clock::time_point now) const {
    const int64_t then = quiet_.load(std::memory_order_relaxed);
    return then != never && now.time_since_epoch() < std::chrono::nanoseconds(then) + std::chrono::milliseconds(10);
  }

 private:
  static constexpr int64_t never = 0;
  std::atomic<int64_t> quiet_{never};  // when the last wait in vain ended, if nothing has happened since; ns
  std::mutex mutex_;
  bool led_ = false;           // under mutex_
  follower* first_ = nullptr;  // under mutex_
};

}  // namespace lci
