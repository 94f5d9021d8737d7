// The completion object that discards active messages.
#pragma once

#include <atomic>
#include <cstdint>

#include "lci/completion.hpp"

namespace lci::core {

/// Counts messages in place, so that no memory is allocated for them. Thread-safe.
class discard final : public comp_impl_t {
 public:
  discard() { attr.am_in_place = true; }
  void signal(status_t) override { count.fetch_add(1, std::memory_order_relaxed); }

  std::atomic<uint64_t> count{0};
};

}  // namespace lci::core
