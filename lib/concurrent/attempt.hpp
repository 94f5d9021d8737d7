// A lock that is tried once, where one is wanted at all.
#pragma once

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// Holds it, or has failed to, while it is there.
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
