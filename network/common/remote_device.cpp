#include "network/common/remote_device.hpp"

#include <new>
#include <string>
#include <utility>

#include "lib/base/log.hpp"

namespace lci::network {

bool remote_device::mark_failed(int rank, const std::string& reason) {
  if (!state_of(rank).fail()) return false;
  on_gone(rank, true);
  deferred_.add_failure(rank, text_if_memory([&] { return label() + ": " + reason; }));
  return true;
}

void remote_device::fail_peer(int rank, const std::string& reason) {
  if (mark_failed(rank, reason)) deferred_.add_silently(given_up_, rank);
}

void remote_device::warn_and_fail_peer(int rank, const char* reason) {
  log_warning(reason);
  fail_peer(rank, reason);
}

void remote_device::end_peer(int rank) {
  if (!state_of(rank).end()) return;
  on_gone(rank, false);
  deferred_.add_end(rank);
}

void remote_device::check_peers() {
  checked_.begin(cpu_ticks());
  liveness& peers = job_.peers();
  try {
    peers.poll();
  } catch (const std::bad_alloc&) {
    // Nothing is lost: the event comes again. An exception of progress() would say that a message may be.
  }
  peers.handle_new(departures_seen_, [&](const liveness::departure& d) {
    if (d.device != liveness::all_devices && d.device != number_) return;
    if (d.failed)
      (void)mark_failed(d.rank, d.reason);
    else
      end_peer(d.rank);
  });
  check_own();
  settle_suspicions();
  give_up_failed();
}

void remote_device::give_up_failed() {
  deferred_.report(given_up_, [&](int rank) {
    bool over = false;
    try {
      over = job_.peers().give_up(rank, number_);
    } catch (const std::bad_alloc&) {
      // The next check tries again.
    }
    if (!over) deferred_.add_silently(given_up_, rank);
  });
}

void remote_device::settle_suspicions() {
  const auto now = std::chrono::steady_clock::now();
  suspicions_.settle_all([&](const suspicion& s) {
    if (is_settled(s.rank)) return true;
    const liveness::view seen = job_.peers().view_of(s.rank);
    const auto age = now - s.since;
    // A process that exits closes its sockets one by one: another one may be closed before its liveness connection.
    if (alive_means_ended() && seen == liveness::view::alive && age > liveness::grace_period)
      end_peer(s.rank);
    else if (seen == liveness::view::none || age > longest_suspicion_)
      fail_peer(s.rank, text_of(s.reason));
    else
      return false;
    return true;
  });
}

void remote_device::report_unsent() {
  if (std::exchange(unsent_reported_, true)) return;
  for (int r = 0; r < job_.size(); ++r)
    if (r != job_.rank() && has_unsent(r))
      log_warning(label() + ": a device is freed before all messages to rank " + std::to_string(r) +
                  " could be sent: the rest is lost");
}

bool remote_device::flushed() {
  if (close_timeout_.is_over()) {
    report_unsent();
    return true;
  }
  bool all = has_sent_all();
  for (int r = 0; r < job_.size(); ++r)
    if (r != job_.rank()) all = close_to(r) && all;
  return all;
}

void remote_device::sleep(int64_t timeout_us, bool parked) {
  if (timeout_us <= 0) return;
  check_peers();
  struct counted {
    std::atomic<int>& n;
    const int added;
    counted(std::atomic<int>& sleepers, int one) : n(sleepers), added(one) {
      n.fetch_add(added, std::memory_order_seq_cst);  // see wake_if_parked()
    }
    ~counted() { n.fetch_sub(added, std::memory_order_relaxed); }
  };
  const counted asleep(sleepers_, 1), with_unpark(parked_, parked ? 1 : 0);
  sleep_set events(timeout_us);
  if (!prepare_to_sleep(events) || deferred_.any()) return;
  // Only a parked thread consumes an unpark(); others must not take it.
  if (parked) events.add(wake_.fd());
  if (!events.sleep()) return;
  if (events.is_ready(wake_.fd())) wake_.clear();
  on_wake(events);
}

}  // namespace lci::network
