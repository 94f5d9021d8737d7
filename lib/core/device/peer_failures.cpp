#include "lib/core/device/peer_failures.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

peer_failures::peer_failures(runtime& rt) : rt_(rt), n_ranks_(rt.size()), look_(rt.external_peers != nullptr) {
  failures_.reserve(static_cast<size_t>(std::clamp(n_ranks_, 16, 64)));
  exceptions_.reserve(most_exceptions);
}

std::string peer_failures::text_of(const peer_failure& failure) const {
  std::string text = "rank " + std::to_string(failure.peer);
  if (failure.peer >= n_ranks_) text += ", a peer outside of the job,";
  return text + " has failed" + (failure.reason.empty() ? "" : ": ") + failure.reason;
}

// The network reports a failure once, and operations wait for it. Within the reserved space it needs no memory.
void peer_failures::record(int peer, const char* reason, bool report) {
  peer_failure failure{peer, {}, report};
  try {
    failure.reason = reason;
  } catch (const std::bad_alloc&) {
    // The report then names the rank only.
  }
  insist_on_memory([&] { failures_.push_back(std::move(failure)); });
}

bool peer_failures::add(int peer, const char* reason, bool report) {
  {
    std::lock_guard guard(mutex_);
    for (const peer_failure& known : failures_)
      if (known.peer == peer) return false;
    record(peer, reason, report);
  }
  any_rank_.store(true, std::memory_order_seq_cst);
  look_.store(true, std::memory_order_seq_cst);  // see open_gate()
  if (report) unreported_.store(true, std::memory_order_release);
  return true;
}

void peer_failures::add_external(int peer) {
  std::lock_guard guard(mutex_);
  record(peer,
         "its process has ended without a close notification, or its host does not answer; disconnect() frees the id",
         true);
  unreported_.store(true, std::memory_order_release);
}

void peer_failures::forget(int peer) {
  std::lock_guard guard(mutex_);
  refusals_.erase(peer);
  device_ends_.erase(peer);
}

void peer_failures::report_failure_of(int peer) {
  std::lock_guard guard(mutex_);
  for (peer_failure& failure : failures_) {
    if (failure.peer != peer || failure.reported) continue;
    failure.to_report = true;
    unreported_.store(true, std::memory_order_release);
  }
}

void peer_failures::add_refusal(int peer, const char* what) {
  log_warning(what);
  try {
    std::lock_guard guard(mutex_);
    refusals_[peer] = what;
  } catch (const std::bad_alloc&) {
    // The operation fails all the same; throw_fatal() then says less.
  }
}

void peer_failures::add_device_end(int peer, uint8_t how) {
  {
    std::lock_guard guard(mutex_);
    uint8_t& known = insist_on_memory([&]() -> uint8_t& { return device_ends_[peer]; });
    known = std::max(known, how);
  }
  look_.store(true, std::memory_order_seq_cst);  // see open_gate()
}

void peer_failures::add_exception(std::exception_ptr thrown) noexcept {
  const auto is_full = [this] { return exceptions_.size() >= most_exceptions; };
  {
    std::lock_guard guard(mutex_);
    if (is_full()) return;
  }
  log_exception("an exception is kept for the next progress()", thrown);
  std::lock_guard guard(mutex_);
  if (is_full()) return;          // other threads have kept some meanwhile
  exceptions_.push_back(thrown);  // the thread that takes it out destroys it
  unreported_.store(true, std::memory_order_relaxed);
}

bool peer_failures::has_failed(int peer) const {
  if (peer >= n_ranks_) return !rt_.external_peers->connected(peer);
  if (!any_rank_.load(std::memory_order_seq_cst)) return false;
  std::lock_guard guard(mutex_);
  return std::any_of(failures_.begin(), failures_.end(),
                     [&](const peer_failure& failure) { return failure.peer == peer; });
}

bool peer_failures::is_closing(int peer) const {
  std::lock_guard guard(mutex_);
  return device_ends_.count(peer) != 0;
}

failure peer_failures::with(int peer) const {
  if (has_failed(peer)) return failure::fatal;
  std::lock_guard guard(mutex_);
  const auto at = device_ends_.find(peer);
  return at != device_ends_.end() && at->second == wire::has_ended ? failure::cancelled : failure::none;
}

void peer_failures::throw_if_failed(int peer) const {
  if (peer >= n_ranks_) return rt_.external_peers->check(peer);
  if (!any_rank_.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(mutex_);
  for (const peer_failure& failure : failures_)
    if (failure.peer == peer) throw peer_failure_error(peer, text_of(failure));
}

void peer_failures::throw_of_a_rank() const {
  std::lock_guard guard(mutex_);
  for (const peer_failure& failure : failures_)
    if (failure.peer < n_ranks_) throw peer_failure_error(failure.peer, text_of(failure));
}

void peer_failures::throw_fatal(int peer) const {
  throw_if_failed(peer);
  std::lock_guard guard(mutex_);
  const auto refusal = refusals_.find(peer);
  if (refusal != refusals_.end()) throw resource_error(refusal->second);
  throw_refused(peer);
}

void peer_failures::throw_why(const status_t& status) const {
  if (status.error.errorcode == errorcode_t::fatal) throw_fatal(status.rank);
  if (status.error.errorcode == errorcode_t::no_memory)
    throw resource_error("the message was not delivered to rank " + std::to_string(status.rank) +
                         ": there was no memory for it, there or here; post it again when there is");
}

void peer_failures::throw_next() {
  std::unique_lock guard(mutex_);
  const auto next = [this] {
    return std::find_if(failures_.begin(), failures_.end(), [](const peer_failure& f) { return f.to_report; });
  };
  const auto update = [&] {
    unreported_.store(!exceptions_.empty() || next() != failures_.end(), std::memory_order_relaxed);
  };
  if (!exceptions_.empty()) {
    const std::exception_ptr oldest = std::move(exceptions_.front());
    exceptions_.erase(exceptions_.begin());
    update();
    guard.unlock();
    std::rethrow_exception(oldest);
  }
  const auto at = next();
  if (at == failures_.end()) return;
  const peer_failure_error failure(at->peer, text_of(*at));  // without memory, a later call reports it
  at->to_report = false;
  at->reported = true;
  // Failures of peers outside of the job are dropped once reported: many such peers may come and die.
  if (at->peer >= n_ranks_) failures_.erase(at);
  update();
  guard.unlock();
  throw failure;
}

}  // namespace lci::core
