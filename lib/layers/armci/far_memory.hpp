// Memory of processes of other hosts, for RMA by the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <lci.hpp>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>

#include "lib/layers/armci/layout.hpp"

namespace armci_layer {

/// The registered blocks of other processes, with their keys. In a collective allocation each member sends its key to
/// the others. Thread-safe.
class far_memory {
 public:
  explicit far_memory(int n) : owners_(std::make_unique<std::map<uint64_t, known>[]>(static_cast<size_t>(n))) {}

  void learn(int proc, const void* base, size_t size, lci::rmr_t key);
  /// Removes a block. Must be called before the owner frees it.
  void forget(int proc, const void* base);

  struct place {
    lci::rmr_t key;
    uint64_t offset;  ///< in the key's range
  };
  /// Finds the key and offset of [begin, end) of a process's memory. Empty if no known block contains the whole range.
  std::optional<place> find(int proc, uint64_t begin, uint64_t end) const;

 private:
  struct known {
    size_t size;
    lci::rmr_t key;
  };
  mutable std::shared_mutex mutex_;
  std::unique_ptr<std::map<uint64_t, known>[]> owners_;  // by address; under mutex_
};

/// Converts a strided layout to one of the core. Refers to itself, so it can't be copied or moved. exists() is false if
/// the core has no such layout.
class core_layout {
 public:
  explicit core_layout(const layout& l);
  core_layout(const core_layout&) = delete;
  core_layout& operator=(const core_layout&) = delete;
  bool exists() const { return exists_; }
  /// Returns null if the layout is contiguous.
  const lci::layout_t* get() const { return contiguous_ ? nullptr : &layout_; }

 private:
  size_t strides_[max_levels];
  lci::layout_t layout_;
  bool exists_ = true, contiguous_;
};

}  // namespace armci_layer
