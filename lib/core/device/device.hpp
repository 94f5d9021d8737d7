// A device: independent network resources, and the progress engine of the operations posted through them.
// It composes parts and holds what most paths read. Functions on its operations are declared beside their subject.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci/operations.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/waiting_line.hpp"
#include "lib/core/device/collective_numbers.hpp"
#include "lib/core/device/device_lifetime.hpp"
#include "lib/core/device/flow_control.hpp"
#include "lib/core/device/packet_supply.hpp"
#include "lib/core/device/peer_failures.hpp"
#include "lib/core/device/program_polls.hpp"
#include "lib/core/memory/device_regions.hpp"
#include "lib/core/memory/memory_registrations.hpp"
#include "lib/core/memory/published_memory.hpp"
#include "lib/core/memory/registered_ranges.hpp"
#include "lib/core/memory/shared_heap.hpp"
#include "lib/core/observe/device_observer.hpp"
#include "lib/core/operation/backlog.hpp"
#include "lib/core/operation/dependent.hpp"
#include "lib/core/operation/flush_tracker.hpp"
#include "lib/core/operation/operation.hpp"
#include "lib/core/operation/timers.hpp"
#include "lib/core/runtime/runtime.hpp"
#include "lib/core/transfer/buffer_cache.hpp"
#include "lib/core/transfer/protocol_table.hpp"
#include "lib/core/transfer/receive_window.hpp"
#include "lib/core/transfer/way_table.hpp"
#include "network/fabric.hpp"

namespace lci::core {

class barrier_rounds;
class raw_network;

/// One set of network resources with its own progress. Owns its network::device and its parts. Thread-safe except for
/// construction and destruction; the constructing thread sets what is not marked otherwise. Threads that use different
/// devices share no memory that is written per message.
class device final : public network::event_sink, public detail::device_front, public object_memory<device, true> {
 public:
  device(core::runtime& rt, core::net_context& context, core::packet_pool& pool, const device_attr_t& attr);
  ~device();

  // --- progress (progress.cpp) ---

  /// Makes one round of progress: backlog, deferred work, receive buffers, network. Returns true if anything happened.
  bool progress();
  /// Does the same where calls are known not to be watched; for progress.cpp only.
  bool progress_unwatched();
  /// Does the same, but leaves the report of failures to progress(), for progress threads.
  bool make_progress();

  // What the network reports (receive.cpp, rendezvous.cpp, transfers.cpp, peer_events.cpp).
  void on_recv(int peer, const std::byte* data, size_t size, void* recv_context) override;
  void on_complete(void* context) override;
  void on_remote_write(int peer, uint32_t imm) override;
  void on_peer_failure(int peer, const char* reason) override;
  void on_peer_departure(int peer, network::departure how) override;
  void on_device_end(int peer) override;
  void on_operation_failure(void* context, int peer) override;
  LCI_NOINLINE void receive(int peer, const std::byte* data, size_t size, void* recv_context);  // for receivers only

  // --- for posts ---
  /// Sends header and payload; the caller may reuse both on return. Unless it returns `done`, nothing was sent.
  errorcode_t inject(int peer, network::message_head head, const void* payload, size_t size) {
    return net->inject(peer, head, payload, size);
  }
  /// Counts an operation that a post has just created as outstanding: flushes wait for it.
  void count_in(operation* op) {
    pending.fetch_add(1, std::memory_order_relaxed);
    op->counted = true;
    op->parity = flushes.begin(op->status.rank) != 0;
  }
  /// Returns whether the peer has asked for a pause of sends because it stores too many unexpected messages.
  bool sends_pause(int peer) {
    return LCI_UNLIKELY((not_plain.load(std::memory_order_relaxed) & peer_pauses) != 0) && flow.is_paused_by(peer);
  }
  /// Returns whether the backlog, behind which later requests must queue, is empty, and no peer has failed.
  bool undisturbed() const { return backlog.empty() && !failures.any_rank(); }
  /// Returns whether the key's memory was registered with the device of this uid at its owner's rank.
  bool takes(const rmr_t& rmr) const { return rmr.is_of(attr.uid); }
  /// Returns whether nothing is outstanding: neither operations nor messages in the backlog.
  bool drained() const { return backlog.empty() && pending.load(std::memory_order_acquire) == 0; }
  bool served() const { return service.load(std::memory_order_relaxed) != nullptr; }  // by a progress thread

  const uint64_t serial;         // unique among the devices of this process
  std::atomic<int> visitors{0};  // threads of other devices that use this one; see device_visit

  // Members that the hot paths read come first.
  std::unique_ptr<network::device> net;
  core::runtime& rt;
  int n_ranks;                                // of the job
  size_t inject_end;                          // inject() takes payloads of fewer bytes; 0: none, not even empty ones
  size_t eager_limit;                         // payload bytes of the largest eager message
  shared_heap* heap;                          // of the net context
  std::unique_ptr<device_observer> observer;  // null: neither counters nor a trace
  enum plain_bit : uint8_t {                  // bits of not_plain
    backlog_waits = 1,
    peer_failed = 2,
    is_observed = 4,
    calls_checked = 8,
    forked = 16,
    peer_pauses = 32
  };
  core::backlog backlog{not_plain, backlog_waits};  // thread-safe
  network::limits limits;
  memory_registrations registrations;  // thread-safe
  /// Number of reasons why progress must do more than poll: deadlines, receive buffers, waiting requests.
  std::atomic<int> attention{0};
  /// Outstanding operations, except posted receives.
  alignas(cache_line) std::atomic<int64_t> pending{0};
  flush_tracker flushes;  // thread-safe, like the parts that follow
  flow_control flow;
  const std::unique_ptr<barrier_rounds> barriers;
  timers deadlines{attention};
  core::receive_window receive_window{attention};
  program_polls polls{attention};
  core::way_table ways{n_ranks};
  protocol_table protocols{n_ranks};
  core::published_memory published;
  registered_ranges ranges;
  device_regions regions;
  peer_failures failures;
  core::dependents dependents;
  core::buffer_cache buffer_cache;  // for payloads that only a handler sees, in place
  packet_supply supply;
  device_lifetime lifetime;
  const std::shared_ptr<core::collective_numbers> collective_numbers;
  std::atomic<raw_network*> raw{nullptr};  // owned; null until raw_of() makes it
  device_bell bell;
  waiting_line line;
  std::atomic<progress_thread*> service{nullptr};  // serves this device; null: none
  device_attr_t attr;
  runtime_t runtime;
  net_context_t net_context;
  packet_pool_t packet_pool;
  endpoint_t default_endpoint, progress_endpoint;

 private:
  bool make_progress_inline(bool by_program);
  LCI_COLD bool progress_watched();
  LCI_NOINLINE bool do_deferred_work(bool by_program);
  /// At the end, also if the constructor throws: leaves the runtime's table, closes the network, returns packets.
  LCI_COLD void leave_network();
};

}  // namespace lci::core
