#include "lib/core/memory/shared_heap.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "lci/errors.hpp"

namespace lci::core {

// --- blocks ---

block_list::block_list(size_t size, uint64_t base) : base_(base) {
  if (size > 0) free_.emplace(0, size);
}

size_t block_list::take(size_t size, size_t alignment) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const size_t begin = it->first, length = it->second;
    const size_t at = ((base_ + begin + alignment - 1) & ~(alignment - 1)) - base_;
    if (at - begin > length || length - (at - begin) < size) continue;
    // First what may throw: what giving the block back needs, then the remainder behind it.
    spare_.emplace(spare_.size(), 0);
    try {
      if (at + size < begin + length) free_.emplace(at + size, begin + length - (at + size));
    } catch (...) {
      spare_.erase(std::prev(spare_.end()));
      throw;
    }
    if (at > begin)
      it->second = at - begin;
    else
      free_.erase(it);
    return at;
  }
  return none;
}

void block_list::give(size_t offset, size_t size) {
  auto entry = spare_.extract(std::prev(spare_.end()));
  const auto after = free_.lower_bound(offset);
  if (after != free_.end() && after->first == offset + size) {
    size += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  entry.key() = offset;
  entry.mapped() = size;
  free_.insert(std::move(entry));
}

size_t block_list::largest() const {
  size_t most = 0;
  for (const auto& [begin, length] : free_) most = std::max(most, length);
  return most;
}

// --- heaps ---

shared_heap::shared_heap(network::context& net, int rank, int n_ranks)
    : net_(net),
      rank_(rank),
      // calloc(): entries of peers that are never used take up no physical memory.
      windows_(static_cast<std::atomic<const network::heap_window*>*>(
          std::calloc(static_cast<size_t>(n_ranks), sizeof(windows_[0])))) {
  if (windows_ == nullptr) throw std::bad_alloc();
}

shared_heap::~shared_heap() { std::free(windows_); }

const network::heap_window* shared_heap::publish(int peer, const network::heap_window& w) {
  owned_windows_.push_back(std::make_unique<network::heap_window>(w));
  const network::heap_window* window = owned_windows_.back().get();
  windows_[peer].store(window, std::memory_order_release);  // R1
  return window;
}

std::byte* shared_heap::allocate(size_t size, size_t alignment) {
  std::lock_guard guard(mutex_);
  if (own_.load(std::memory_order_relaxed) == nullptr) {
    const network::heap_window w = net_.own_heap();
    if (w.size == 0) return nullptr;
    blocks_ = block_list(w.size, w.base);
    own_.store(publish(rank_, w), std::memory_order_release);  // R1
  }
  const network::heap_window& own = *own_.load(std::memory_order_relaxed);
  const size_t offset = blocks_.take(size, alignment);
  if (offset == block_list::none)
    throw resource_error("alloc_shared: size = " + std::to_string(size) +
                         ", the largest free block of the shared heap has " + std::to_string(blocks_.largest()) +
                         " of " + std::to_string(own.size) + " bytes; raise LCI_ATTR_SHARED_HEAP_SIZE");
  return own.here + offset;
}

void shared_heap::deallocate(std::byte* block, size_t size) {
  std::lock_guard guard(mutex_);
  net_.discard(block, size);
  blocks_.give(static_cast<size_t>(block - own_.load(std::memory_order_relaxed)->here), size);
}

void shared_heap::free_block(void* base, size_t size) {
  if (contains(base, size))
    deallocate(static_cast<std::byte*>(base), block_size(size));
  else
    std::free(base);
}

const network::heap_window* shared_heap::find(int peer) {
  std::lock_guard guard(mutex_);
  if (const auto* w = windows_[peer].load(std::memory_order_relaxed)) return w;
  // If the heap can't be accessed, the window is empty.
  return publish(peer, net_.heap_of(peer));
}

}  // namespace lci::core
