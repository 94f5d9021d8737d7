// Two networks as one: shared memory within a host, another between hosts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "network/fabric.hpp"

namespace lci::network::routed {

/// Instead of a number of ranks per host: all messages go the far way, and only memory is shared.
constexpr size_t all_far = ~size_t{0};

/// Each peer is reached by one of the two networks, always the same, so that routing changes no order.
/// What needs a common machine (shared heaps, peers outside of the job) is the near one's.
/// Thread-safe as its parts.
class context final : public network::context {
 public:
  /// `ranks_per_host`: see the attribute; 0: whom the near network reaches.
  context(address_exchange& exchange, std::unique_ptr<network::context> near,
          std::unique_ptr<network::context> far, size_t ranks_per_host);

  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;

  heap_window own_heap() override { return near_->own_heap(); }
  void discard(std::byte* begin, size_t size) override { near_->discard(begin, size); }
  heap_window heap_of(int peer) override {
    return near_->reaches(peer) ? near_->heap_of(peer) : heap_window{};
  }
  bool reaches(int peer) const override { return far_->reaches(peer) || is_near(peer); }

  void open_to_guests(guest_book& book) override { near_->open_to_guests(book); }
  std::string own_address() override { return near_->own_address(); }
  int connect(const std::string& address) override { return near_->connect(address); }
  contact contact_with(int peer) override { return near_->contact_with(peer); }
  void disconnect(int peer) override { near_->disconnect(peer); }

  /// Also peers outside of the job, whose ids follow those of the ranks, are near.
  bool is_near(int peer) const {
    return static_cast<size_t>(peer) >= near_ranks_.size() || near_ranks_[static_cast<size_t>(peer)] != 0;
  }

 private:
  address_exchange& exchange_;
  std::unique_ptr<network::context> near_, far_;
  bool all_far_;
  std::vector<uint8_t> near_ranks_;
};

}  // namespace lci::network::routed
