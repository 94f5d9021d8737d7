#include "lib/core/operation/operation.hpp"

#include <memory>
#include <new>

namespace lci::core {

operation_table::operation_table() = default;

operation_table::~operation_table() {
  for (size_t i = 0; i < caches_.size(); ++i) delete caches_.get(i);
  for (size_t i = 0; i < n_slabs_; ++i) delete[] slabs_.get(i);
}

operation_table::cache* operation_table::local(std::unique_lock<spinlock>& shared_guard) {
  const int index = thread_index();
  if (LCI_UNLIKELY(index == max_thread_index)) shared_guard = std::unique_lock(last_cache_lock_);
  cache* c = caches_.get(static_cast<size_t>(index));
  if (LCI_LIKELY(c != nullptr)) return c;
  try {
    auto made = std::make_unique<cache>();
    caches_.put(static_cast<size_t>(index), made.get());
    return made.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
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
  if (LCI_UNLIKELY(c == nullptr)) return release_to_shared_list(op);
  give(*c, op);
  if (c->count > 2 * batch) spill(*c);
}

void operation_table::release_to_shared_list(operation* op) {
  std::lock_guard guard(lock_);
  cache alone;
  give(alone, op);
  released_ += 1;
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
  int64_t n = -released_;
  for (size_t i = 0; i < caches_.size(); ++i)
    if (const cache* c = caches_.get(i)) n += c->alive;
  return static_cast<size_t>(n);
}

}  // namespace lci::core
