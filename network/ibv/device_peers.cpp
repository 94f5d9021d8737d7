// Peer failure, and closing a device. What was acknowledged on a queue pair is in the peer's memory, and stays there
// when the queue pair is destroyed; so a closing device waits for the acknowledgements. Its last message to each peer
// is a close notification, after which the peer expects no answers.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "lib/base/log.hpp"
#include "network/ibv/device.hpp"
#include "network/ibv/queue_pair.hpp"

namespace lci::network::ibv {

namespace {

// Immediate data of a control message.
constexpr uint32_t goodbye = 1;

}  // namespace

void device::fail_peer(int rank, const std::string& reason) {
  peer& p = peer_at(rank);
  if (!p.what.fail()) return;
  give_up_pair(*p.pair);
  deferred_.add_failure(rank, std::string("ibv on ") + context_.card().name() + ": " + reason);
}

void device::check_peers() {
  liveness& peers = context_.peers();
  peers.look();
  peers.tell(departures_seen_, [&](const liveness::departure& d) {
    if (d.device != liveness::all_devices) return;  // devices send close notifications to all peers
    d.died ? fail_peer(d.rank, d.reason) : let_go(d.rank);
  });
}

void device::let_go(int rank) {
  if (peer_at(rank).what.let_go()) deferred_.add_end(rank);
}

void device::fail_all(const std::string& reason) {
  for (int r = 0; r < context_.size(); ++r) fail_peer(r, reason);
}

void device::handle_control(int rank, uint32_t what) {
  if (rank >= 0 && what == goodbye) let_go(rank);
}

bool device::dismiss(peer& p) {
  if (!p.lock->try_lock()) return false;
  if (!p.dismissed) {
    ibv_send_wr work{};
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = goodbye;
    p.dismissed = hand_over(p, work, nullptr, false, true) == errorcode_t::posted;
  }
  const bool over = p.dismissed && p.queue.is_empty();
  p.lock->unlock();
  return over;
}

bool device::flushed() {
  if (farewell_time_.is_over()) return true;
  bool all = true;
  for (int r = 0; r < context_.size(); ++r)
    if (r != context_.rank() && !is_gone(r) && !dismiss(peer_at(r))) all = false;
  return all;
}

void device::read_card_events() {
  const library& l = library::get();
  ibv_async_event event;
  while (l.get_async_event(card_.get(), &event) == 0) {
    const std::string what = l.event_type_str(event.event_type);
    switch (event.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
        if (const int rank = numbers_.peer_of(event.element.qp->qp_num); rank >= 0) fail_peer(rank, what);
        break;
      case IBV_EVENT_CQ_ERR:
      case IBV_EVENT_SRQ_ERR:
      case IBV_EVENT_DEVICE_FATAL:
        fail_all(what);
        break;
      case IBV_EVENT_PORT_ERR:
        // The port may recover before the queue pairs give up.
        log_warning(std::string("ibv: ") + context_.card().name() + ": " + what);
        break;
      default:
        break;
    }
    l.ack_async_event(&event);
  }
}

void device::unpark() {
  const uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof one);
}

void device::sleep(int64_t timeout_us, bool parked) {
  if (timeout_us <= 0) return;
  check_peers();
  if (deferred_.any()) return;
  // First request an event, then read the queue: so no completion is missed in between.
  if (ibv_req_notify_cq(completions_.get(), 0) != 0) return;
  read_ahead();
  if (deferred_.any()) return;
  timeout_us = std::min<int64_t>(timeout_us, 100'000);  // a failed peer causes no event
  pollfd fds[3] = {{channel_->fd, POLLIN, 0}, {card_->async_fd, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  const timespec time{timeout_us / 1000000, timeout_us % 1000000 * 1000};
  if (ppoll(fds, parked ? 3 : 2, &time, nullptr) <= 0) return;
  if ((fds[0].revents & POLLIN) != 0) {
    ibv_cq* queue;
    void* ignored;
    while (library::get().get_cq_event(channel_.get(), &queue, &ignored) == 0)
      library::get().ack_cq_events(queue, 1);
  }
  if ((fds[1].revents & POLLIN) != 0) read_card_events();
  if ((fds[2].revents & POLLIN) != 0) {
    uint64_t count;
    (void)!read(wake_fd_, &count, sizeof count);
  }
}

}  // namespace lci::network::ibv
