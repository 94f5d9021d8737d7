// A device's registration of a packet pool.
#pragma once

#include <utility>

#include "lib/core/memory/packet_pool.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Deregisters in its destructor. The pool counts its registrations: it must not be freed while a device stores its
/// address, which a later pool might get. Not thread-safe.
class pool_registration {
 public:
  /// `net` is null where the network needs no registration of local memory.
  pool_registration(packet_pool& pool, network::device* net) : pool_(&pool), net_(net) {
    if (net_ != nullptr) reg_ = net_->register_memory(pool.arena(), pool.arena_size());
    pool.registrations.fetch_add(1, std::memory_order_relaxed);
  }
  ~pool_registration() {
    if (pool_ == nullptr) return;
    if (net_ != nullptr) net_->deregister_memory(reg_);
    pool_->registrations.fetch_sub(1, std::memory_order_relaxed);
  }
  pool_registration(pool_registration&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), net_(other.net_), reg_(other.reg_) {}
  pool_registration& operator=(pool_registration&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(net_, other.net_);
    std::swap(reg_, other.reg_);
    return *this;
  }

  bool is_of(const packet_pool& pool) const { return pool_ == &pool; }
  uint64_t lkey() const { return reg_.lkey; }

 private:
  packet_pool* pool_;
  network::device* net_;
  network::registration reg_;
};

}  // namespace lci::core
