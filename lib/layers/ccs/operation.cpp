#include "lib/layers/ccs/operation.hpp"

#include <utility>

#include "lib/layers/ccs/process.hpp"

namespace ccs {

operation::~operation() {
  if (number != 0) (void)of.operations.take(number);
  end_count();
}

void operation::count_as(counted what) {
  counts_ = what;
  if (what == counted::outstanding)
    of.peers[static_cast<size_t>(node)].outstanding.fetch_add(1, std::memory_order_relaxed);
  else
    of.receiving.fetch_add(1, std::memory_order_relaxed);
}

void operation::end_count() {
  if (counts_ == counted::outstanding)
    of.peers[static_cast<size_t>(node)].outstanding.fetch_sub(1, std::memory_order_release);
  else if (counts_ == counted::receiving)
    of.receiving.fetch_sub(1, std::memory_order_release);
  counts_ = counted::no;
}

uint64_t operation::give_number() {
  number = of.operations.add(this);
  return number;
}

void complete(std::unique_ptr<operation> op, int status) noexcept {
  process& p = op->of;
  op->end_count();
  const CCS_callback_t callback = op->callback;
  void* const arg = op->arg;
  if (callback != nullptr && tls.busy > 0) {
    op->local = layout();
    op->status = status;
    return p.due.add(std::move(op));
  }
  op.reset();
  if (callback != nullptr) call_now(callback, arg, status);
}

}  // namespace ccs
