// Memory that all processes of a host access by load and store: this rank's heap, and where peers' heaps are mapped.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/base/cpu.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// A first-fit allocator of one range of addresses; freed blocks are merged with free neighbours. Not thread-safe.
class block_list {
 public:
  /// `size`: bytes of the range; `base`: address of its first byte, for alignment.
  explicit block_list(size_t size = 0, uint64_t base = 0);
  static constexpr size_t none = ~size_t{0};

  /// Offset of `size` bytes whose address is a multiple of `alignment` (a power of two), or `none`.
  /// Throws std::bad_alloc; then nothing has changed.
  size_t take(size_t size, size_t alignment);
  /// Needs no memory.
  void give(size_t offset, size_t size);
  /// Bytes of the largest free block.
  size_t largest() const;

 private:
  std::map<size_t, size_t> free_;   // size by offset; never adjacent
  std::map<size_t, size_t> spare_;  // an entry for each block in use, which give() moves to free_
  uint64_t base_;
};

/// The shared heaps of this rank and its peers. One per net context. Thread-safe.
class shared_heap {
 public:
  shared_heap(network::context& net, int rank, int n_ranks);
  ~shared_heap();

  /// Returns null if the network has no shared heaps. Throws resource_error if the heap is used up.
  std::byte* allocate(size_t size, size_t alignment);
  void deallocate(std::byte* block, size_t size);
  /// Returns the bytes of a block for `size` bytes: whole cache lines, so that two blocks never share one.
  static size_t block_size(size_t size) {
    return (std::max<size_t>(size, 1) + cache_line - 1) / cache_line * cache_line;
  }
  /// Frees the memory of a call of alloc_shared(): a block of this heap, or private memory where there is no heap.
  void free_block(void* base, size_t size);
  /// Returns whether the range is in this rank's heap.
  bool contains(const void* begin, size_t size) const {
    const network::heap_window* w = own_.load(std::memory_order_acquire);  // A1
    return w != nullptr && inside(*w, reinterpret_cast<uint64_t>(begin), size) != nullptr;
  }

  /// The windows of all peers, for inlined access: see detail::device_front.
  const std::atomic<const network::heap_window*>* windows() const { return windows_; }
  /// The address in this process of memory in `peer`'s heap; null if it can't be accessed. The first call for a peer
  /// maps its heap. `peer` must be a rank. Throws resource_error, peer_failure_error.
  std::byte* reach(int peer, uint64_t address, size_t size) {
    const network::heap_window* w = windows_[peer].load(std::memory_order_acquire);  // A1
    return inside(LCI_LIKELY(w != nullptr) ? *w : *find(peer), address, size);
  }

 private:
  static std::byte* inside(const network::heap_window& w, uint64_t address, size_t size) {
    const uint64_t offset = address - w.base;
    return LCI_LIKELY(offset <= w.size && size <= w.size - offset) ? w.here + offset : nullptr;
  }
  LCI_COLD const network::heap_window* find(int peer);
  const network::heap_window* publish(int peer, const network::heap_window& w);

  network::context& net_;
  const int rank_;
  /// Null until find(peer). R1: stored after the window that it points to.
  std::atomic<const network::heap_window*>* windows_;
  std::atomic<const network::heap_window*> own_{nullptr};
  std::mutex mutex_;
  block_list blocks_;                                                 // under mutex_
  std::vector<std::unique_ptr<network::heap_window>> owned_windows_;  // under mutex_
};

}  // namespace lci::core
