#include "network/common/bundle_flusher.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <system_error>

#include "lib/base/log.hpp"
#include "lib/base/quiet_thread.hpp"

namespace lci::network {

namespace {

constexpr std::chrono::milliseconds period{1};
constexpr int calm_periods_before_sleep = 100;

}  // namespace

flusher::~flusher() {
  {
    std::lock_guard guard(sleep_mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void flusher::add(bundling_device& d) {
  std::lock_guard guard(devices_mutex_);
  devices_.push_back(&d);
}

void flusher::remove(bundling_device& d) {
  std::lock_guard guard(devices_mutex_);
  devices_.erase(std::remove(devices_.begin(), devices_.end(), &d), devices_.end());
}

void flusher::wake() noexcept {
  std::lock_guard guard(sleep_mutex_);
  if (!asleep_.exchange(false, std::memory_order_seq_cst)) return;
  if (thread_.joinable()) {
    changed_.notify_all();
    return;
  }
  try {
    try {
      thread_ = quiet_thread("lci-flusher", [this] { run(); });
    } catch (const std::system_error& e) {
      log_warning(std::string("no thread to flush bundles of messages; only progress() sends them: ") + e.what());
    }
  } catch (const std::bad_alloc&) {
    asleep_.store(true, std::memory_order_seq_cst);  // the next bundle tries again
  }
}

namespace {

/// Returns whether anything happened.
bool flush(bundling_device& d) noexcept {
  try {
    try {
      return d.flush_if_unpolled();
    } catch (const std::exception& e) {
      log_warning(std::string("a bundle could not be sent: ") + e.what());
    }
  } catch (const std::bad_alloc&) {
    // The text needs memory, too.
  }
  return true;  // tried again in the next period
}

}  // namespace

void flusher::run() {
  int calm = 0;
  std::unique_lock lock(sleep_mutex_);
  while (!changed_.wait_for(lock, period, [this] { return stop_; })) {
    bool busy = stirred_.exchange(false, std::memory_order_seq_cst);
    lock.unlock();
    {
      std::lock_guard guard(devices_mutex_);
      for (bundling_device* d : devices_) busy |= flush(*d);
    }
    lock.lock();
    calm = busy ? 0 : calm + 1;
    if (calm < calm_periods_before_sleep) continue;
    asleep_.store(true, std::memory_order_seq_cst);
    if (stirred_.load(std::memory_order_seq_cst)) asleep_.store(false, std::memory_order_seq_cst);
    changed_.wait(lock, [this] { return stop_ || !asleep_.load(std::memory_order_relaxed); });
    calm = 0;
  }
}

}  // namespace lci::network
