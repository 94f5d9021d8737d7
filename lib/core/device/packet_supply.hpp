// The packets of a device: its pool, those registered beside it, a reserve, and the packets posted as receive buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/cpu.hpp"
#include "lib/core/memory/memory_registrations.hpp"
#include "lib/core/memory/packet_pool.hpp"
#include "lib/core/memory/pool_registration.hpp"
#include "lib/core/memory/receive_buffers.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Part of a device. Owns the reserve; the pools are the program's or the runtime's. Thread-safe after open(), until
/// deregister_all(). The reserve is what the library's own messages are sent from while the program holds all packets;
/// at most half of it serves as receive buffers, so that answers to what is received can be sent.
class packet_supply {
 public:
  packet_supply(packet_pool& own, memory_registrations& registrations) : own_(own), registrations_(registrations) {
    pools_.reserve(2);
  }

  /// Registers the own pool, and allocates what this network needs. `eager_limit`: largest payload of a message.
  void open(network::device& net, const network::limits& limits, size_t eager_limit);
  /// Ends all registrations of pools.
  void deregister_all() { pools_.clear(); }
  /// Returns the receive buffers to their pools, once the network no longer accesses them.
  void take_back();

  /// A packet of the pool or, if all of those are in use, of the reserve: for the library's own messages and requests
  /// of the backlog, which must be sent in any case. Returns null if the reserve is empty, too.
  packet* reserved() {
    packet* p = own_.get();
    return LCI_LIKELY(p != nullptr || reserve_ == nullptr) ? p : reserve_->get();
  }
  bool is_reserved(const packet* p) const { return p->pool == reserve_.get(); }

  // --- receive buffers ---

  /// Posts as many as the network takes and there are packets for. Only for networks that need them.
  void refill(network::device& net);
  /// A message has arrived in this receive buffer, which the caller now owns.
  void take_received(packet* p) {
    receives_->remove(p);
    if (is_reserved(p)) reserved_receives_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Returns whether the network has fewer receive buffers than it should.
  bool lack_receives() const { return receives_ != nullptr && !receives_->all_out(); }

  // --- pools ---

  void add(packet_pool& pool, network::device& net);
  /// Throws for the own pool, and for one that is not registered.
  void remove(packet_pool& pool);
  /// Returns whether the network reads the pool's packets by the registration that remove() would end.
  bool is_only_registration(const packet_pool& pool) const { return need_keys_ && !pools_.contain_several(pool); }
  /// The local key of the pool's memory. Throws if the pool is not registered with the device.
  uint64_t lkey_of(const packet_pool& pool) const { return LCI_LIKELY(!need_keys_) ? 0 : find_lkey(pool); }

 private:
  static constexpr int reserve_size = 16;  // packets: enough to send answers, a few at a time

  packet* packet_to_receive();
  uint64_t find_lkey(const packet_pool& pool) const;

  packet_pool& own_;
  memory_registrations& registrations_;
  bool need_keys_ = false;                     // the network's sends name registered memory
  std::unique_ptr<packet_pool> reserve_;       // null: this network needs no packets
  std::unique_ptr<receive_buffers> receives_;  // null: the network needs none
  std::atomic<int> reserved_receives_{0};      // packets of the reserve posted as receive buffers
  size_t promised_ = 0;                        // most packets of the own pool that serve as receive buffers
  registered_pools pools_;
};

}  // namespace lci::core
