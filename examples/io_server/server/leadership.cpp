#include "leadership.hpp"

namespace io_server {

bool leadership::vacate(uint64_t expected) {
  const std::lock_guard guard(mutex_);
  // A1: pairs with R1
  if (!state_.compare_exchange_strong(expected, vacant, std::memory_order_acquire, std::memory_order_relaxed))
    return false;
  next_ = (expected | executes) + 1;
  is_vacant_.notify_one();
  return true;
}

bool leadership::release_if(uint64_t seen) { return (seen & executes) != 0 && vacate(seen); }

void leadership::member::lead() {
  std::unique_lock lock(all_.mutex_);
  all_.is_vacant_.wait(lock, [this] { return all_.state_.load(std::memory_order_relaxed) == vacant; });
  state_ = all_.next_;
  all_.state_.store(state_, std::memory_order_relaxed);
  leads_ = true;
}

bool leadership::member::give_up() {
  if (!leads_) return false;
  leads_ = false;
  return all_.vacate(state_);
}

}  // namespace io_server
