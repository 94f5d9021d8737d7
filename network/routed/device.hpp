// Combines a device of each of two networks.
#pragma once

#include <atomic>
#include <memory>

#include "network/fabric.hpp"
#include "network/routed/context.hpp"
#include "network/routed/joint_sleep.hpp"

namespace lci::network::routed {

/// A device of the near network and one of the far network; owns both. As thread-safe as they are. Supports what both
/// support: the limits are the smaller ones, the same for all peers. Memory is registered with the far network; the
/// near one needs no registration.
class device final : public network::device {
 public:
  device(context& c, std::unique_ptr<network::device> near, std::unique_ptr<network::device> far);

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
  int poll(event_sink& sink, int max_events) override;
  errorcode_t post_recv(segment buffer, void* context) override { return far_->post_recv(buffer, context); }
  registration register_memory(void* base, size_t size) override { return far_->register_memory(base, size); }
  void deregister_memory(const registration& reg) override { far_->deregister_memory(reg); }
  void make_read_only(const registration& reg) override { far_->make_read_only(reg); }
  void wait(int64_t timeout_us) override { sleep_.wait(timeout_us); }
  void park(int64_t timeout_us) override { sleep_.park(timeout_us); }
  void unpark() override { sleep_.unpark(); }
  network::attention attention_of(int peer) override { return way_to(peer).attention_of(peer); }
  bool has_met(int peer) override { return near_->has_met(peer) || far_->has_met(peer); }
  bool flushed() override;
  void add_counts(counters_t& sum) override { near_->add_counts(sum), far_->add_counts(sum); }
  void start() override { near_->start(), far_->start(); }

 private:
  network::device& way_to(int peer) const { return context_.is_near(peer) ? *near_ : *far_; }
  void set_limits();

  context& context_;
  std::unique_ptr<network::device> near_, far_;
  joint_sleep sleep_{*near_, *far_};
  std::atomic<uint32_t> polls_{0};
};

}  // namespace lci::network::routed
