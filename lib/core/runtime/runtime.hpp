// The runtime: rank, default resources, and the tables its devices share.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "lci/operations.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/deferred_queue.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/checking/collective_check.hpp"
#include "lib/core/match/engine_table.hpp"
#include "lib/core/observe/tracer.hpp"
#include "lib/core/observe/watched_comp.hpp"
#include "lib/core/operation/operation.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/runtime/discard.hpp"
#include "lib/core/runtime/external_peers.hpp"
#include "lib/core/runtime/progress_bells.hpp"
#include "lib/core/runtime/progress_thread.hpp"
#include "lib/core/runtime/rcomp_table.hpp"
#include "lib/core/stream/stream_table.hpp"
#include "network/fabric.hpp"

namespace lci::core {

class packet_pool;

/// A rank, its default resources, which it owns if it allocated them, and what its devices share. A process may have
/// several. The allocating thread sets the members; until free_runtime() only those change that are marked thread-safe.
class runtime : public object_memory<runtime, false> {
 public:
  runtime(const runtime_attr_t& attr, const net_context_attr_t& net_attr);
  ~runtime();
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Number of ranks, plus the ids for peers outside the job, which follow the ranks.
  int n_peers() const { return size_ + (external_peers == nullptr ? 0 : external_peers->capacity()); }

  /// Allocates the payloads of active messages. Null means malloc and free.
  allocator_base_t* allocator() const { return allocator_.load(std::memory_order_acquire); }
  void set_allocator(allocator_base_t* a) { allocator_.store(a, std::memory_order_release); }
  /// `of_handle`: the remote completion handle's own allocator, or null. Returns null if there is no memory; an
  /// allocator of the program may also report this by std::bad_alloc.
  void* allocate(size_t size, allocator_base_t* of_handle) {
    allocator_base_t* a = LCI_LIKELY(of_handle == nullptr) ? allocator() : of_handle;
    if (LCI_LIKELY(a == nullptr)) return std::malloc(size);
    try {
      return a->allocate(size);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  /// The same for a message that has arrived: if malloc has no memory, waits for it. Before the first larger one in
  /// memory of malloc, has malloc keep what is freed (decision 31).
  void* allocate_for_arrival(size_t size, allocator_base_t* of_handle) {
    if (LCI_UNLIKELY(size > largest_not_kept) && !malloc_threshold_is_raised_.load(std::memory_order_relaxed) &&
        of_handle == nullptr && allocator() == nullptr)
      raise_malloc_threshold();
    void* const memory = allocate(size, of_handle);
    return LCI_LIKELY(memory != nullptr) ? memory : allocate_late(size, of_handle);
  }
  void deallocate(void* p, allocator_base_t* of_handle) {
    allocator_base_t* a = LCI_LIKELY(of_handle == nullptr) ? allocator() : of_handle;
    LCI_LIKELY(a == nullptr) ? std::free(p) : a->deallocate(p);
  }

  // Declared before the members whose destructors free payloads with it.
  std::atomic<allocator_base_t*> allocator_{nullptr};

  /// Malformed packets of the job's other ranks, which were dropped. Thread-safe.
  std::atomic<uint64_t> rejected_packets{0};

  /// The program's; signalled for messages to handles that are not registered. Null: none.
  std::atomic<comp_impl_t*> undelivered{nullptr};
  /// Says whether the checking mode has reported such a message. Thread-safe.
  std::atomic<bool> has_warned_of_undelivered{false};

  std::unique_ptr<tracer> trace;  // null: no trace
  watched_comps watched;  // not the device's, since a receive may outlive the device that it was posted to; thread-safe
  runtime_attr_t attr;
  net_context_t default_net_context;
  /// While the default context is allocated: the default device will exchange the addresses of both.
  bool defers_address_exchange = false;
  device_t default_device;
  packet_pool_t default_packet_pool;
  const std::unique_ptr<packet_pool> no_packets;  // empty pool of devices allocated without a pool
  matching_engine_t default_matching_engine;
  matching_engine_t default_coll_matching_engine;

  operation_table operations;                            // thread-safe
  ticket_pool tickets{*this};                            // thread-safe
  rcomp_table rcomps;                                    // thread-safe
  discard discarded;                                     // registered in place of COMP_NULL; thread-safe
  stream_table streams{*this};                           // thread-safe
  deferred_queue deferred;                               // thread-safe
  engine_table engines;                                  // thread-safe
  mpmc_array<device*> devices;                           // by uid, null once freed; thread-safe
  progress_bells bells;                                  // thread-safe
  std::unique_ptr<collective_check> collectives;         // thread-safe; null: collective calls are not compared
  std::unique_ptr<progress_thread> service;              // null unless the attribute `progress_thread` asks for it
  std::unique_ptr<core::external_peers> external_peers;  // thread-safe; null: no peers outside the job
  network::address_exchange& exchange() { return *exchange_; }

  /// The device of this uid, or null if it has been freed. Increments its `visitors`; the device is not freed
  /// before the caller has decremented them.
  device* enter_device(int uid);
  /// For a device that is being freed: enter_device() no longer finds it. Returns when `visitors` is 0.
  void close_device(device& d);

  /// Ends unmatched receives, and discards unexpected messages.
  void discard_entries(matching_engine& engine);

  /// The pool that a packet's payload belongs to, or null. Thread-safe.
  packet_pool* pool_of(const void* payload);
  void add_pool(packet_pool* pool);
  void remove_pool(packet_pool* pool);

 private:
  /// Bytes. A window of 64 such messages takes 128 KiB: if more are free at the end of the heap, glibc's free() returns
  /// them to the system.
  static constexpr size_t largest_not_kept = 2048;
  LCI_COLD void raise_malloc_threshold();
  LCI_COLD void* allocate_late(size_t size, allocator_base_t* of_handle);

  std::atomic<bool> malloc_threshold_is_raised_{false};
  int rank_ = 0;
  int size_ = 1;
  std::unique_ptr<network::address_exchange> exchange_;
  spinlock visits_lock_;  // held while a device is entered or closed
  std::mutex pools_mutex_;
  std::vector<packet_pool*> pools_;  // under pools_mutex_
};

/// The process's default runtime; empty if there is none.
inline std::atomic<runtime*> g_default_runtime{nullptr};

}  // namespace lci::core
