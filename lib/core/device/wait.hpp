// What all waits for completion objects share: when they spin, sleep, and return without success.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/measured_yield.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/long_sleep.hpp"

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

LCI_COLD inline void reject_timeout(const char* operation) {
  throw_invalid(operation, "timeout", "nan", "a number of seconds", "a negative one means for ever");
}

/// Waits until ready() is true. False: the timeout has passed. `sleep(ns)` must sleep at most that long (negative: for
/// ever), and wake when another thread makes it ready.
///
/// A thread that makes progress sleeps in the network device: at first for short times, which other threads' signals do
/// not end; then until anything happens (long_sleep.hpp). Where a progress thread serves the device, the waiting thread
/// uses sleep(), and wakes from time to time to throw the failures that the progress thread has recorded.
template <class Ready, class Sleep>
bool wait_until(const wait_policy& policy, Ready ready, Sleep sleep) {
  using clock = std::chrono::steady_clock;
  using std::chrono::nanoseconds;
  constexpr nanoseconds spin = std::chrono::microseconds(20);
  // A thread that makes progress yields for a while before it sleeps: a message that comes soon is handled sooner.
  const nanoseconds awake = std::chrono::microseconds(policy.progressed != nullptr ? 100 : 20);
  constexpr nanoseconds shortest = std::chrono::microseconds(100);
  // Polls before the clock is read; after a sleep that no message has ended, as many as reach each network.
  constexpr int polls_awake = 32, polls_after_sleep = 4;

  if (LCI_UNLIKELY(std::isnan(policy.timeout))) reject_timeout(policy.operation);
  if (ready()) return true;
  if (policy.progressed && tls_in_progress)
    throw_invalid(policy.operation, "do_progress", "true", "false inside a handler", "or wait outside of progress()");
  const bool for_ever = !(policy.timeout >= 0 && policy.timeout < 1e9);
  clock::time_point quiet_since = clock::now();
  const clock::time_point deadline =
      for_ever ? clock::time_point::max() : quiet_since + nanoseconds(static_cast<int64_t>(policy.timeout * 1e9));
  constexpr nanoseconds longest_slice = std::chrono::milliseconds(2);
  const bool goes_on = policy.progressed && policy.park && policy.progressed->line.is_quiet(quiet_since);
  if (LCI_UNLIKELY(goes_on)) quiet_since -= awake;
  nanoseconds slice = LCI_UNLIKELY(goes_on) ? longest_slice : shortest;
  int polls = LCI_UNLIKELY(goes_on) ? polls_after_sleep : polls_awake;
  long_wait sleep_long(policy.progressed);
  for (;;) {
    const bool served = policy.progressed != nullptr && policy.progressed->served();
    const nanoseconds longest = served ? 10 * longest_slice : longest_slice;
    bool happened = false;
    const bool yields_are_dear = measured_yield::is_dear();
    const measured_yield::pause pause(yields_are_dear);  // of the network's yields, too: this thread sleeps instead
    for (int i = 0; i < polls; ++i) {
      if (served) {
        policy.progressed->failures.report();
        cpu_pause();
      } else if (policy.progressed) {
        happened |= policy.progressed->progress();
      } else {
        cpu_pause();
      }
      if (ready()) return true;
    }
    polls = polls_awake;
    const clock::time_point now = clock::now();
    if (now >= deadline) {
      if (policy.progressed && policy.park && slice == longest_slice) policy.progressed->line.note_quiet(now);
      return false;
    }
    if (happened) {
      quiet_since = now;
      slice = shortest;
      policy.progressed->line.note_event();
    }
    if (now - quiet_since < spin) continue;
    const nanoseconds left = deadline - now;
    const bool stays_awake = !policy.park || now - quiet_since < awake;
    if (stays_awake && !yields_are_dear) {
      measured_yield::yield();
    } else if (served) {
      sleep(std::min(slice, left).count());
      slice = std::min(2 * slice, longest);
    } else if (policy.progressed && !stays_awake && slice == longest_slice &&
               sleep_long(for_ever ? -1 : left.count(), sleep)) {
      polls = polls_after_sleep;
    } else if (policy.progressed) {
      // Messages in the backlog can be sent when their peer has made room, but that does not wake this thread. So its
      // first sleeps are short. They become longer, as the peer may make no progress for a long time.
      const nanoseconds due(policy.progressed->deadlines.left());
      policy.progressed->net->wait(std::max<int64_t>(std::min({slice, left, due}).count() / 1000, 1));
      if (!stays_awake) slice = std::min(2 * slice, longest);
      polls = polls_after_sleep;
    } else {
      sleep(for_ever ? int64_t{-1} : left.count());
    }
    if (ready()) return true;
  }
}

}  // namespace lci::core
