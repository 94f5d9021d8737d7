#include "network/routed/joint_sleep.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "lib/base/quiet_thread.hpp"
#include "lib/concurrent/parking.hpp"

namespace lci::network::routed {

namespace {
// Networks look after peers from time to time, also without an event.
constexpr int64_t longest_watch_us = 100000;
}  // namespace

joint_sleep::~joint_sleep() {
  if (!thread_.joinable()) return;
  state_.store(stopped, std::memory_order_release);  // R1: pairs with A1 in run()
  os_futex::wake_all(&state_);
  near_.unpark();
  far_.unpark();
  thread_.join();
}

bool joint_sleep::start() {
  if (tried_) return thread_.joinable();
  tried_ = true;
  try {
    thread_ = quiet_thread("lci-watch", [this] { run(); });
  } catch (const std::exception&) {  // no thread, or no memory for it
    return false;
  }
  return true;
}

bool joint_sleep::arm(bool in_far) {
  if (LCI_UNLIKELY(!start())) return false;
  const uint32_t wanted = in_far ? watches_near : watches_far;
  if (state_.load(std::memory_order_relaxed) == wanted) return true;
  const uint32_t before = state_.exchange(wanted, std::memory_order_seq_cst);  // R1, W1
  if (before == idle) os_futex::wake_all(&state_);
  // The caller will sleep where the watcher sleeps now, and might consume its unpark(). So it waits until the watcher
  // has left.
  while (before != idle && watching_.load(std::memory_order_seq_cst) == before) {  // W2
    watched_in(before).unpark();
    sched_yield();
  }
  return true;
}

void joint_sleep::wait(int64_t timeout_us) {
  network::device& place = sleeps_in_far_.load(std::memory_order_relaxed) ? far_ : near_;
  place.wait(std::min(timeout_us, longest_wait_us));
}

// No unpark() is lost. Of the accesses U1 to U4, either unpark() reads the place that park() has chosen, and ends the
// sleep there, or park() reads the flag.
void joint_sleep::park(int64_t timeout_us) {
  const bool in_far = sleeps_in_far_.load(std::memory_order_relaxed);
  if (!arm(in_far)) timeout_us = std::min(timeout_us, longest_wait_us);
  parks_in_far_.store(in_far, std::memory_order_seq_cst);            // U1
  if (unparked_.exchange(false, std::memory_order_seq_cst)) return;  // U2
  (in_far ? far_ : near_).park(timeout_us);
}

void joint_sleep::unpark() {
  unparked_.store(true, std::memory_order_seq_cst);                         // U3
  (parks_in_far_.load(std::memory_order_seq_cst) ? far_ : near_).unpark();  // U4
}

void joint_sleep::watch(uint32_t s) {
  using clock = std::chrono::steady_clock;
  // A sleep does not say whether an event has ended it. An event that nobody has polled ends the next sleep at once.
  watching_.store(s, std::memory_order_seq_cst);  // W3. Of W1 to W4, either arm() sees it, or W4 sees arm()'s state
  for (bool slept = true; slept && state_.load(std::memory_order_seq_cst) == s;) {  // W4
    const auto begin = clock::now();
    watched_in(s).park(longest_watch_us);
    slept = clock::now() - begin > std::chrono::milliseconds(1);
  }
  watching_.store(idle, std::memory_order_release);
}

void joint_sleep::run() {
  for (;;) {
    uint32_t seen = state_.load(std::memory_order_acquire);  // A1: pairs with R1
    if (seen == stopped) return;
    if (seen == idle) {
      os_futex::wait(&state_, idle, -1);
      continue;
    }
    const uint32_t watched = seen;
    watch(watched);
    // Idle before the wake-up: the woken thread arms the watcher again before it sleeps.
    if (state_.compare_exchange_strong(seen, idle, std::memory_order_release, std::memory_order_relaxed))
      other_than_watched_in(watched).unpark();
  }
}

}  // namespace lci::network::routed
