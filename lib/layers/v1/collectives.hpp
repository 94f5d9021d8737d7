// Experimental collective functions (LCIX_*).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace v1 {

/// Numbers of the collective operations of each endpoint and tag. Ranks start those of one endpoint and tag in the same
/// order, so an operation has the same number everywhere. Part of the world. Thread-safe.
class operation_numbers {
 public:
  uint32_t next(uint32_t endpoint_and_tag) {
    std::lock_guard guard(mutex_);
    return numbers_[endpoint_and_tag]++;
  }

 private:
  std::mutex mutex_;
  std::map<uint32_t, uint32_t> numbers_;  // under mutex_
};

}  // namespace v1
