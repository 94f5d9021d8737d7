// Memory that a device has registered with its network, by way of the registration cache if there is one.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "lci/errors.hpp"
#include "lib/base/cpu.hpp"
#include "lib/core/memory/registration_cache.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Part of a device. Thread-safe after open(). Does not own the network's device, which must outlive it.
class memory_registrations {
 public:
  void open(network::device& net) { net_ = &net; }
  void use_cache(std::unique_ptr<registration_cache> cache) { cache_ = std::move(cache); }
  /// Releases what the cache keeps.
  void close() { cache_.reset(); }

  /// Null: each registration is the network's own.
  registration_cache* cache() const { return cache_.get(); }

  /// Registers [base, base + size), not empty, until release().
  network::registration acquire(void* base, size_t size) {
    return LCI_LIKELY(cache_ == nullptr) ? net_->register_memory(base, size) : cache_->acquire(base, size);
  }
  void release(const network::registration& reg) {
    LCI_LIKELY(cache_ == nullptr) ? net_->deregister_memory(reg) : cache_->release(reg);
  }
  /// Calls `f`, which registers past the cache. If the network has no room, the cache evicts entries, and `f` is called
  /// again.
  template <class F>
  auto make_room_for(F f) {
    for (;;) {
      try {
        return f();
      } catch (const resource_error&) {
        if (cache_ == nullptr || !cache_->evict_one()) throw;
      }
    }
  }

 private:
  network::device* net_ = nullptr;
  std::unique_ptr<registration_cache> cache_;
};

}  // namespace lci::core
