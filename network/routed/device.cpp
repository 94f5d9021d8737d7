#include "network/routed/device.hpp"

#include <algorithm>

namespace lci::network::routed {

namespace {

// Polling the far network takes as long as several polls of shared memory, and its messages have a much longer latency,
// so most polls skip it.
constexpr uint32_t polls_between_far_ones = 4;

/// Events of the far network. Its devices of near peers end, too; only those of peers that use the far network are
/// reported.
class far_sink final : public event_sink {
 public:
  far_sink(event_sink& behind, context& c) : behind_(behind), context_(c) {}
  void on_recv(int peer, const std::byte* data, size_t size, void* recv_context) override {
    behind_.on_recv(peer, data, size, recv_context);
  }
  void on_complete(void* context) override { behind_.on_complete(context); }
  void on_remote_write(int peer, uint32_t imm) override { behind_.on_remote_write(peer, imm); }
  void on_peer_failure(int peer, const char* reason) override { behind_.on_peer_failure(peer, reason); }
  void on_peer_departure(int peer, departure how) override { behind_.on_peer_departure(peer, how); }
  void on_device_end(int peer) override {
    if (!context_.is_near(peer)) behind_.on_device_end(peer);
  }
  void on_operation_failure(void* context, int peer) override { behind_.on_operation_failure(context, peer); }

 private:
  event_sink& behind_;
  context& context_;
};

}  // namespace

device::device(context& c, std::unique_ptr<network::device> near, std::unique_ptr<network::device> far)
    : context_(c), near_(std::move(near)), far_(std::move(far)) {
  set_limits();
}

void device::set_limits() {
  // Ranks may have different limits, as their kernels permit different things: the requesting side uses what it can,
  // and the core serves all requests.
  const network::limits &a = near_->get_limits(), &b = far_->get_limits();
  limits_.max_inject = std::min(a.max_inject, b.max_inject);
  limits_.max_send = std::min(a.max_send, b.max_send);
  limits_.max_rma = std::min(a.max_rma, b.max_rma);
  limits_.rma = a.rma && b.rma;
  limits_.put_imm = a.put_imm && b.put_imm;
  limits_.put_then_send_ordered = a.put_then_send_ordered && b.put_then_send_ordered;
  limits_.ordered = a.ordered && b.ordered;
  limits_.max_ordered_put = limits_.rma ? std::min(a.max_ordered_put, b.max_ordered_put) : 0;
  limits_.sends_land_at_once = a.sends_land_at_once && b.sends_land_at_once;
  limits_.local_registration = b.local_registration;
  limits_.pins_memory = b.pins_memory;
  limits_.receive_buffers = b.receive_buffers;
}

int device::poll(event_sink& sink, int max_events) {
  const int near = near_->poll(sink, max_events);
  // An approximate counter: increments lost between threads do no harm.
  const uint32_t polls = polls_.load(std::memory_order_relaxed) + 1;
  polls_.store(polls, std::memory_order_relaxed);
  if (polls % polls_between_far_ones != 0) {
    sleep_.note(near, 0);
    return near;
  }
  far_sink of_far(sink, context_);
  const int far = far_->poll(of_far, max_events);
  sleep_.note(near, far);
  return near < 0 || far < 0 ? std::max(near, far) : near + far;
}

bool device::flushed() {
  const bool near = near_->flushed();
  return far_->flushed() && near;
}

}  // namespace lci::network::routed
