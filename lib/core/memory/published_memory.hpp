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
  struct entry : interval {
    rmr_t rmr;
    size_t rank = 0;
  };
  struct publication {
    std::vector<std::unique_ptr<entry>> entries;
    const memory_region* own = nullptr;
  };
  using publication_map = std::map<uint64_t, publication>;

 public:
  /// A publication whose memory is allocated already, so that add() can't fail.
  class prepared {
   public:
    explicit prepared(size_t n_ranks);
    /// An empty registration is skipped.
    void set(size_t rank, const rmr_t& rmr) { found_.mapped().entries[rank]->rmr = rmr; }

   private:
    friend class published_memory;
    publication_map::node_type found_;
  };
  /// Allocates the entries of `n_ranks` ranks. To be called before add(), which then allocates nothing.
  void make_room(size_t n_ranks);
  /// Adds a publication after make_room(). `own`: this rank's region, or null; is_published(own) is true from now on.
  /// Returns the publication's number, for remove().
  uint64_t add(prepared made, const memory_region* own) noexcept;
  void remove(uint64_t publication);

  /// A key for [address, address + size) of that rank, with base `address`. Empty if no published range contains it.
  rmr_t find(int rank, uint64_t address, uint64_t size) const;
  bool is_published(const memory_region* own) const;
  bool empty() const;

 private:
  mutable std::shared_mutex mutex_;
  std::vector<interval_tree> by_rank_;  // under mutex_
  publication_map publications_;        // under mutex_
  uint64_t last_ = 0;                   // under mutex_
};

}  // namespace lci::core
