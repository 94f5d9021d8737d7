// What all waits for completion objects share: when they spin, sleep, and return without success.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/measured_yield.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/long_sleep.hpp"
#include "lib/core/operation/timers.hpp"

namespace lci::core {

struct wait_policy {
  const char* operation;         // for messages
  double timeout = -1;           // seconds; negative: for ever
  bool park = false;             // sleep after a short spin; else yield, or sleep briefly where yields are dear
  device* progressed = nullptr;  // the device to progress, if any
};

template <class Args>
wait_policy policy_of(const char* operation, const Args& a) {
  return {operation, a.timeout, a.park, a.do_progress ? a.device.p_impl : nullptr};
}

/// The wait of one thread for an object that is not ready: the thread polls, yields, then sleeps longer and longer. A
/// local variable of wait_until(), which explains the arguments.
template <class Ready, class Sleep>
class wait_loop {
 public:
  wait_loop(const wait_policy& policy, Ready& ready, Sleep& sleep)
      : policy_(policy),
        device_(policy.progressed),
        ready_(ready),
        sleep_(sleep),
        // A thread that makes progress yields for a while before it sleeps: a message that comes soon is then handled
        // sooner.
        awake_(std::chrono::microseconds(device_ != nullptr ? 100 : 20)),
        quiet_since_(clock::now()),
        deadline_(nanoseconds(timers::after(policy.timeout))),
        sleep_long_(device_) {
    if (LCI_LIKELY(device_ == nullptr || !policy.park || !device_->line.is_quiet(quiet_since_))) return;
    quiet_since_ -= awake_;  // goes on where the last wait has ended
    slice_ = longest_slice;
    polls_ = polls_after_sleep;
  }

  /// Returns true once the object is ready, false once the timeout has passed.
  bool run() {
    for (;;) {
      const bool served = device_ != nullptr && device_->served();
      const bool yields_are_dear = measured_yield::is_dear();
      const measured_yield::pause pause(yields_are_dear);  // of the network's yields, too: this thread sleeps instead
      bool happened = false;
      for (int i = 0; i < polls_; ++i) {
        happened |= poll(served);
        if (ready_()) return true;
      }
      polls_ = polls_awake;
      const clock::time_point now = clock::now();
      if (now >= deadline_) {
        if (device_ != nullptr && policy_.park && slice_ == longest_slice) device_->line.note_quiet(now);
        return false;
      }
      if (happened) {
        quiet_since_ = now;
        slice_ = shortest_slice;
        device_->line.note_event();
      }
      if (now - quiet_since_ < spin) continue;
      yield_or_sleep(now, served, yields_are_dear);
      if (ready_()) return true;
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  using nanoseconds = std::chrono::nanoseconds;
  static constexpr nanoseconds spin = std::chrono::microseconds(20);
  static constexpr nanoseconds shortest_slice = std::chrono::microseconds(100);
  static constexpr nanoseconds longest_slice = std::chrono::milliseconds(2);
  // Polls before the clock is read; after a sleep that no message has ended, as many as reach each network.
  static constexpr int polls_awake = 32, polls_after_sleep = 4;

  /// Returns whether progress has found anything.
  bool poll(bool served) {
    if (device_ != nullptr && !served) return device_->progress();
    if (served) device_->failures.report();
    cpu_pause();
    return false;
  }

  void yield_or_sleep(clock::time_point now, bool served, bool yields_are_dear) {
    const nanoseconds left = deadline_ - now;
    const int64_t at_most = deadline_ == clock::time_point::max() ? -1 : left.count();  // as sleep() takes it
    const bool stays_awake = !policy_.park || now - quiet_since_ < awake_;
    if (stays_awake && !yields_are_dear) {
      measured_yield::yield();
    } else if (device_ == nullptr) {
      sleep_(at_most);
    } else if (served) {
      sleep_(std::min(slice_, left).count());
      slice_ = std::min(2 * slice_, 10 * longest_slice);
    } else {
      polls_ = polls_after_sleep;
      if (!stays_awake && slice_ == longest_slice && sleep_long_(at_most, sleep_)) return;
      // Messages in the backlog can be sent when their peer has made room, but that does not wake this thread. So its
      // first sleeps are short. They become longer, as the peer may make no progress for a long time.
      const nanoseconds due(device_->deadlines.left());
      device_->net->wait(std::max<int64_t>(std::min({slice_, left, due}).count() / 1000, 1));
      if (!stays_awake) slice_ = std::min(2 * slice_, longest_slice);
    }
  }

  const wait_policy& policy_;
  device* const device_;
  Ready& ready_;
  Sleep& sleep_;
  const nanoseconds awake_;
  clock::time_point quiet_since_;
  const clock::time_point deadline_;
  nanoseconds slice_ = shortest_slice;  // of the next sleep
  int polls_ = polls_awake;             // before the clock is read next
  long_wait sleep_long_;
};

/// Waits until ready() is true. Returns false if the timeout has passed. `sleep(ns)` must sleep at most that long
/// (negative: for ever), and wake when another thread makes it ready.
///
/// A thread that makes progress sleeps in the network device: at first for short times, which other threads' signals do
/// not end; then until anything happens (long_sleep.hpp). Where a progress thread serves the device, the waiting thread
/// uses sleep(), and wakes from time to time to throw the failures that the progress thread has recorded.
template <class Ready, class Sleep>
bool wait_until(const wait_policy& policy, Ready ready, Sleep sleep) {
  if (LCI_UNLIKELY(std::isnan(policy.timeout))) reject_timeout(policy.operation);
  if (ready()) return true;
  if (policy.progressed && tls_in_progress)
    throw_invalid(policy.operation, "do_progress", "true", "false inside a handler", "or wait outside of progress()");
  return wait_loop<Ready, Sleep>(policy, ready, sleep).run();
}

}  // namespace lci::core
