#include "lib/layers/na/context.hpp"

#include <sched.h>

#include <climits>

#include "lib/layers/na/class.hpp"

using na::operation;

namespace {
constinit std::atomic<uint64_t> last_serial{0};  // never reused: threads keep numbers of contexts that were destroyed
}  // namespace

na_context::na_context(na_class_t* of)
    : owner(of),
      serial(last_serial.fetch_add(1, std::memory_order_relaxed) + 1),
      leader_s(lci::alloc_counter_x().runtime(of->runtime)()) {}

na_context::~na_context() {
  magic = 0;
  while (signalling_.load(std::memory_order_acquire) != 0) sched_yield();  // G2
  lci::free_comp_x(&leader_s).runtime(owner->runtime)();
}

void na_context::signal(lci::status_t status) {
  auto* const op = static_cast<operation*>(status.user_context);
  op->result = status;
  op->next = nullptr;
  // As soon as the lock is released, another thread may run the callback, and then destroy the context. The destructor
  // waits for this scope.
  struct scope {
    std::atomic<int>& n;
    ~scope() { n.fetch_sub(1, std::memory_order_release); }  // G1: pairs with G2
  };
  signalling_.fetch_add(1, std::memory_order_relaxed);  // pop() of the operation takes the lock later, so it sees this
  const scope here{signalling_};
  {
    const std::lock_guard guard(lock_);
    (first_ == nullptr ? first_ : last_->next) = op;
    last_ = op;
    n_.fetch_add(1, std::memory_order_seq_cst);  // S3; S4 are the loads of `leading` and any() below
  }
  if (!wake_leader() && followers.any()) followers.wake(INT_MAX);
}

bool na_context::wake_leader() {
  if (!leading.load(std::memory_order_seq_cst)) return false;
  lci::comp_signal_x(leader_s, lci::status_t(lci::errorcode_t::done)).runtime(owner->runtime)();
  return true;
}

operation* na_context::pop() {
  if (n_.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard guard(lock_);
  operation* const op = first_;
  if (op == nullptr) return nullptr;
  first_ = op->next;
  n_.fetch_sub(1, std::memory_order_relaxed);
  return op;
}

void na_context::end_round() {
  rounds.fetch_add(1, std::memory_order_seq_cst);  // S3
  wake_leader();
  if (followers.any()) followers.wake(INT_MAX);
}
