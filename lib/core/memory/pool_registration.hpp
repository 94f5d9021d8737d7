// Packet pools that a device may send from and receive into.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

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

/// The pools of one device. Owns their registrations, not the pools. Thread-safe but for reserve() and clear(), which
/// the device calls while no other thread knows it. The device's own pool, registered first, stays until clear().
class registered_pools {
 public:
  /// So that add() of as many needs no memory.
  void reserve(size_t n) { pools_.reserve(n); }
  void add(pool_registration made) {
    std::lock_guard guard(mutex_);
    pools_.push_back(std::move(made));
  }
  /// Ends the latest registration of the pool. The first `n_own` registrations stay. Returns false if there is no other
  /// one.
  bool remove(const packet_pool& pool, int n_own) {
    std::lock_guard guard(mutex_);
    const auto at =
        std::find_if(pools_.rbegin(), pools_.rend() - n_own, [&](const pool_registration& p) { return p.is_of(pool); });
    if (at == pools_.rend() - n_own) return false;
    pools_.erase(std::next(at).base());
    return true;
  }
  /// Returns false if the pool is not registered.
  bool find_lkey(const packet_pool& pool, uint64_t& lkey) const {
    std::lock_guard guard(mutex_);
    for (const pool_registration& p : pools_) {
      if (!p.is_of(pool)) continue;
      lkey = p.lkey();
      return true;
    }
    return false;
  }
  bool contain_several(const packet_pool& pool) const {
    std::lock_guard guard(mutex_);
    return std::count_if(pools_.begin(), pools_.end(), [&](const auto& p) { return p.is_of(pool); }) > 1;
  }
  void clear() { pools_.clear(); }

 private:
  mutable std::mutex mutex_;
  std::vector<pool_registration> pools_;  // under mutex_
};

}  // namespace lci::core
