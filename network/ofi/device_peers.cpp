// Peer failure, and closing a device. An endpoint that is closed may lose messages that it has not sent yet, and those
// that a peer has not read yet. So a device sends a close notification to each peer it has exchanged messages with, and
// waits until the peer acknowledges it or sends its own.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "lib/base/log.hpp"
#include "network/ofi/calls.hpp"
#include "network/ofi/device.hpp"

namespace lci::network::ofi {

namespace {

/// When a peer has died, receives that it truncated fail, and the liveness connection reports it, in either order.
constexpr std::chrono::milliseconds death_shows_within{1000};
/// The longest doubt about a peer: by then its liveness connection has reported that its process has died, that its
/// host does not answer, or that it has freed its device.
constexpr std::chrono::seconds longest_doubt{2};

}  // namespace

void device::fail_peer(int rank, const std::string& reason) {
  if (!peers_[static_cast<size_t>(rank)].what.fail()) return;
  explain_losses();
  deferred_.add_failure(rank, provider_.name() + ": " + reason);
}

void device::explain_losses() {
  const std::lock_guard guard(lost_lock_);
  last_departure_ = std::chrono::steady_clock::now();
}

void device::lose_message(int error) {
  log_warning("ofi: a message can't be received: " + error_text(error) + " (" + std::to_string(error) + ")");
  const std::lock_guard guard(lost_lock_);
  if (lost_error_.load(std::memory_order_relaxed) != 0) return;
  lost_at_ = std::chrono::steady_clock::now();
  lost_error_.store(error, std::memory_order_relaxed);
}

void device::look_after_lost_messages() {
  int error;
  {
    const std::lock_guard guard(lost_lock_);
    error = lost_error_.load(std::memory_order_relaxed);
    const bool explained = last_departure_ != std::chrono::steady_clock::time_point() &&
                           last_departure_ + death_shows_within >= lost_at_;
    if (error == 0 || (!explained && std::chrono::steady_clock::now() < lost_at_ + death_shows_within)) return;
    lost_error_.store(0, std::memory_order_relaxed);
    if (explained) return;
  }
  // The receiver of this message would wait for ever.
  const std::string reason = "a message was lost because receiving it failed: " + error_text(error) + " (" +
                             std::to_string(error) + "); libfabric does not say whose, so all peers count as "
                             "failed; FI_LOG_LEVEL=warn makes libfabric say more";
  for (int rank = 0; rank < context_.size(); ++rank)
    if (peers_[static_cast<size_t>(rank)].met.load(std::memory_order_relaxed)) fail_peer(rank, reason);
}

void device::check_peers() {
  liveness& peers = context_.peers();
  peers.look();
  peers.tell(departures_seen_, [&](const liveness::departure& d) {
    if (d.device != liveness::all_devices && d.device != number_) return;
    d.died ? fail_peer(d.rank, d.reason) : let_go(d.rank);
  });
  if (LCI_UNLIKELY(lost_error_.load(std::memory_order_relaxed) != 0)) look_after_lost_messages();
  settle_doubts();
}

void device::suspect(int rank, const std::string& reason, void* failed) {
  context_.peers().meet(rank);  // start to monitor it now, if not done before
  std::lock_guard guard(doubts_mutex_);
  if (is_gone(rank)) {
    if (failed != nullptr) deferred_.add(failed_, failed_operation{failed, rank});
    return;
  }
  auto known = std::find_if(doubts_.begin(), doubts_.end(), [rank](const doubt& d) { return d.peer == rank; });
  if (known == doubts_.end()) {
    peers_[static_cast<size_t>(rank)].in_doubt.store(true, std::memory_order_relaxed);
    known = doubts_.insert(known, {rank, reason, std::chrono::steady_clock::now(), {}});
  }
  if (failed != nullptr) known->failed.push_back(failed);
}

void device::settle_doubts() {
  std::lock_guard guard(doubts_mutex_);
  if (LCI_LIKELY(doubts_.empty())) return;
  const auto now = std::chrono::steady_clock::now();
  const auto settled = [&](const doubt& d) {
    const bool decided = is_gone(d.peer) || context_.peers().view_of(d.peer) == liveness::view::none ||
                         now - d.since > longest_doubt;
    if (!decided) return false;
    fail_peer(d.peer, d.reason);  // no effect if its end was detected
    for (void* context : d.failed) deferred_.add(failed_, failed_operation{context, d.peer});
    return true;
  };
  doubts_.erase(std::remove_if(doubts_.begin(), doubts_.end(), settled), doubts_.end());
}

void device::let_go(int rank) {
  if (!peers_[static_cast<size_t>(rank)].what.let_go()) return;
  explain_losses();
  deferred_.add_end(rank);
}

bool device::send_control(int rank, message_tag::kind what) {
  net_op op;
  op.peer = rank;
  const errorcode_t sent = in_turn(rank, [&] { return send(op, what); });
  return sent == errorcode_t::posted || is_gone(rank);
}

void device::handle_control(const message_tag& tag) {
  peer& p = peers_[static_cast<size_t>(tag.rank)];
  if (tag.what == message_tag::kind::hello) return;
  if (tag.what == message_tag::kind::noted) return p.noted.store(true, std::memory_order_release);
  answer_goodbye(tag.rank);
}

void device::answer_goodbye(int rank) {
  if (send_control(rank, message_tag::kind::noted)) return let_go(rank);
  deferred_.add(unanswered_, rank);
}

bool device::flushed() {
  if (farewell_time_.is_over()) return true;
  flush_bundles();
  bool all = n_bundles_.load(std::memory_order_relaxed) == 0;
  for (int r = 0; r < context_.size(); ++r) {
    peer& p = peers_[static_cast<size_t>(r)];
    if (r == context_.rank() || !p.met.load(std::memory_order_relaxed)) continue;
    if (is_out_of_reach(r)) continue;  // a peer that has left has read all messages or does not want to
    if (!p.dismissed) p.dismissed = send_control(r, message_tag::kind::goodbye);
    all = all && p.dismissed && p.noted.load(std::memory_order_acquire);
  }
  return all && under_way_.load(std::memory_order_acquire) == 0;
}

void device::unpark() {
  const uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof one);
}

void device::sleep(int64_t timeout_us) {
  if (timeout_us <= 0) return;
  check_peers();
  flush_bundles();
  if (deferred_.any()) return;
  sleepers_.fetch_add(1, std::memory_order_seq_cst);  // see join()
  if (n_bundles_.load(std::memory_order_seq_cst) == 0) sleep_until_woken(timeout_us);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void device::sleep_until_woken(int64_t timeout_us) {
  // Polls make connections, and no event announces them.
  constexpr int64_t longest_us = 20000;
  timeout_us = std::min(timeout_us, longest_us);
  fid* queue = &queue_->fid;
  pollfd fds[2] = {{wake_fd_, POLLIN, 0}, {wait_fd_, POLLIN, 0}};
  const bool wakes = wait_fd_ >= 0;
  if (wakes && fi_trywait(&context_.fabric(), &queue, 1) != 0) return;  // there may be completions
  if (!wakes) timeout_us = std::min<int64_t>(timeout_us, 50);
  const timespec time{timeout_us / 1000000, timeout_us % 1000000 * 1000};
  if (ppoll(fds, wakes ? 2 : 1, &time, nullptr) > 0 && (fds[0].revents & POLLIN) != 0) {
    uint64_t count;
    (void)!read(wake_fd_, &count, sizeof count);
  }
}

}  // namespace lci::network::ofi
