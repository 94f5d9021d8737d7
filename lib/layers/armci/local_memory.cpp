#include "lib/layers/armci/local_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>

namespace armci_layer {

local_memory& local_blocks() {
  static local_memory& one = *new local_memory;  // never freed: the program's static objects may own blocks
  return one;
}

local_memory::header* local_memory::take_kept(size_t size) noexcept {
  const std::lock_guard guard(mutex_);
  for (size_t i = kept_.size(); i > 0; --i) {
    header* const h = kept_[i - 1];
    if (h->size < size || h->size / 2 > size) continue;
    kept_.erase(kept_.begin() + static_cast<ptrdiff_t>(i - 1));
    kept_bytes_ -= h->size;
    return h;
  }
  return nullptr;
}

void local_memory::free_whole(header* h) noexcept {
  std::free(reinterpret_cast<std::byte*>(h + 1) - (is_large_block(h) ? page : sizeof(header)));
}

void* local_memory::allocate(size_t bytes) noexcept {
  if (bytes > ~size_t{0} / 2) return nullptr;
  const bool is_large = bytes >= large;
  const size_t unit = is_large ? huge_page : 64, before = is_large ? page : sizeof(header);
  const size_t size = (bytes + before + unit - 1) / unit * unit;
  header* h = is_large ? take_kept(size) : nullptr;
  if (h == nullptr) {
    void* const whole = std::aligned_alloc(unit, size);
    if (whole == nullptr) return nullptr;
    // Huge pages are an optimization, so a refusal is not an error.
    if (is_large) madvise(whole, size, MADV_HUGEPAGE);
    h = reinterpret_cast<header*>(static_cast<std::byte*>(whole) + before) - 1;
    h->size = size;
  }
  h->mark = mark_of(h);
  return h + 1;
}

bool local_memory::release(void* p) noexcept {
  if (p == nullptr) return true;
  if (reinterpret_cast<uintptr_t>(p) % alignof(header) != 0) return false;
  header* const h = static_cast<header*>(p) - 1;
  if (h->mark != mark_of(h)) return false;
  h->mark = 0;
  if (is_large_block(h)) {
    const std::lock_guard guard(mutex_);
    if (kept_bytes_ + h->size <= most_kept) {
      try {
        kept_.push_back(h);
        kept_bytes_ += h->size;
        return true;
      } catch (...) {
        // The list of blocks for reuse can't grow: the block is freed below.
      }
    }
  }
  free_whole(h);
  return true;
}

void local_memory::trim() noexcept {
  const std::lock_guard guard(mutex_);
  for (header* h : kept_) free_whole(h);
  kept_.clear();
  kept_bytes_ = 0;
}

}  // namespace armci_layer
