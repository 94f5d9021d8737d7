// Progress, callbacks, and cancelling.
//
// Of the threads that wait in NA_Progress(), one at a time, the leader, makes progress and sleeps in the core, where a
// message wakes it. The others sleep until an operation of their context completes. A leader that leaves wakes one of
// them, which leads on.
#include <algorithm>
#include <chrono>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/context.hpp"
#include "lib/layers/na/errors.hpp"

namespace {

using clock = std::chrono::steady_clock;
using na::operation;

/// Seconds.
double until(clock::time_point t) { return std::chrono::duration<double>(t - clock::now()).count(); }

/// Counts a thread in while it waits.
class counted {
 public:
  explicit counted(std::atomic<uint32_t>& n) : n_(n) { n_.fetch_add(1, std::memory_order_seq_cst); }
  ~counted() { n_.fetch_sub(1, std::memory_order_relaxed); }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;

 private:
  std::atomic<uint32_t>& n_;
};

/// Leads while it lives, if nobody else does.
class leadership {
 public:
  explicit leadership(na_class& c) : class_(c), mine_(!c.led.exchange(true, std::memory_order_seq_cst)) {}
  ~leadership() {
    if (!mine_) return;
    // L1: before the counts are read. A thread that would sleep counts itself before it reads `led` (L2): in the single
    // order of the four, either it sees that nobody leads, or it is seen here and woken.
    class_.led.store(false, std::memory_order_seq_cst);
    const std::lock_guard guard(class_.contexts_mutex);
    for (na_context_t* const context : class_.contexts) {
      if (context->sleepers.load(std::memory_order_seq_cst) == 0) continue;
      context->wake_one();
      return;
    }
  }
  leadership(const leadership&) = delete;
  leadership& operator=(const leadership&) = delete;

  bool mine() const { return mine_; }

 private:
  na_class& class_;
  const bool mine_;
};

/// Waits for a status of the context's queue, at most `seconds`.
lci::status_t wait_once(na_class& c, na_context& context, double seconds) {
  const leadership lead(c);
  // Posts that the core has not taken yet are tried again soon.
  constexpr double soon = 100e-6;
  if (lead.mine()) {
    if (c.waiting.any()) {
      c.waiting.post_some(c);
      seconds = std::min(seconds, soon);
    }
    try {
      return lci::cq_wait_for_x(context.queue, seconds).runtime(c.runtime).device(c.device)();
    } catch (const lci::peer_failure_error& e) {
      c.forget_failed(e);
      return lci::errorcode_t::retry;
    }
  }
  const counted sleeping(context.sleepers);
  if (!c.led.load(std::memory_order_seq_cst)) return lci::errorcode_t::retry;  // L2
  return lci::cq_wait_for_x(context.queue, seconds).runtime(c.runtime).do_progress(false)();
}

na_return_t progress(na_class& c, na_context& context, unsigned timeout) {
  if (context.has_aside()) return NA_SUCCESS;
  const auto take = [&](const lci::status_t& status) {
    operation* const op = status.is_retry() ? nullptr : na_context::completed(status);
    if (op != nullptr) context.put_aside(op);
    return op != nullptr;
  };
  const auto pop = [&] {
    if (operation* const op = context.pop(); op != nullptr) return context.put_aside(op), true;
    return false;
  };
  if (pop()) return NA_SUCCESS;
  c.progress();
  if (pop()) return NA_SUCCESS;
  if (timeout == 0) return NA_TIMEOUT;

  const clock::time_point end = clock::now() + std::chrono::milliseconds(timeout);
  const uint64_t rounds = context.rounds.load(std::memory_order_acquire);
  const counted waiting(context.waiters);
  for (;;) {
    const double left = until(end);
    if (left <= 0) return NA_TIMEOUT;
    if (take(wait_once(c, context, left))) return NA_SUCCESS;
    // Another thread has run callbacks, or taken the operation for that: what the caller waits for may have happened.
    if (context.has_aside() || context.rounds.load(std::memory_order_acquire) != rounds) return NA_SUCCESS;
  }
}

void run_callback(na_class& c, operation* op) {
  na_cb_info info{};
  info.arg = op->arg;
  info.type = op->type.load(std::memory_order_relaxed);
  info.ret = na::code_of(op->result, op->cancelled.load(std::memory_order_relaxed));
  if (info.type == NA_CB_LOOKUP) info.info.lookup.addr = info.ret == NA_SUCCESS ? op->found : NA_ADDR_NULL;
  if (info.type == NA_CB_RECV_UNEXPECTED && op->result.is_done()) {
    info.info.recv_unexpected.actual_buf_size = op->result.size;
    info.info.recv_unexpected.source = c.book->of(static_cast<uint32_t>(op->result.rank));
    info.info.recv_unexpected.tag = static_cast<na_tag_t>(op->result.tag);
  }
  if (op->callback != nullptr) op->callback(&info);
  c.done_with(op);
}

}  // namespace

