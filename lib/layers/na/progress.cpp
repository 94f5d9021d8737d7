// Progress, callbacks, and cancelling.
//
// Among the threads that wait in NA_Progress(), one at a time is the leader: it makes progress, and sleeps in the core,
// where a message wakes it. The others (followers) sleep until an operation of their context completes. When the leader
// returns, it wakes a follower, which becomes the next leader.
#include <algorithm>
#include <chrono>

#include "lib/layers/na/class.hpp"
#include "lib/layers/na/context.hpp"
#include "lib/layers/na/errors.hpp"

namespace {

using clock = std::chrono::steady_clock;
using na::operation;

/// The number of callbacks (na_context::rounds) that had run at the thread's last call, for the last few contexts that
/// it used. If another thread has run callbacks since, the event that the caller waits for may already have happened,
/// and NA_Progress() must return instead of sleeping for it.
class seen_rounds {
 public:
  static uint64_t now(const na_context& c) { return c.rounds.load(std::memory_order_seq_cst); }
  uint64_t of(const na_context& c) const {
    for (const entry& e : entries_)
      if (e.serial == c.serial) return e.rounds;
    return now(c);
  }
  void update(const na_context& c) {
    for (entry& e : entries_)
      if (e.serial == c.serial) return (void)(e.rounds = now(c));
    entries_[next_++ % 4] = {c.serial, now(c)};
  }

 private:
  struct entry {
    uint64_t serial = 0;
    uint64_t rounds = 0;
  };
  entry entries_[4];
  unsigned next_ = 0;
};
constinit thread_local seen_rounds seen __attribute__((tls_model("initial-exec")));

/// Seconds from now until `t`.
double until(clock::time_point t) { return std::chrono::duration<double>(t - clock::now()).count(); }

/// Wakes a follower, which becomes the leader, if there is no leader.
void wake_next_leader(na_class& c) {
  if (c.led.load(std::memory_order_seq_cst)) return;
  const std::lock_guard guard(c.contexts_mutex);
  for (na_context_t* const context : c.contexts) {
    if (!context->followers.any()) continue;
    context->followers.wake(1);
    return;
  }
}

/// Makes the calling thread the leader until the end of the scope. No effect if another thread is the leader.
class leadership {
 public:
  leadership(na_class& c, na_context& context)
      : class_(c), context_(context), mine_(!c.led.exchange(true, std::memory_order_seq_cst)) {
    if (mine_) context.leading.store(true, std::memory_order_seq_cst);
  }
  ~leadership() {
    if (!mine_) return;
    context_.leading.store(false, std::memory_order_seq_cst);
    class_.led.store(false, std::memory_order_seq_cst);  // S3 of `sleepers`
  }
  leadership(const leadership&) = delete;
  leadership& operator=(const leadership&) = delete;

  bool mine() const { return mine_; }

 private:
  na_class& class_;
  na_context& context_;
  const bool mine_;
};

/// Sleeps until `ready()` may have become true, at most `seconds`. May return early. ready() must use sequentially
/// consistent loads (S2 of `sleepers`).
template <class Ready>
void wait_once(na_class& c, na_context& context, Ready ready, double seconds) {
  {
    const leadership lead(c, context);
    if (lead.mine()) {
      const int64_t signals = lci::counter_get_x(context.leader_s).runtime(c.runtime)();
      // What the core has refused with `retry` is tried again after this time. A thread that makes something wait later
      // sees this leader, and signals it.
      constexpr double soon = 100e-6;
      if (c.waiting.any() || c.introduced.owes() || c.unexpected.owes() || c.direct.owes()) {
        c.waiting.post_some(c);
        c.introduced.answer_some();
        c.unexpected.report_some();
        c.direct.pay_some();
        seconds = std::min(seconds, soon);
      }
      if (ready()) return;
      try {
        lci::counter_wait_for_x(context.leader_s, signals + 1, seconds).runtime(c.runtime).device(c.device)();
      } catch (const lci::peer_failure_error& e) {
        c.forget_failed(e);
      }
      return;
    }
  }
  context.followers.sleep([&] { return c.led.load(std::memory_order_seq_cst) && !ready(); },
                          static_cast<int64_t>(seconds * 1e9));
}

/// Waits until `ready()`, at most until `end`. Returns whether it is ready.
template <class Ready>
bool wait(na_class& c, na_context& context, Ready ready, clock::time_point end) {
  // The previous leader may have woken this thread to become the leader. If it returns instead, it must wake another.
  struct at_end {
    na_class& c;
    ~at_end() { wake_next_leader(c); }
  } const leaving{c};
  while (!ready()) {
    const double left = until(end);
    if (left <= 0) return false;
    wait_once(c, context, ready, left);
  }
  return true;
}

na_return_t progress(na_class& c, na_context& context, unsigned timeout) {
  if (context.any()) return NA_SUCCESS;
  c.progress();
  if (context.any()) return NA_SUCCESS;
  if (timeout == 0) return NA_TIMEOUT;
  const uint64_t rounds = seen.of(context);
  // See seen_rounds.
  const auto ready = [&] { return context.any() || seen_rounds::now(context) != rounds; };
  return wait(c, context, ready, clock::now() + std::chrono::milliseconds(timeout)) ? NA_SUCCESS : NA_TIMEOUT;
}

void run_callback(na_class& c, operation* op) {
  na_cb_info info{};
  info.arg = op->arg;
  info.type = op->type.load(std::memory_order_relaxed);
  info.ret = na::code_of(op->result, op->cancelled.load(std::memory_order_relaxed));
  if (info.type == NA_CB_LOOKUP) info.info.lookup.addr = info.ret == NA_SUCCESS ? op->found : NA_ADDR_NULL;
  if (info.type == NA_CB_RECV_UNEXPECTED && op->result.is_done()) {
    info.info.recv_unexpected.actual_buf_size = op->result.size;
    info.info.recv_unexpected.source = op->found;
    if (op->is_cut) info.ret = NA_SIZE_ERROR;
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
  return na::guarded(function, [&] {
    const na_return_t code = progress(*na_class, *context, timeout);
    seen.update(*context);
    return code;
  });
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
    const na::trigger_scope uses(*context);
    const na::callback_scope inside(context);
    const auto any = [&] { return context->any(); };
    clock::time_point end{};  // not read while there is something to do
    while (ran < max_count) {
      operation* const op = context->pop();
      if (op != nullptr) {
        ++ran;
        run_callback(c, op);
        context->end_round();  // not after the loop, as the next callback may take long
        continue;
      }
      if (ran > 0 || timeout == 0) break;
      if (end == clock::time_point{}) end = clock::now() + std::chrono::milliseconds(timeout);
      if (!wait(c, *context, any, end)) break;
    }
    if (actual_count != nullptr) *actual_count = ran;
    seen.update(*context);
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
    } else if (op->type.load(std::memory_order_relaxed) == NA_CB_RECV_UNEXPECTED) {
      if (na_class->unexpected.remove(op, op_id)) na_class->finish(op, lci::errorcode_t::cancelled);
    } else {
      lci::operation_t name;
      name.impl = op->core_name.load(std::memory_order_acquire);
      name.serial = op->core_serial.load(std::memory_order_acquire);
      // If the operation has ended meanwhile, the name may be that of its successor.
      if (name.impl != nullptr && na_class->operations.find(op_id, &number) == op) lci::cancel(name);
    }
    return NA_SUCCESS;
  });
}
