// In the checking mode, ranks compare the endpoints that they create, and agree that a device may be freed.
#pragma once

#include <lci.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include <lci.hpp>

#include "lib/layers/v1/ids.hpp"

namespace v1 {

struct world;

/// Finds endpoints that have different match types at different ranks: a send of one never matches a receive of the
/// other. In the checking mode, each rank that creates an endpoint sends its match type to all other ranks, and does
/// not wait for theirs, since ranks may create endpoints of different devices in any order. Each rank stores the match
/// types that it has received, and those of its own endpoints, by device and order of creation. The rank that creates
/// its endpoint later reports the difference: its LCI_endpoint_init() fails, or, if the two messages cross, an
/// LCI_progress(). A member of the world. Thread-safe.
class endpoint_comparison {
 public:
  /// Registers the handle for messages of peers. All ranks do this as their fifth registration, in any mode, so that
  /// its number is the same.
  void open(lci::runtime_t runtime);
  /// Stores the match type of the next endpoint of the device, and tells the peers. Throws if theirs is another.
  void add(LCI_device_t device, LCI_match_t match);
  /// Forgets the endpoints of a device that is freed, since a later device may get its number.
  void forget(unsigned device);

 private:
  struct created {
    uint32_t device;
    uint32_t number;  ///< how many endpoints of the device were created before this one
    uint32_t match;
  };
  struct created_by {
    int rank;
    created endpoint;
  };
  class port final : public lci::comp_impl_t {
   public:
    explicit port(endpoint_comparison& all) : all_(all) { attr.am_in_place = true; }
    void signal(lci::status_t status) override;

   private:
    endpoint_comparison& all_;
  };
  void receive(int rank, const created& theirs);

  std::mutex mutex_;
  std::array<std::vector<LCI_match_t>, max_devices> mine_;  ///< by device, in order of creation; under mutex_
  std::vector<created_by> early_;  ///< of endpoints that this rank has yet to create; under mutex_
  lci::rcomp_t handle_ = 0;        ///< the same at all ranks
  port port_{*this};
};

/// Collective, in any mode: each rank that is in the checking mode says whether the device has an endpoint with
/// communication that is not complete. If one has, throws at all ranks: so no rank frees the device, and no rank waits
/// for one that does not free it.
void require_idle_everywhere(world& w, LCI_device_t device);

}  // namespace v1