na_return_t NA_Progress(na_class_t* na_class, na_context_t* context, unsigned int timeout) {
  constexpr const char* function = "NA_Progress";
  if (!na::valid(na_class)) return na::refuse(NA_INVALID_PARAM, function, "na_class is no class");
  if (!na::valid(na_class, context))
    return na::refuse(NA_INVALID_PARAM, function, "context is no context of this class");
  return na::guarded(function, [&] { return progress(*na_class, *context, timeout); });
}

na_return_t NA_Trigger(na_context_t* context, unsigned int timeout, unsigned int max_count,
                       unsigned int* actual_count) {
  constexpr const char* function = "NA_Trigger";
  unsigned ran = 0;
  if (actual_count != nullptr) *actual_count = 0;
  if (context == nullptr || context->magic != na_context_t::alive)
    return na::refuse(NA_INVALID_PARAM, function, "context is no context");
  return na::guarded(function, [&] {
    na_class& c = *context->owner;
    const clock::time_point end = clock::now() + std::chrono::milliseconds(timeout);
    while (ran < max_count) {
      operation* const op = context->pop();
      if (op != nullptr) {
        ++ran;
        run_callback(c, op);
        continue;
      }
      const double left = ran > 0 || timeout == 0 ? 0 : until(end);
      if (left <= 0) break;
      const lci::status_t status = wait_once(c, *context, left);
      operation* const came = status.is_retry() ? nullptr : na_context::completed(status);
      if (came != nullptr) context->put_aside(came);
    }
    if (actual_count != nullptr) *actual_count = ran;
    if (ran > 0) {
      context->rounds.fetch_add(1, std::memory_order_release);
      if (context->waiters.load(std::memory_order_seq_cst) != 0) context->wake_waiters();
    }
    return ran > 0 || max_count == 0 ? NA_SUCCESS : NA_TIMEOUT;
  });
}

na_return_t NA_Cancel(na_class_t* na_class, na_context_t* context, na_op_id_t op_id) {
  constexpr const char* function = "NA_Cancel";
  if (!na::valid(na_class)) return na::refuse(NA_INVALID_PARAM, function, "na_class is no class");
  if (!na::valid(na_class, context))
    return na::refuse(NA_INVALID_PARAM, function, "context is no context of this class");
  bool number = false;
  operation* const op = na_class->operations.find(op_id, &number);
  if (!number) return na::refuse(NA_INVALID_PARAM, function, "op_id is no operation's; pass what op_id was set to");
  if (op == nullptr) return NA_SUCCESS;  // it has completed
  return na::guarded(function, [&] {
    op->cancelled.store(true, std::memory_order_relaxed);
    if (op->type.load(std::memory_order_relaxed) == NA_CB_LOOKUP) {
      na_class->searching.cancel(*na_class, op, op_id);
    } else if (na_class->waiting.any() && na_class->waiting.remove(op, op_id)) {
      op->one_is_done.store(true, std::memory_order_relaxed);
      na_class->finish(op, lci::errorcode_t::cancelled);
    } else {
      lci::operation_t name;
      name.impl = op->core_name.load(std::memory_order_acquire);
      name.serial = op->core_serial.load(std::memory_order_acquire);
      // The name is of this operation if that has not ended meanwhile.
      if (name.impl != nullptr && na_class->operations.find(op_id, &number) == op) lci::cancel(name);
    }
    return NA_SUCCESS;
  });
}
