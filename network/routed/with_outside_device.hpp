// A device of the job's network, and one for peers outside of the job on other hosts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "network/common/outside.hpp"
#include "network/routed/joint_sleep.hpp"
#include "network/routed/with_outside.hpp"

namespace lci::network::routed {

/// Owns both devices. As thread-safe as they are. The limits are the smaller ones of the two; memory is registered with
/// both, under the key of the job's network.
class with_outside_device final : public network::device {
 public:
  with_outside_device(const with_outside& c, std::unique_ptr<network::device> near,
                      std::unique_ptr<outside_device> far);

  errorcode_t post(const net_op& op) override { return way_to(op.peer).post(op); }
  size_t max_inject_to(int peer) const override { return way_to(peer).max_inject_to(peer); }
  bool rma_waits_for(int peer) const override { return way_to(peer).rma_waits_for(peer); }
  bool ordered_puts_follow_messages(int peer) const override { return way_to(peer).ordered_puts_follow_messages(peer); }
  errorcode_t post_pieces(verb kind, int peer, const piece* pieces, size_t n) override {
    return way_to(peer).post_pieces(kind, peer, pieces, n);
  }
  errorcode_t inject(int peer, message_head head, const void* payload, size_t size) override {
    return way_to(peer).inject(peer, head, payload, size);
  }
  void settle(acquaintance how) override;
  int poll(event_sink& sink, int max_events) override;
  void start() override { near_->start(); }
  errorcode_t post_recv(segment buffer, void* context) override { return near_->post_recv(buffer, context); }
  registration register_memory(void* base, size_t size) override;
  void deregister_memory(const registration& reg) override;
  void make_read_only(const registration& reg) override;
  void wait(int64_t timeout_us) override;
  void park(int64_t timeout_us) override;
  void unpark() override { sleep_.unpark(); }
  network::attention attention_of(int peer) override { return way_to(peer).attention_of(peer); }
  bool has_met(int peer) override { return near_->has_met(peer); }
  bool flushed() override;
  void add_counts(counters_t& sum) override { near_->add_counts(sum), far_->add_counts(sum); }

 private:
  network::device& way_to(int peer) const {
    return context_.is_far(peer) ? static_cast<network::device&>(*far_) : *near_;
  }
  void set_limits();

  const with_outside& context_;
  const std::unique_ptr<network::device> near_;
  const std::unique_ptr<outside_device> far_;
  joint_sleep sleep_{*near_, *far_};
  std::atomic<uint32_t> polls_{0};
  std::atomic<uint64_t> clock_read_{0};     // ticks
  std::atomic<bool> polls_quickly_{false};  // the latest polls followed each other so closely that few read the clock
  std::atomic<uint64_t> far_polled_{0};     // ticks
  std::atomic<uint64_t> far_event_{0};      // when a poll has found something; ticks
};

}  // namespace lci::network::routed
