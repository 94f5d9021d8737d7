// A scope that tries a lock once, and optionally needs none.
#pragma once

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// Tries the lock in the constructor and holds it, unless that failed, until destruction. Does not own the lock.
/// Without `wanted`, takes no lock and never fails.
class attempt {
 public:
  explicit attempt(spinlock& lock, bool wanted = true) : lock_(wanted ? &lock : nullptr) {
    failed_ = wanted && !lock.try_lock();
  }
  ~attempt() {
    if (lock_ != nullptr && !failed_) lock_->unlock();
  }
  attempt(const attempt&) = delete;
  attempt& operator=(const attempt&) = delete;
  bool failed() const { return LCI_UNLIKELY(failed_); }

 private:
  spinlock* const lock_;
  bool failed_;
};

}  // namespace lci
