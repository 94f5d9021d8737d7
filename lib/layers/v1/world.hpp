// What exists between LCI_initialize() and LCI_finalize(), and what the handles of lci.h point to.
#pragma once

#include <lci.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <lci.hpp>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/v1/arrivals.hpp"
#include "lib/layers/v1/awaited.hpp"
#include "lib/layers/v1/collectives.hpp"
#include "lib/layers/v1/comp.hpp"
#include "lib/layers/v1/comparison.hpp"
#include "lib/layers/v1/handles.hpp"
#include "lib/layers/v1/ids.hpp"
#include "lib/layers/v1/issued.hpp"
#include "lib/layers/v1/packet_reserve.hpp"
#include "lib/layers/v1/postponed.hpp"
#include "lib/layers/v1/storage.hpp"
#include "lib/layers/v1/thread_state.hpp"

/// Properties of endpoints.
struct LCI_plist_s {
  LCI_match_t match = LCI_MATCH_RANKTAG;
  LCI_comp_type_t command = LCI_COMPLETION_QUEUE;
  LCI_comp_type_t message = LCI_COMPLETION_QUEUE;
  LCI_comp_t default_comp = nullptr;
};

/// A device of the core, with its endpoints. Thread-safe, except its creation and end.
struct LCI_device_s {
  lci::device_t core;
  lci::comp_t bell;     ///< a counter, signalled for the thread that makes progress while it waits
  lci::spinlock waits;  ///< held by that thread: at most one for each device
  /// Calls of LCI_progress(): a thread that waits leaves progress to others that call it.
  std::atomic<uint64_t> polls{0};
  std::atomic<uint32_t> in_progress{0};   ///< threads inside LCI_progress(), in the checking mode
  unsigned number = 0;                    ///< below max_devices
  unsigned next_endpoint = 0;             ///< where the search for a free number begins; under the world's mutex
  std::vector<LCI_endpoint_t> endpoints;  ///< by number, null if there is none; under the world's mutex
};

/// An endpoint: names for messages, no resource of the network. Immutable but for `issued`. Thread-safe.
struct LCI_endpoint_s {
  lci::device_t core;
  uint32_t id_bits = 0;  ///< of tags
  uint32_t id = 0;
  uint32_t counts = 0;  ///< counts_offset(id)
  /// Counts of messages when the endpoint was created: those of earlier endpoints with the same id, whose messages need
  /// not all have been received.
  v1::totals counted_before;
  lci::matching_policy_t policy = lci::matching_policy_t::rank_tag;
  /// For lci::detail::file_receive(): its `terms` of a receive by rank and tag, without rank, tag and space. 0 if
  /// receives of this endpoint must be posted by lci::post_recv().
  uint64_t direct_receives = 0;
  /// For lci::detail::inject_send(): its `engine_and_policy`. no_direct_sends if sends of this endpoint must be posted
  /// by lci::post_send().
  uint32_t direct_sends = no_direct_sends;
  static constexpr uint32_t no_direct_sends = ~uint32_t{0};
  lci::rcomp_t in_place = 0;                 ///< ports->in_place
  const v1::arrival_ports* ports = nullptr;  ///< the handles of the peers' ports, which are the same here
  v1::comp* default_comp = nullptr;          ///< of what arrives
  LCI_device_t device = nullptr;
  LCI_plist_s properties;
  std::atomic<int> checked_receives{0};  ///< posted receives that are not complete, in the checking mode
  alignas(lci::cache_line) v1::issued_operations issued;
};

/// A registration, of this process or of another.
struct LCII_mr_t {
  lci::mr_t mr;    ///< empty for one of another process
  lci::rmr_t rmr;  ///< its key
  LCI_device_t device = nullptr;
};

namespace v1 {

/// What the functions share. Allocated by LCI_initialize(), freed by LCI_finalize().
struct world {
  lci::runtime_t runtime;
  lci::packet_pool_t packets;  ///< the runtime's
  std::unique_ptr<packet_reserve> reserve;
  lci::matching_engine_t pieces;       ///< of the long buffers of iovecs
  lci::matching_engine_t agreement;    ///< of collective functions
  lci::matching_engine_t collectives;  ///< of collective operations (LCIX_*)
  operation_numbers collective_numbers;
  comp_table comps;
  arrival_ports ports;
  awaited_vectors awaited;
  postponed_work postponed;
  handle_table handles;                 ///< filled in the checking mode
  endpoint_comparison comparison;       ///< used in the checking mode
  std::atomic<uint32_t> next_piece{0};  ///< tag of the next long buffer of an iovec that this rank sends

  std::atomic<int> failed_rank{-1};  ///< one of those that have been reported; negative: none has

  std::mutex mutex;                                 ///< of creation and end of devices and endpoints
  std::array<LCI_device_t, max_devices> devices{};  ///< under mutex
  unsigned next_device = 0;                         ///< under mutex
  int n_endpoints = 0;                              ///< under mutex
  int n_initialized = 0;
};

/// The library's only global state beside what lci.h declares: C functions have no other place for it.
namespace detail {
inline constinit V1_STORAGE world* current = nullptr;
/// Says whether the checking mode is on, or the library is not initialized: one variable, so that functions test one.
inline constinit V1_STORAGE bool checks = true;
/// True if LCI_progress() only polls: the library is initialized, the checking mode is off, and no work is postponed.
inline constinit V1_STORAGE std::atomic<bool> polls_only{false};
/// Messages with tags below this value may use the fast path (direct.hpp). 0 in the checking mode and outside of
/// LCI_initialize() and LCI_finalize(); otherwise it exceeds all valid tags.
inline constinit V1_STORAGE uint32_t usual_tags = 0;
}  // namespace detail

[[noreturn, gnu::cold]] void throw_no_world();
inline world& the_world() {
  world* w = detail::current;
  if (LCI_UNLIKELY(w == nullptr)) throw_no_world();
  return *w;
}
[[gnu::cold]] inline bool require_world() {
  (void)the_world();
  return true;
}
/// Returns whether the checking mode is on. Throws if the library is not initialized: functions whose arguments may
/// then be null or dangling call it before they use those.
inline bool checking() { return LCI_UNLIKELY(detail::checks) && require_world(); }

/// Devices and endpoints behind LCI_device_init() and the like. They throw.
LCI_device_t make_device(world& w);
void end_device(world& w, LCI_device_t device);
LCI_endpoint_t make_endpoint(world& w, LCI_device_t device, const LCI_plist_s& properties);
void end_endpoint(world& w, LCI_endpoint_t endpoint);

}  // namespace v1
