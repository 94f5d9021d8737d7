// Registered memory: pinned, or with on-demand paging (ODP) if the card supports it.
#pragma once

#include <atomic>

#include "network/common/memory_keys.hpp"
#include "network/fabric.hpp"
#include "network/ibv/adapter.hpp"
#include "network/ibv/handles.hpp"

namespace lci::network::ibv {

/// The part of `ibv_odp_strategy` that the card supports. Logs a warning if that is less than requested.
attr_ibv_odp_strategy_t usable_paging(const adapter& card, const net_context_attr_t& attr);

/// Registers memory for one device. Thread-safe, as libibverbs registrations are.
class registrar {
 public:
  registrar(ibv_pd& domain, attr_ibv_odp_strategy_t paging, attr_ibv_prefetch_strategy_t prefetch);

  /// Throws resource_error.
  registration add(void* base, size_t size);
  void remove(const registration& reg);

  bool pins() const { return paging_ == attr_ibv_odp_strategy_t::none; }

 private:
  ibv_mr* open(void* base, size_t size);
  void advise(void* base, size_t size, uint32_t lkey);

  ibv_pd& domain_;
  const attr_ibv_odp_strategy_t paging_;
  const attr_ibv_prefetch_strategy_t prefetch_;
  owned<ibv_mr> everything_;  // implicit ODP: the whole address space
  std::atomic<bool> advice_refused_{false};
};

}  // namespace lci::network::ibv
