// A decorator of a fabric's device that reports sent and received messages to the observer.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lib/core/observe/device_observer.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Transparent to the core and the fabric. Owns the fabric's device, not the observer. As thread-safe as that device.
class observed_network final : public network::device {
 public:
  observed_network(std::unique_ptr<network::device> behind, device_observer& observer)
      : behind_(std::move(behind)), observer_(observer) {
    limits_ = behind_->get_limits();
  }

  errorcode_t post(const network::net_op& op) override;
  errorcode_t inject(int peer, network::message_head head, const void* payload, size_t size) override;
  int poll(network::event_sink& sink, int max_events) override;

  size_t max_inject_to(int peer) const override { return behind_->max_inject_to(peer); }
  bool rma_waits_for(int peer) const override { return behind_->rma_waits_for(peer); }
  bool ordered_puts_follow_messages(int peer) const override { return behind_->ordered_puts_follow_messages(peer); }
  errorcode_t post_pieces(network::verb kind, int peer, const network::piece* pieces, size_t n) override {
    return behind_->post_pieces(kind, peer, pieces, n);
  }
  errorcode_t post_recv(network::segment buffer, void* context) override;
  network::registration register_memory(void* base, size_t size) override {
    return behind_->register_memory(base, size);
  }
  void deregister_memory(const network::registration& reg) override { behind_->deregister_memory(reg); }
  void make_read_only(const network::registration& reg) override { behind_->make_read_only(reg); }
  void wait(int64_t timeout_us) override { behind_->wait(timeout_us); }
  void park(int64_t timeout_us) override { behind_->park(timeout_us); }
  void unpark() override { behind_->unpark(); }
  network::attention attention_of(int peer) override { return behind_->attention_of(peer); }
  bool has_met(int peer) override { return behind_->has_met(peer); }
  bool flushed() override { return behind_->flushed(); }
  void add_counts(counters_t& sum) override { behind_->add_counts(sum); }
  void settle(network::acquaintance how) override { behind_->settle(how); }
  void start() override { behind_->start(); }

 private:
  const std::unique_ptr<network::device> behind_;
  device_observer& observer_;
};

/// Gives a message that waits in the backlog its number now, so that the trace connects it with its post.
/// `message`: header, body and payload.
void number_waiting(const device_observer& observer, std::vector<std::byte>& message);

}  // namespace lci::core
