#include "lib/layers/na/context.hpp"

#include <mutex>

#include "lib/layers/na/class.hpp"

using na::operation;

na_context::na_context(na_class_t* of) : owner(of), queue(lci::alloc_cq_x().runtime(of->runtime)()) {}

na_context::~na_context() {
  magic = 0;
  lci::free_comp_x(&queue).runtime(owner->runtime)();
}

operation* na_context::pop() {
  if (has_aside()) {
    const std::lock_guard guard(lock_);
    if (operation* const op = first_; op != nullptr) {
      first_ = op->next;
      n_aside_.fetch_sub(1, std::memory_order_relaxed);
      return op;
    }
  }
  for (;;) {
    const lci::status_t status = lci::cq_pop_x(queue).runtime(owner->runtime)();
    if (status.is_retry()) return nullptr;
    if (operation* const op = completed(status); op != nullptr) return op;
  }
}

void na_context::put_aside(operation* op) {
  const std::lock_guard guard(lock_);
  op->next = nullptr;
  (first_ == nullptr ? first_ : last_->next) = op;
  last_ = op;
  n_aside_.fetch_add(1, std::memory_order_release);
}

void na_context::wake_one() {
  lci::comp_signal_x(queue, lci::status_t(lci::errorcode_t::done)).runtime(owner->runtime)();
}

void na_context::wake_waiters() {
  for (uint32_t n = waiters.load(std::memory_order_seq_cst); n > 0; --n) wake_one();
}
