// Flushes: waiting for all operations posted to one peer, or to all peers.
#include <memory>

#include "lib/core/device/signals.hpp"
#include "lib/core/operation/flush_tracker.hpp"
#include "lib/core/post/begin_post.hpp"
#include "lib/core/post/post_common.hpp"

namespace lci::core {

namespace {

/// A flush that was not complete when it was posted. The list of deferred work owns it, and calls run() until the flush
/// is complete or cancelled, or the device closes; run() then signals the completion object and deletes the flush. Any
/// thread that makes progress may call run(), one at a time.
struct waiting_flush : deferred_task {
  waiting_flush(device& d, comp_impl_t* c, const status_t& s, uint64_t g)
      : deferred_task(run), of(d), comp(c), status(s), generation(g) {}
  device& of;
  comp_impl_t* comp;
  ticket* named = nullptr;  // `comp`, if the flush has a name or a deadline
  status_t status;
  uint64_t generation;

  static bool run(deferred_task* self) {
    std::unique_ptr<waiting_flush> flush(static_cast<waiting_flush*>(self));
    device& d = flush->of;
    const bool is_stopped = flush->named != nullptr && flush->named->stop();
    if (LCI_UNLIKELY(is_stopped || d.lifetime.closing())) {
      flush->status.error = errorcode_t::cancelled;  // after a deadline the ticket makes this `timed_out`
    } else if (!d.flushes.flushed(flush->status.rank, flush->generation)) {
      d.rt.deferred.push(flush.release());
      return false;
    }
    const int peer = flush->status.rank;
    if (peer >= 0 && !is_stopped && d.failures.may_be_any() && d.failures.has_failed(peer))
      flush->status.error = errorcode_t::fatal;
    // In a destructor, since the signalled handler may throw; after signal(), since a device is drained only when all
    // completion objects have been signalled.
    struct ending {
      device& of;
      ~ending() {
        of.pending.fetch_sub(1, std::memory_order_release);
        of.lifetime.end_task();
      }
    } const at_end{d};
    if (flush->comp != nullptr) flush->comp->signal(flush->status);
    return true;
  }
};

/// Signals the completion object of `a` when all operations to its rank (ALL_RANKS: to all ranks) that began before
/// `generation` was read have ended.
void signal_when_flushed(device& d, const post_flush_args& a, const status_t& status, uint64_t generation) {
  auto flush = std::make_unique<waiting_flush>(d, a.local_comp.p_impl, status, generation);
  if (LCI_UNLIKELY(a.operation != nullptr)) {
    flush->comp = flush->named = d.rt.tickets.get(d, flush->comp, status, a.deadline);
    *a.operation = flush->named->name();
    flush->named->release(d);
  }
  d.pending.fetch_add(1, std::memory_order_relaxed);
  d.lifetime.begin_task();
  d.rt.deferred.push(flush.release());
}

status_t flush(post_flush_args& a) {
  device& d = *a.device.p_impl;
  if (a.rank != ALL_RANKS && static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers))
    throw_invalid("post_flush", "rank", std::to_string(a.rank), "ALL_RANKS or 0.." + std::to_string(d.n_peers - 1));
  if (a.rank != ALL_RANKS) d.failures.check(a.rank);
  const uint64_t generation = d.flushes.generation();
  const status_t done = make_status(errorcode_t::done, a.rank, nullptr, 0, 0, a.user_context);
  if (d.flushes.flushed(a.rank, generation)) {
    if (!signals_when_done(a)) return done;
    signal_from_post(d, a.local_comp.p_impl, done);
    return errorcode_t::posted;
  }
  blocking_guard wait("post_flush", d, a);
  signal_when_flushed(d, a, done, generation);
  return wait.result(errorcode_t::posted);
}

}  // namespace

status_t post_flush(post_flush_args& a) {
  if (LCI_LIKELY(!is_named(a))) return flush(a);
  return with_name(a, [&a] { return flush(a); });
}

}  // namespace lci::core
