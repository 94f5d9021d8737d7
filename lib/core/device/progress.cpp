// The progress engine: what a device does when its owner polls it (paper 4.4).
#include <new>

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/checking/inspection.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/receive.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

constinit thread_local bool tls_in_progress = false;
constinit thread_local device* tls_posting = nullptr;
constinit thread_local uint32_t tls_sends_in_a_row = 0;

namespace {

constexpr int poll_batch = 64;

/// Ends the operations whose deadlines have passed. Returns true if there were any.
LCI_COLD bool end_overdue(device& d) {
  bool any = false;
  const int64_t now = timers::now();
  for (timers::entry due; d.deadlines.take_due(now, due); any = true)
    due.who->cancel(due.serial, errorcode_t::timed_out);
  return any;
}

}  // namespace

inline bool device::make_progress_inline(bool by_program) {
  const inside_progress mark;
  tls_sends_in_a_row = 0;
  // All rare, so one branch decides for all; most calls only poll.
  const unsigned waiting = static_cast<unsigned>(!backlog.empty()) |
                           static_cast<unsigned>(rt.deferred.count.load(std::memory_order_acquire) != 0) |
                           static_cast<unsigned>(attention.load(std::memory_order_relaxed) != 0);
  bool happened = false;
  if (LCI_UNLIKELY(waiting != 0)) happened = do_deferred_work(by_program);
  try {
    happened |= net->poll(*this, poll_batch) > 0;
  } catch (const uncounted_loss& loss) {
    count_undelivered(*this, loss.peer, loss.size);
    throw;
  }
  return happened;
}

bool device::make_progress() { return make_progress_inline(false); }

bool device::progress_watched() {
  const call_inspection call("progress");
  if (!call.thorough()) return make_progress_inline(true);
  struct use {
    const device* of;
    explicit use(const device* d) : of(d) {
      if (!objects::enter(d))
        throw_invalid("progress", "device", "one that was freed, or is being freed by another thread",
                      "one that is alive", "let threads end before what they use is freed");
    }
    ~use() { objects::leave(of); }
  } const here(this);
  const bool happened = make_progress_inline(true);
  failures.report();
  return happened;
}

LCI_ALWAYS_INLINE inline bool device::progress_unwatched() {
  const bool happened = make_progress_inline(true);
  failures.report();
  return happened;
}

bool device::progress() { return calls_are_watched() ? progress_watched() : progress_unwatched(); }

bool device::do_deferred_work(bool by_program) {
  bool happened = false;
  if (by_program) polls.answer();
  if (!backlog.empty()) {
    happened |= backlog.drain([this](backlog::item& item) {
      const tracer::scope of_no_post;
      return submit(*this, item);
    });
    happened |= send_kept(*this);
  }
  if (LCI_UNLIKELY(deadlines.left() <= 0)) happened |= end_overdue(*this);
  if (LCI_UNLIKELY(flow.has_waiting())) happened |= flow.send_waiting();
  if (receive_window.has_requests()) happened |= start_waiting_requests(*this);
  if (rt.deferred.count.load(std::memory_order_acquire) != 0) happened |= rt.deferred.run_each();
  if (limits.receive_buffers != 0) supply.refill(*net);
  return happened;
}

error_t progress(progress_args& a) { return detail::progress_of(a.device.p_impl); }

}  // namespace lci::core

namespace {

/// progress() in a handler, which does nothing, or while calls are checked (LCI_ATTR_CHECK=1, a forked child).
LCI_COLD lci::error_t progress_unusually(lci::core::device* d) {
  // A handler that calls progress() would recurse into whatever called the handler.
  if (lci::core::tls_in_progress) return lci::errorcode_t::retry;
  try {
    return d->progress() ? lci::errorcode_t::done : lci::errorcode_t::retry;
  } catch (const std::bad_alloc&) {
    lci::throw_no_memory("progress");
  }
}

}  // namespace

lci::error_t lci::detail::progress_of(core::device* d) {
  const uint8_t watched = call_watch.load(std::memory_order_relaxed);
  if (LCI_UNLIKELY((watched | static_cast<uint8_t>(core::tls_in_progress)) != 0)) return progress_unusually(d);
  try {
    return d->progress_unwatched() ? errorcode_t::done : errorcode_t::retry;
  } catch (const std::bad_alloc&) {
    throw_no_memory("progress");
  }
}
