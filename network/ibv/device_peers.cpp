// Peer failure, and closing a device. What was acknowledged on a queue pair is in the peer's memory, and stays there
// when the queue pair is destroyed; so a closing device waits for the acknowledgements. Its last message to each peer
// is a close notification, after which the peer expects no answers.
#include <cerrno>

#include "lib/base/log.hpp"
#include "lib/concurrent/attempt.hpp"
#include "network/ibv/device.hpp"
#include "network/ibv/queue_pair.hpp"

namespace lci::network::ibv {

namespace {

// Immediate data of a control message.
constexpr uint32_t close_notification = 1;

}  // namespace

std::string device::label() const { return std::string("ibv on ") + context_.card().name(); }

void device::on_gone(int rank, bool failed) {
  if (failed) give_up_pair(*peer_at(rank).pair);
}

void device::fail_all(const char* reason) {
  for (int r = 0; r < context_.size(); ++r) fail_peer(r, text_if_memory([&] { return std::string(reason); }));
}

void device::handle_control(int rank, uint32_t what) {
  if (rank >= 0 && what == close_notification) end_peer(rank);
}

bool device::close_to(int rank) {
  peer& p = peer_at(rank);
  if (is_gone(rank)) return true;
  const attempt lock(*p.lock);
  if (lock.failed()) return false;
  if (!p.close_sent) {
    ibv_send_wr work{};
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.imm_data = close_notification;
    p.close_sent = hand_over(p, work, nullptr, false, true) == errorcode_t::posted;
  }
  return p.close_sent && p.queue.is_empty();
}

void device::read_card_events() {
  const library& l = library::get();
  ibv_async_event event;
  while (l.get_async_event(card_.get(), &event) == 0) {
    const char* const what = l.event_type_str(event.event_type);
    switch (event.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
        if (const int rank = numbers_.peer_of(event.element.qp->qp_num); rank >= 0)
          fail_peer(rank, text_if_memory([&] { return std::string(what); }));
        break;
      case IBV_EVENT_CQ_ERR:
      case IBV_EVENT_SRQ_ERR:
      case IBV_EVENT_DEVICE_FATAL:
        fail_all(what);
        break;
      case IBV_EVENT_PORT_ERR:
        // The port may recover before the queue pairs give up.
        log_warning(text_if_memory([&] { return std::string("ibv: ") + context_.card().name() + ": " + what; }));
        break;
      default:
        break;
    }
    l.ack_async_event(&event);
  }
}

bool device::prepare_to_sleep(sleep_set& events) {
  if (deferred_.any()) return false;
  // First request an event, then read the queue: so no completion is missed in between.
  if (ibv_req_notify_cq(completions_.get(), 0) != 0) return false;
  read_ahead();
  events.limit(100'000);  // a failed peer causes no event
  events.add(channel_->fd);
  events.add(card_->async_fd);
  return true;
}

void device::on_wake(const sleep_set& events) {
  if (events.is_ready(channel_->fd)) {
    ibv_cq* queue;
    void* ignored;
    while (library::get().get_cq_event(channel_.get(), &queue, &ignored) == 0) library::get().ack_cq_events(queue, 1);
  }
  if (events.is_ready(card_->async_fd)) read_card_events();
}

}  // namespace lci::network::ibv
