#include "lib/layers/na/operation.hpp"

#include "lib/layers/na/transfer.hpp"

namespace na {

operation::~operation() = default;

operation_pool::operation_pool() = default;

operation_pool::~operation_pool() {
  for (auto& b : blocks_) delete b.load(std::memory_order_relaxed);
}

operation* operation_pool::take_free() {
  if (free_ == nullptr) {
    if (n_blocks_ == most_blocks) throw lci::resource_error("4 million operations are outstanding");
    auto* const added = new block;
    for (uint32_t i = 0; i < per_block; ++i) {
      (*added)[i].index = n_blocks_ * per_block + i;
      (*added)[i].next = i + 1 < per_block ? &(*added)[i + 1] : nullptr;
    }
    blocks_[n_blocks_++].store(added, std::memory_order_release);  // R1
    free_ = &(*added)[0];
  }
  operation* const op = free_;
  free_ = op->next;
  return op;
}

operation* operation_pool::begin(operation* op, na_context_t* context, na_cb_type_t type) {
  op->next = nullptr;
  op->direct = op->is_cut = false;
  op->context.store(context, std::memory_order_relaxed);
  op->type.store(type, std::memory_order_relaxed);
  op->cancelled.store(false, std::memory_order_relaxed);
  op->one_is_done.store(true, std::memory_order_relaxed);
  op->core_name.store(nullptr, std::memory_order_relaxed);
  op->used.store(true, std::memory_order_release);
  return op;
}

operation* operation_pool::take(na_context_t* context, na_cb_type_t type) {
  const std::lock_guard guard(lock_);
  return begin(take_free(), context, type);
}

operation* operation_pool::take_for_answer(na_context_t* context, na_cb_type_t type) {
  const std::lock_guard guard(lock_);
  operation* op = spare_;
  try {
    op = take_free();
  } catch (const std::exception&) {
    if (op == nullptr) throw;
    spare_ = op->next;
  }
  return begin(op, context, type);
}

void operation_pool::reserve() {
  const std::lock_guard guard(lock_);
  operation* const op = take_free();
  op->is_spare = true;
  op->next = spare_;
  spare_ = op;
}

void operation_pool::release() {
  const std::lock_guard guard(lock_);
  operation* const op = spare_;
  if (op == nullptr) {
    ++leaving_;
    return;
  }
  spare_ = op->next;
  op->is_spare = false;
  op->next = free_;
  free_ = op;
}

void operation_pool::end_reserve() {
  const std::lock_guard guard(lock_);
  while (operation* const op = spare_) {
    spare_ = op->next;
    op->is_spare = false;
    op->next = free_;
    free_ = op;
  }
}

std::unique_ptr<transfer> operation_pool::take_transfer() {
  {
    const std::lock_guard guard(lock_);
    for (auto& t : kept_)
      if (t != nullptr) return std::move(t);
  }
  return std::make_unique<transfer>();
}

void operation_pool::give_back(operation* op) {
  std::unique_ptr<transfer> ended = std::move(op->moved);  // frees its memory, if it is not kept, without the lock
  if (ended != nullptr && !ended->may_be_kept()) ended.reset();
  op->used.store(false, std::memory_order_relaxed);
  // A number has room for 36 bits of generation; 32 are used.
  op->generation.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard guard(lock_);
  for (auto& t : kept_)
    if (ended != nullptr && t == nullptr) t = std::move(ended);
  if (op->is_spare && leaving_ > 0) {
    --leaving_;
    op->is_spare = false;
  }
  operation*& list = op->is_spare ? spare_ : free_;
  op->next = list;
  list = op;
}

operation* operation_pool::find(na_op_id_t id, bool* valid) const {
  const uint64_t v = reinterpret_cast<uint64_t>(id);
  const uint32_t index = static_cast<uint32_t>(v) & 0xffffff;
  block* const b = index / per_block < most_blocks ? blocks_[index / per_block].load(std::memory_order_acquire)  // A1
                                                   : nullptr;
  *valid = v >> 60 == magic >> 60 && b != nullptr;
  if (!*valid) return nullptr;
  operation& op = (*b)[index % per_block];
  const bool same = op.used.load(std::memory_order_acquire) &&
                    op.generation.load(std::memory_order_relaxed) == static_cast<uint32_t>(v >> 24);
  return same ? &op : nullptr;
}

}  // namespace na
