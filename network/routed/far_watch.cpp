#include "network/routed/far_watch.hpp"

#include <chrono>
#include <system_error>

#include "lib/base/quiet_thread.hpp"

namespace lci::network::routed {

namespace {
// Networks look after peers from time to time, also without an event.
constexpr int64_t longest_watch_us = 100000;
}  // namespace

far_watch::~far_watch() {
  if (!thread_.joinable()) return;
  state_.store(stopped, std::memory_order_release);  // R1: pairs with A1 in run()
  os_futex::wake_all(&state_);
  far_.unpark();
  thread_.join();
}

bool far_watch::start() {
  if (tried_) return thread_.joinable();
  tried_ = true;
  try {
    thread_ = quiet_thread("lci-far", [this] { run(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

bool far_watch::arm() {
  if (LCI_UNLIKELY(!start())) return false;
  uint32_t seen = idle;
  if (state_.load(std::memory_order_relaxed) == idle &&
      state_.compare_exchange_strong(seen, armed, std::memory_order_release, std::memory_order_relaxed))  // R1
    os_futex::wake_all(&state_);
  return true;
}

void far_watch::sleep() {
  using clock = std::chrono::steady_clock;
  // Whether a sleep has ended by an event or by itself, it does not say. An event that nobody has polled ends the next
  // one at once.
  for (bool slept = true; slept && state_.load(std::memory_order_relaxed) == armed;) {
    const auto begin = clock::now();
    far_.park(longest_watch_us);
    slept = clock::now() - begin > std::chrono::milliseconds(1);
  }
}

void far_watch::run() {
  for (;;) {
    uint32_t seen = state_.load(std::memory_order_acquire);  // A1: pairs with R1
    if (seen == stopped) return;
    if (seen == idle) {
      os_futex::wait(&state_, idle, -1);
      continue;
    }
    sleep();
    // Disarmed before the wake-up: the progress thread arms it again before it sleeps.
    if (state_.compare_exchange_strong(seen, idle, std::memory_order_release, std::memory_order_relaxed))
      near_.unpark();
  }
}

}  // namespace lci::network::routed
