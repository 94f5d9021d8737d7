// Memory that others may access: what this process owns, and how it reaches that of others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

#include "lib/layers/armci/atomicity.hpp"
#include "lib/layers/armci/layout.hpp"
#include "lib/layers/armci/link.hpp"

namespace armci_layer {

/// What each process has in shared memory for the layer itself. Counters of notifications, one for each process,
/// follow it.
struct control {
  stripes locks;
  /// Threads of the owner that wait for notifications, and may sleep.
  std::atomic<uint32_t> waiting;
  std::atomic<uint32_t>* notified() { return reinterpret_cast<std::atomic<uint32_t>*>(this + 1); }
  static size_t size(int n) { return sizeof(control) + static_cast<size_t>(n) * sizeof(std::atomic<uint32_t>); }
};

/// A block of ARMCI_Malloc or of the layer, as its owner has it.
struct block {
  lci::mr_t mr;
  size_t size = 0;
};

/// Thread-safe. Allocation here is local.
class memory {
 public:
  /// Collective.
  explicit memory(link& l);
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  /// Returns whether this process reaches a process's memory directly.
  bool is_near(int proc) const { return views_[proc].near; }
  bool all_near() const { return all_near_; }
  /// Returns whether all processes of a host have each other's memory at the same addresses.
  bool same_addresses() const { return same_addresses_; }

  /// The address here of `bytes` bytes of proc's memory; null unless they are known to be reachable.
  LCI_ALWAYS_INLINE std::byte* near(int proc, const void* address, size_t bytes) const {
    const view& v = views_[proc];
    // The span first: with a later, smaller, low it is a part of the range.
    const uint64_t span = v.span.load(std::memory_order_acquire);  // A1: pairs with R1 in reach()
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - v.low.load(std::memory_order_relaxed);
    if (LCI_UNLIKELY(offset > span || bytes > span - offset)) return nullptr;
    return reinterpret_cast<std::byte*>(reinterpret_cast<uint64_t>(address) + v.shift);
  }
  /// As near(), of a near process, for addresses that were not looked at before. Throws `error` if they aren't
  /// memory that this process reaches.
  std::byte* reach(int proc, const void* address, size_t bytes);
  std::byte* near_or_reach(int proc, const void* address, size_t bytes) {
    std::byte* const here = near(proc, address, bytes);
    return LCI_LIKELY(here != nullptr) ? here : reach(proc, address, bytes);
  }

  stripes& locks_of(int proc) { return views_[proc].own->locks; }
  /// Returns null if the process is not near.
  control* control_of(int proc) { return views_[proc].own; }
  control& own_control() { return *views_[link_.me()].own; }

  /// Allocates a block that other processes may access. Throws lci::resource_error, std::bad_alloc.
  void* allocate(size_t bytes);
  /// The key by which other processes access this process's block at this address; empty if there is no block.
  lci::rmr_t key_of(const void* address);
  bool release(const void* address);
  /// Returns whether [begin, end) lies in one of the own blocks.
  bool owns(uint64_t begin, uint64_t end) const;

 private:
  /// How a process is reached. Of a range of its memory, which grows, all is known to be mapped here.
  struct alignas(64) view {
    std::atomic<uint64_t> low{0}, span{0};
    uint64_t shift = 0;  ///< from its addresses to those here
    control* own = nullptr;
    lci::rmr_t key;  ///< of its control
    bool near = false;
  };

  link& link_;
  lci::symmetric_t controls_;
  std::unique_ptr<view[]> views_;
  bool all_near_ = true, same_addresses_ = true;
  std::mutex widening_;
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, block> blocks_;  // by address; under mutex_
};

}  // namespace armci_layer
