// Combines two networks: shared memory within a host, another one between hosts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/base/cpu.hpp"
#include "network/fabric.hpp"
#include "network/routed/choice.hpp"

namespace lci::network::routed {

/// Each peer is reached by one of the two networks, always the same, so that routing does not change the order of
/// messages. What needs a common host (shared heaps, peers outside of the job) uses the near network. As thread-safe as
/// its parts.
class context final : public network::context {
 public:
  /// All messages use the network `far`; the near network only serves shared heaps.
  context(address_exchange& exchange, const net_context_attr_t& attr, std::unique_ptr<network::context> near,
          const fabric& far);
  /// Messages that the near network can't deliver use the far one. `near_is_settled`: the near context is settled
  /// already, and there are several hosts. Otherwise there may turn out to be one host; then the far network is
  /// dropped.
  context(address_exchange& exchange, const net_context_attr_t& attr, std::unique_ptr<network::context> near,
          bool near_is_settled, choice between);

  void open() override;
  attr_backend_t backend() const override { return far_ == nullptr ? attr_backend_t::shm : far_id_; }
  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;

  heap_window own_heap() override { return near_->own_heap(); }
  void discard(std::byte* begin, size_t size) override { near_->discard(begin, size); }
  heap_window heap_of(int peer) override {
    return may_be_near(peer) && near_->reaches(peer) ? near_->heap_of(peer) : heap_window{};
  }
  bool reaches(int peer) override { return (far_ != nullptr && far_->reaches(peer)) || is_near(peer); }

  /// Peers outside of the job use the near network, if messages use it.
  void open_to_external_peers(external_peer_book& book) override {
    if (between_) near_->open_to_external_peers(book);
  }
  std::string own_address() override { return near_->own_address(); }
  int connect(const std::string& address) override { return near_->connect(address); }
  contact contact_with(int peer) override { return near_->contact_with(peer); }
  void disconnect(int peer) override { near_->disconnect(peer); }

  /// Peers outside of the job, whose ids follow the ranks, are near, too.
  bool is_near(int peer) {
    if (LCI_UNLIKELY(peer >= size_)) return true;
    const way known = ways_[static_cast<size_t>(peer)].load(std::memory_order_acquire);
    return LCI_LIKELY(known != way::unknown) ? known == way::near : find_way(peer) == way::near;
  }

 private:
  enum class way : uint8_t { unknown, near, far };

  void use(const fabric& far);
  /// Publishes and settles the parts, with the far network's first device if `make_far_device` makes one. It may be
  /// called twice, as ranks may have started with different networks. Returns null without a far network.
  template <class F>
  std::unique_ptr<network::device> settle(F make_far_device);
  bool is_one_host();
  /// Returns whether the peer may count as one of this host: tests play several hosts on one.
  bool may_be_near(int peer) const;
  way find_way(int peer);

  address_exchange& exchange_;
  const net_context_attr_t attr_;
  const int size_;
  const acquaintance how_;
  std::unique_ptr<network::context> near_, far_;
  attr_backend_t far_id_ = attr_backend_t::none;
  std::optional<choice> between_;  // none: all messages use the far network
  bool near_is_settled_ = false, settled_ = false;
  std::unique_ptr<std::atomic<way>[]> ways_;  // only if there are two networks
};

}  // namespace lci::network::routed
