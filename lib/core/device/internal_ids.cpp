#include "lib/core/device/internal_ids.hpp"

#include "lib/core/device/barrier_rounds.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/raw_network.hpp"

namespace lci::core {

matching_engine* unlisted_engine(device& d, uint16_t id) {
  if (id == wire::check_engine && d.rt.collectives != nullptr) return &d.rt.collectives->engine;
  return id == wire::raw_engine ? &raw_of(d).engine : nullptr;
}

comp_impl_t* unlisted_comp(device& d, uint32_t rcomp) {
  if (rcomp == wire::barrier_round) return d.barriers.get();
  return rcomp == wire::raw_signal ? &raw_of(d).remotely_written : nullptr;
}

}  // namespace lci::core
