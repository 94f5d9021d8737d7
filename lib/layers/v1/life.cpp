// LCI_initialize() and LCI_finalize().
#include <lci.h>

#include <algorithm>
#include <memory>
#include <mutex>

#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/settings.hpp"
#include "lib/layers/v1/unfinished.hpp"
#include "lib/layers/v1/vectors.hpp"
#include "lib/layers/v1/wait.hpp"
#include "lib/layers/v1/world.hpp"

using namespace v1;

void v1::throw_no_world() {
  throw lci::invalid_argument_error("the library is not initialized: call LCI_initialize() first");
}

namespace {

/// Forgets the world. All functions but LCI_initialize() and LCI_initialized() report misuse from then on.
void leave_world() {
  detail::current = nullptr;
  detail::checks = true;
  detail::polls_only.store(false, std::memory_order_relaxed);
}

void close(world& w) {
  detail::usual_tags = 0;  // disables the fast path, so that later calls report misuse
  if (LCI_UR_ENDPOINT != nullptr) end_endpoint(w, LCI_UR_ENDPOINT);
  LCI_UR_ENDPOINT = nullptr;
  for (LCI_device_t device : w.devices)
    if (device != nullptr) end_device(w, device);
  LCI_UR_DEVICE = nullptr;
  LCI_UR_CQ = nullptr;
  w.awaited.clear();
  w.comps.clear();
  if (!w.runtime.is_empty()) {
    if (!w.pieces.is_empty()) lci::free_matching_engine_x(&w.pieces).runtime(w.runtime)();
    if (!w.collectives.is_empty()) lci::free_matching_engine_x(&w.collectives).runtime(w.runtime)();
    if (!w.agreement.is_empty()) lci::free_matching_engine_x(&w.agreement).runtime(w.runtime)();
    w.ports.close(w.runtime);
    lci::free_runtime(&w.runtime);
  }
  LCI_MEDIUM_SIZE = -1;
  unfinished::free_all();
  free_records();
}

/// While an object exists, the process's default attributes have this library's packet size and number of packets.
/// Thread-safe: ranks that are threads of one process initialize at the same time; the first object sets the defaults,
/// and the last one restores them.
class packet_settings {
 public:
  packet_settings() {
    std::lock_guard guard(mutex_);
    if (n_users_++ > 0) return;
    before_ = lci::get_g_default_attr();
    lci::global_attr_t mine = before_;
    // The core's header takes a cache line, and sizes are multiples of one.
    const size_t payload = static_cast<size_t>(LCI_MEDIUM_SIZE) + packet_slack;
    mine.packet_size = lci::cache_line + (payload + lci::cache_line - 1) / lci::cache_line * lci::cache_line;
    mine.npackets = static_cast<size_t>(LCI_SERVER_NUM_PKTS);
    // Shared memory has room for four of the largest messages in each lane, or refuses the packet size.
    mine.shm_lane_data_size = std::max(mine.shm_lane_data_size, 4 * mine.packet_size);
    lci::set_g_default_attr(mine);
  }
  ~packet_settings() {
    std::lock_guard guard(mutex_);
    if (--n_users_ == 0) lci::set_g_default_attr(before_);
  }
  packet_settings(const packet_settings&) = delete;
  packet_settings& operator=(const packet_settings&) = delete;

 private:
  inline static std::mutex mutex_;
  inline static int n_users_ = 0;              // under mutex_
  inline static lci::global_attr_t before_{};  // under mutex_
};

void open(world& w) {
  {
    const packet_settings packets;
    // Not the default runtime: that belongs to the program, which may use lci.hpp, too.
    auto alloc = lci::alloc_runtime_x().name("LCI v1.7").alloc_default_device(false);
    // Otherwise the user's settings decide.
    if (detail::checks) alloc = alloc.check(true);
    w.runtime = alloc();
  }
  w.packets = lci::get_default_packet_pool_x().runtime(w.runtime)();
  w.reserve = std::make_unique<packet_reserve>(static_cast<size_t>(LCI_SERVER_NUM_PKTS));
  LCI_RANK = lci::get_rank_me_x().runtime(w.runtime)();
  LCI_NUM_PROCESSES = lci::get_rank_n_x().runtime(w.runtime)();
  w.ports.open(w.runtime);
  w.comparison.open(w.runtime);
  w.pieces = lci::alloc_matching_engine_x().runtime(w.runtime)();
  w.agreement = lci::alloc_matching_engine_x().runtime(w.runtime)();
  w.collectives = lci::alloc_matching_engine_x().runtime(w.runtime)();
  LCI_UR_DEVICE = make_device(w);
  if (LCI_queue_create(LCI_UR_DEVICE, &LCI_UR_CQ) != LCI_OK)
    throw lci::resource_error("the completion queue LCI_UR_CQ could not be created");
  LCI_UR_ENDPOINT = make_endpoint(w, LCI_UR_DEVICE, {});
}

}  // namespace

LCI_error_t LCI_initialize() {
  return guarded("LCI_initialize", [] {
    if (detail::current != nullptr) {
      ++detail::current->n_initialized;
      return LCI_OK;
    }
    read_settings();
    auto w = std::make_unique<world>();
    detail::current = w.get();
    try {
      open(*w);
    } catch (...) {
      const LCI_error_t code = fail_by_exception("LCI_initialize");
      (void)guarded("LCI_initialize", [&] {
        close(*w);
        return LCI_OK;
      });
      leave_world();
      return code;
    }
    w->n_initialized = 1;
    w.release();
    return LCI_OK;
  });
}

LCI_error_t LCI_finalize() {
  return guarded("LCI_finalize", [] {
    world& w = the_world();
    if (--w.n_initialized > 0) return LCI_OK;
    const std::unique_ptr<world> owned(&w);
    const LCI_error_t met = guarded("LCI_finalize", [&] {
      meet(w, LCI_UR_DEVICE);  // so that no rank posts any more
      return LCI_OK;
    });
    LCI_error_t closed = guarded("LCI_finalize", [&] {
      close(w);
      return LCI_OK;
    });
    leave_world();
    return met != LCI_OK ? met : closed;
  });
}

LCI_error_t LCI_initialized(int* flag) {
  if (flag == nullptr) return fail("LCI_initialized", "flag is NULL, but must be the address of an int");
  *flag = detail::current != nullptr;
  return LCI_OK;
}

LCI_error_t LCI_barrier() {
  return guarded("LCI_barrier", [] {
    world& w = the_world();
    if (LCI_NUM_DEVICES > 1) meet_patiently(w);
    // Leaves nothing to the backlog: this rank may make progress on other devices only, afterwards.
    lci::barrier_x().runtime(w.runtime).device(LCI_UR_DEVICE->core)();
    return LCI_OK;
  });
}
