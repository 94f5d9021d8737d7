#include "lib/core/operation/operation.hpp"

#include <memory>
#include <new>

namespace lci::core {

operation_table::operation_table() = default;

operation_table::~operation_table() {
  for (const auto& c : caches_) delete c.load(std::memory_order_relaxed);
  delete last_cache_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < n_slabs_; ++i) delete[] slabs_.get(i);
}

operation_table::cache* operation_table::local(std::unique_lock<spinlock>& shared_guard) {
  const int index = thread_index();
  const bool shared = index == max_thread_index;
  if (LCI_UNLIKELY(shared)) shared_guard = std::unique_lock(last_cache_lock_);
  std::atomic<cache*>& place = shared ? last_cache_ : caches_[static_cast<size_t>(index) + 1];
  cache* c = place.load(std::memory_order_relaxed);
  if (LCI_UNLIKELY(c == nullptr)) {
    c = new (std::nothrow) cache;
    place.store(c, std::memory_order_release);  // R2: pairs with A2 in alive()
  }
  return c;
}

operation* operation_table::allocate_slowly() {
  std::unique_lock<spinlock> shared_guard;
  cache* const c = local(shared_guard);
  if (c == nullptr) return nullptr;
  return c->head != nullptr || refill(*c) ? take(*c) : nullptr;
}

void operation_table::release_slowly(operation* op) {
  std::unique_lock<spinlock> shared_guard;
  cache* const c = local(shared_guard);
  reset(op);
  if (LCI_UNLIKELY(c == nullptr)) return release_to_shared_list(op);
  give(*c, op);
  if (c->count > 2 * batch) spill(*c);
}

void operation_table::release_to_shared_list(operation* op) {
  std::lock_guard guard(lock_);
  cache alone;
  give(alone, op);
  op->next_free = free_;
  free_ = op;
}

bool operation_table::refill(cache& c) {
  std::lock_guard guard(lock_);
  if (free_ == nullptr) {
    if (n_slabs_ * slab_size > index_mask - slab_size) return false;
    std::unique_ptr<operation[]> made;
    try {
      made.reset(new operation[slab_size]);
      slabs_.put(n_slabs_, made.get());
    } catch (const std::bad_alloc&) {
      return false;
    }
    operation* const slab = made.release();
    for (size_t i = slab_size; i-- > 0;) {
      slab[i].gate.reuse(static_cast<uint32_t>(n_slabs_ * slab_size + i));
      slab[i].next_free = free_;
      free_ = &slab[i];
    }
    ++n_slabs_;
  }
  while (free_ != nullptr && c.count < batch) {
    operation* op = free_;
    free_ = op->next_free;
    op->next_free = c.head;
    c.head = op;
    ++c.count;
  }
  return true;
}

void operation_table::spill(cache& c) {
  std::lock_guard guard(lock_);
  while (c.count > batch) {
    operation* op = c.head;
    c.head = op->next_free;
    --c.count;
    op->next_free = free_;
    free_ = op;
  }
}

operation_table::visit operation_table::enter(const device* d, uint32_t handle, uint8_t awaited) const {
  const uint32_t index = handle & index_mask;
  operation* slab = slabs_.get(index / slab_size);
  if (slab == nullptr) return {nullptr, 0};
  operation* op = &slab[index % slab_size];
  const uint8_t kind = op->gate.enter(awaited, [=](uint32_t current) { return current == handle && op->owner() == d; });
  return {kind != 0 ? op : nullptr, kind};
}

size_t operation_table::alive() const {
  std::lock_guard guard(lock_);
  size_t n = n_slabs_ * slab_size;
  for (const operation* op = free_; op != nullptr; op = op->next_free) --n;
  const auto subtract = [&](const std::atomic<cache*>& place) {
    if (const cache* c = place.load(std::memory_order_acquire))
      n -= static_cast<size_t>(c->count);  // A2: pairs with R2
  };
  for (const auto& c : caches_) subtract(c);
  subtract(last_cache_);
  return n;
}

}  // namespace lci::core
