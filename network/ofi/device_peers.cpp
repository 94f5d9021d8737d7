// Peer failure, and closing a device. An endpoint that is closed may lose messages that it has not sent yet, and those
// that a peer has not read yet. So a device sends a close notification to each peer it has exchanged messages with, and
// waits until the peer acknowledges it or sends its own.
#include <chrono>
#include <new>

#include "lib/base/log.hpp"
#include "network/ofi/calls.hpp"
#include "network/ofi/device.hpp"

namespace lci::network::ofi {

namespace {

/// When a peer has died, receives that it truncated fail, and the liveness connection reports it, in either order.
constexpr std::chrono::milliseconds death_shows_within{1000};

}  // namespace

void device::on_gone(int, bool) {
  // That explains messages that were truncated.
  const std::lock_guard guard(lost_lock_);
  last_departure_ = std::chrono::steady_clock::now();
}

void device::lose_message(int error) {
  {
    const std::lock_guard guard(lost_lock_);
    if (lost_error_.load(std::memory_order_relaxed) == 0) {
      lost_at_ = std::chrono::steady_clock::now();
      lost_error_.store(error, std::memory_order_relaxed);
    }
  }
  log_warning("ofi: a message can't be received: " + error_text(error) + " (" + std::to_string(error) + ")");
}

void device::check_own() {
  if (LCI_UNLIKELY(lost_error_.load(std::memory_order_relaxed) != 0)) check_lost_messages();
}

void device::check_lost_messages() {
  int error;
  {
    const std::lock_guard guard(lost_lock_);
    error = lost_error_.load(std::memory_order_relaxed);
    const bool explained =
        last_departure_ != std::chrono::steady_clock::time_point() && last_departure_ + death_shows_within >= lost_at_;
    if (error == 0 || (!explained && std::chrono::steady_clock::now() < lost_at_ + death_shows_within)) return;
    lost_error_.store(0, std::memory_order_relaxed);
    if (explained) return;
  }
  // The receiver of this message would wait for ever.
  const std::string reason = text_if_memory([error] {
    return "a message was lost because receiving it failed: " + error_text(error) + " (" + std::to_string(error) +
           "); libfabric does not say whose, so all peers count as failed; FI_LOG_LEVEL=warn makes libfabric say more";
  });
  for (int rank = 0; rank < context_.size(); ++rank)
    if (peers_[static_cast<size_t>(rank)].met.load(std::memory_order_relaxed)) fail_peer(rank, reason);
}

void device::suspect_unreachable(int rank, int error) {
  context_.peers().meet(rank);  // start to monitor it now, if not done before
  peer& p = peers_[static_cast<size_t>(rank)];
  if (is_gone(rank)) return;
  p.suspected.store(true, std::memory_order_relaxed);
  suspect(p.why_suspected, rank, text_if_memory([error] {
            return "sending: " + error_text(error) + " (" + std::to_string(error) + ")" + limit_to_raise(error);
          }));
}

void device::fail_later(request& r) {
  deferred_.add_silently(failed_, &r);
  // If the end of its peer was reported a moment ago, no later event would report this. Else the one of its peer does:
  // it is added after the peer is marked as gone.
  if (is_gone(r.peer)) deferred_.stir();
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
  if (tag.what == message_tag::kind::close_ack) return p.close_acknowledged.store(true, std::memory_order_release);
  acknowledge_close(tag.rank);
}

void device::acknowledge_close(int rank) {
  try {
    if (send_control(rank, message_tag::kind::close_ack)) return end_peer(rank);
  } catch (const std::bad_alloc&) {
  } catch (const resource_error&) {
  }
  deferred_.add(unacknowledged_, rank);
}

bool device::has_sent_all() {
  flush_bundles();
  return !bundles_.any() && under_way_.load(std::memory_order_acquire) == 0;
}

bool device::has_unsent(int rank) {
  peer& p = peers_[static_cast<size_t>(rank)];
  if (is_out_of_reach(rank)) return false;
  std::lock_guard guard(p.out.lock);
  return p.out.ready != nullptr || p.out.filling != nullptr || p.under_way.load(std::memory_order_relaxed) > 0;
}

bool device::close_to(int rank) {
  peer& p = peers_[static_cast<size_t>(rank)];
  // A peer that has ended has read all messages or does not want to.
  if (!p.met.load(std::memory_order_relaxed) || is_out_of_reach(rank)) return true;
  if (!p.close_sent) p.close_sent = send_control(rank, message_tag::kind::close);
  return p.close_sent && p.close_acknowledged.load(std::memory_order_acquire);
}

bool device::prepare_to_sleep(sleep_set& events) {
  flush_bundles();
  events.limit(wait_fd_ >= 0 ? 20000 : 50);  // polls make connections, and no event announces them
  // Either the provider has refused a bundle, maybe for hours, so this thread tries it again now and then; or another
  // thread has just made the bundle, and wakes this one: see join().
  if (bundles_.any_before_sleep()) events.limit(200);
  if (wait_fd_ < 0) return true;
  events.add(wait_fd_);
  fid* queue = &queue_->fid;
  return fi_trywait(&context_.fabric(), &queue, 1) == 0;  // else there may be completions
}

}  // namespace lci::network::ofi
