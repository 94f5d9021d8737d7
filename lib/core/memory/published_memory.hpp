// The registrations that ranks have published to each other, found by rank and address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "lci/types.hpp"
#include "lib/base/interval_tree.hpp"

namespace lci::core {

class memory_region;

/// One per device. Thread-safe. Ranges may overlap, also those of one rank.
class published_memory {
 public:
  /// Adds the registrations of one publication, indexed by rank; empty ones are skipped. `own`: this rank's region,
  /// or null; is_published(own) is true from now on. Returns the publication's number, for remove().
  uint64_t add(const std::vector<rmr_t>& by_rank, const memory_region* own);
  void remove(uint64_t publication);

  /// A key for [address, address + size) of that rank, with base `address`. Empty if no published range contains it.
  rmr_t find(int rank, uint64_t address, uint64_t size) const;
  bool is_published(const memory_region* own) const;
  bool empty() const;

 private:
  struct entry : interval {
    rmr_t rmr;
    size_t rank = 0;
  };
  struct publication {
    std::vector<std::unique_ptr<entry>> entries;
    const memory_region* own = nullptr;
  };

  mutable std::shared_mutex mutex_;
  std::vector<interval_tree> by_rank_;            // under mutex_
  std::map<uint64_t, publication> publications_;  // under mutex_
  uint64_t last_ = 0;                             // under mutex_
};

}  // namespace lci::core
