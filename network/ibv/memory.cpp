#include "network/ibv/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "lib/base/log.hpp"

namespace lci::network::ibv {

namespace {

constexpr int for_all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
constexpr int for_sending = IBV_ACCESS_REMOTE_READ;

int advice_of(attr_ibv_prefetch_strategy_t strategy) {
  switch (strategy) {
    case attr_ibv_prefetch_strategy_t::prefetch_write:
      return IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
    case attr_ibv_prefetch_strategy_t::prefetch_no_fault:
      return IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
    default:
      return IBV_ADVISE_MR_ADVICE_PREFETCH;
  }
}

}  // namespace

attr_ibv_odp_strategy_t usable_paging(const adapter& card, const net_context_attr_t& attr) {
  using strategy = attr_ibv_odp_strategy_t;
  if (attr.ibv_odp_strategy == strategy::none) return strategy::none;
  // Packets are registered like all other memory, so receive buffers need ODP, too.
  constexpr uint32_t all =
      IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_SRQ_RECV | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  const ibv_odp_caps& can = card.paging();
  const bool some = (can.general_caps & IBV_ODP_SUPPORT) != 0 && (can.per_transport_caps.rc_odp_caps & all) == all;
  if (!some) {
    log_warning(std::string("ibv: ") + card.name() +
                " can't page memory on demand (ibv_odp_strategy); registering pins it");
    return strategy::none;
  }
  if (attr.ibv_odp_strategy == strategy::implicit_odp && (can.general_caps & IBV_ODP_SUPPORT_IMPLICIT) == 0) {
    log_warning(std::string("ibv: ") + card.name() +
                " can't register the whole address space (ibv_odp_strategy); each range is, and is paged");
    return strategy::explicit_odp;
  }
  return attr.ibv_odp_strategy;
}

registrar::registrar(ibv_pd& domain, attr_ibv_odp_strategy_t paging, attr_ibv_prefetch_strategy_t prefetch)
    : domain_(domain), paging_(paging), prefetch_(prefetch) {
  if (paging_ != attr_ibv_odp_strategy_t::implicit_odp) return;
  everything_ = made(library::get().reg_mr(&domain_, nullptr, SIZE_MAX, for_all | IBV_ACCESS_ON_DEMAND),
                     "ibv_reg_mr of the whole address space");
}

ibv_mr* registrar::open(void* base, size_t size) {
  const int on_demand = pins() ? 0 : IBV_ACCESS_ON_DEMAND;
  const auto open_as = [&](int access) { return library::get().reg_mr(&domain_, base, size, access | on_demand); };
  return open_memory(for_all, for_sending, open_as, [] { return errno == EFAULT; });
}

registration registrar::add(void* base, size_t size) {
  registration reg;
  reg.rkey = rkey_of(0);
  if (size == 0) return reg;  // libibverbs would fail, and an empty range needs no key
  const ibv_mr* key = everything_.get();
  if (key == nullptr) {
    ibv_mr* const mr = open(base, size);
    if (mr == nullptr) refused("ibv_reg_mr of " + std::to_string(size) + " bytes", errno);
    reg.handle = mr;
    key = mr;
  }
  reg.lkey = key->lkey;
  reg.rkey = rkey_of(key->rkey);
  if (!pins() && prefetch_ != attr_ibv_prefetch_strategy_t::none) advise(base, size, key->lkey);
  return reg;
}

void registrar::advise(void* base, size_t size, uint32_t lkey) {
  ibv_sge range{reinterpret_cast<uintptr_t>(base), static_cast<uint32_t>(std::min<size_t>(size, UINT32_MAX)), lkey};
  const auto advice = static_cast<ibv_advise_mr_advice>(advice_of(prefetch_));
  const int error = ibv_advise_mr(&domain_, advice, 0, &range, 1);
  if (error != 0 && !advice_refused_.exchange(true, std::memory_order_relaxed))
    log_warning(std::string("ibv: ibv_advise_mr (ibv_prefetch_strategy) failed: ") + std::strerror(error) +
                "; pages are not prefetched");
}

void registrar::remove(const registration& reg) {
  if (reg.handle != nullptr) release()(static_cast<ibv_mr*>(reg.handle));
}

}  // namespace lci::network::ibv
