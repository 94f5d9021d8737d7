// A device: independent network resources, and the progress engine of the operations posted through them.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "lci/errors.hpp"
#include "lci/operations.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/device/flow_control.hpp"
#include "lib/core/device/peer_failures.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/memory/memory_registrations.hpp"
#include "lib/core/memory/packet_pool.hpp"
#include "lib/core/memory/pool_registration.hpp"
#include "lib/core/memory/published_memory.hpp"
#include "lib/core/memory/receive_buffers.hpp"
#include "lib/core/memory/shared_heap.hpp"
#include "lib/core/observe/device_observer.hpp"
#include "lib/core/operation/backlog.hpp"
#include "lib/core/operation/dependent.hpp"
#include "lib/core/operation/flush_tracker.hpp"
#include "lib/core/operation/operation.hpp"
#include "lib/core/operation/timers.hpp"
#include "lib/core/runtime/runtime.hpp"
#include "lib/core/transfer/buffer_cache.hpp"
#include "lib/core/transfer/receive_window.hpp"
#include "lib/core/wire/wire.hpp"
#include "network/fabric.hpp"

namespace lci::core {

class barrier_rounds;
class raw_network;
struct unexpected;

/// One set of network resources with its own progress. Owns its network::device. Thread-safe except for construction
/// and destruction. Threads that use different devices share no memory that is written per message.
class device final : public network::event_sink,
                     public detail::device_front,
                     public object_memory<device, true> {
 public:
  device(core::runtime& rt, core::net_context& context, core::packet_pool& pool,
         const device_attr_t& attr);
  ~device();

  // --- posting (send_packet.cpp) ---

  /// Sends header and payload; the caller may reuse both on return. Unless it returns `done`, nothing was sent.
  errorcode_t inject(int peer, network::message_head head, const void* payload, size_t size) {
    return net->inject(peer, head, payload, size);
  }
  /// The same through a packet, for messages too large to inject.
  /// `completes`, if given: an operation in state `send` with one piece; it completes when the packet has been sent.
  errorcode_t send_packet(int peer, packet* p, size_t size, operation* completes = nullptr);
  /// Submits an item of the backlog to the network. False: it can't be submitted now.
  bool submit(backlog::item& item);
  /// The same, but an item that can't be submitted now is queued in the backlog.
  void submit_or_queue(backlog::item item) {
    if (!backlog.empty() || !submit(item)) queue(std::move(item));
  }
  /// For operations in flight, whose post can no longer return an error. Queues the item in the backlog; without
  /// memory for that, submits it ahead of the backlog. If both fail for a while, the item's operation ends as
  /// `no_memory`.
  void queue(backlog::item item);
  /// As inject(), but a message that can't be sent now is queued in the backlog. For the library's own messages.
  /// False: for a while it could be neither sent nor queued (no memory), and it is lost.
  bool send_or_queue(int peer, const void* message, size_t size);
  template <class Message>
  bool send_or_queue(int peer, const Message& m) {
    return send_or_queue(peer, &m, sizeof m);
  }
  /// The same for a request whose operation already waits for the answer, a packet of the kind `awaited`. If the
  /// request is lost, the operation ends as `no_memory`.
  template <class Message>
  void send_request(int peer, uint32_t handle, awaited_packets awaited, const Message& m) {
    if (LCI_UNLIKELY(!send_or_queue(peer, m))) end_unsent(peer, handle, awaited, failure::no_memory);
  }

  /// Permits functors to post by the direct paths of lci/direct.hpp. Call it when all resources that posts with
  /// default arguments use have been set.
  void open_direct_ways();
  /// In a forked child: functors no longer take the direct paths, which skip the checks of calls.
  void close_direct_ways();

  // --- back-pressure (back_pressure.cpp) ---

  /// Makes progress until the backlog holds at most attr.backlog_bytes for the peer. Not in handlers.
  LCI_COLD void await_backlog(int peer);
  /// Whether the peer has asked for a pause of sends because it stores too many unexpected messages.
  bool sends_pause(int peer) {
    return LCI_UNLIKELY((not_plain.load(std::memory_order_relaxed) & peer_pauses) != 0) && flow.is_paused_by(peer);
  }
  /// Makes progress until the peer ends its pause of sends. Not in handlers.
  LCI_COLD void await_end_of_pause(int peer);

  // --- transfers (rendezvous.cpp, rma.cpp) ---

  /// Posts the operation's remaining pieces. After a shortage of resources the progress engine continues.
  void advance(operation* op);
  /// The same, but returns false after a shortage: the caller must arrange for another call.
  bool try_advance(operation* op);
  /// For an operation whose pieces have all completed: sends the peer the message it waits for, and completes.
  void finish(operation* op);
  /// Signals the completion object and frees the operation.
  void complete(operation* op);
  void fail(operation* op);
  /// Signals an operation that completes within its post. Objects that may post (handlers) are not entered
  /// recursively: inside handlers and progress() their signal is deferred.
  void signal_from_post(comp_impl_t* comp, const status_t& status);
  /// The same where no user code may run: objects that may post are signalled by a later progress().
  void signal_later(comp_impl_t* comp, const status_t& status);
  /// Opens the operation's gate: from now on packets may name it. Threads that handle them see all that its owner
  /// wrote before. Afterwards the caller no longer owns it, unless it stays an accessor (`stay`).
  void open(operation* op, awaited_packets awaited, bool stay = false);

  /// Counts an operation that a post has just created as outstanding: flushes wait for it.
  void count_in(operation* op) {
    pending.fetch_add(1, std::memory_order_relaxed);
    op->counted = true;
    op->parity = flushes.begin(op->status.rank) != 0;
  }
  /// Signals once all operations to `status.rank` (negative: to all ranks) that began before `generation` was read
  /// have ended.
  void signal_when_flushed(comp_impl_t* comp, const status_t& status, uint64_t generation);

  /// Counts this device's entries in the list of deferred work; freeing the device lets them run a last time.
  void begin_task() { tasks_.fetch_add(1, std::memory_order_relaxed); }
  void end_task() { tasks_.fetch_sub(1, std::memory_order_release); }  // last access: the device may be freed
  /// Whether the device is being freed: work that waits for a peer's answer must give up.
  bool closing() const { return closing_.load(std::memory_order_acquire); }

  /// First attempt at a put or get: `done` (the caller still owns the operation), `posted`, a retry
  /// (nothing happened), or `fatal`.
  errorcode_t start_rma(operation* op);
  /// Queues the operation in the backlog, so that the progress engine advances it later.
  void resume_later(operation* op);
  /// Ends the requests in the backlog to a peer that has failed or ended, because posts to other peers queue
  /// behind them. `thrown`: the first exception of a handler.
  void end_queued(int peer, std::exception_ptr& thrown);
  /// Undoes a post: frees the operation without a signal.
  void forget(operation* op);
  /// Answers an RTS: its data goes to the operation's buffer (a posted receive's, or one allocated for an active
  /// message).
  void start_receive(operation* op, int peer, tag_t tag, const wire::rts_body& rts);
  /// Acknowledges an operation to its origin; `policy` other than 0: says why it was refused or failed.
  void send_ack(int peer, uint64_t operation, uint8_t policy = 0);
  /// Signals an active message with a copy of its payload; the program owns the copy. False: there is no memory
  /// for it, and the caller must handle the failure.
  [[nodiscard]] LCI_NOINLINE bool deliver_copy(rcomp_table::target to, int peer, tag_t tag, const std::byte* data,
                                               size_t size);
  /// Counts a received message that can't be delivered because there is no memory for it.
  LCI_COLD void count_undelivered(int peer, size_t size);
  /// The same. Returns the exception to throw here if the sender does not learn of the loss.
  LCI_COLD resource_error lost(const char* what, int peer, size_t size);
  [[noreturn]] LCI_COLD void lose(const char* what, int peer, size_t size) { throw lost(what, peer, size); }
  /// Signals a put or get at its target, with the memory that it accessed.
  void send_signal(int peer, rcomp_t comp, tag_t tag, uint64_t address, uint64_t size);

  // --- packet pools ---

  /// Whether the network has fewer receive buffers than it should.
  bool lacks_receives() const { return receives_ != nullptr && !receives_->all_out(); }
  /// A packet of the pool or, if all of those are in use, of the reserve: for the library's own messages and
  /// requests of the backlog, which must be sent in any case. Null if the reserve is empty, too.
  packet* reserved_packet() {
    packet* p = packet_pool.p_impl->get();
    return LCI_LIKELY(p != nullptr || reserve_ == nullptr) ? p : reserve_->get();
  }

  void register_pool(core::packet_pool& pool);
  void deregister_pool(core::packet_pool& pool);
  uint64_t pool_lkey(const core::packet_pool& pool) const {
    return LCI_LIKELY(!limits.local_registration) ? 0 : find_pool_lkey(pool);
  }

  /// Whether the key's memory was registered with the device of this uid at its owner's rank.
  bool takes(const rmr_t& rmr) const { return rmr.is_of(attr.uid); }

  // --- raw network operations (raw_network.cpp) ---

  /// Created at its first use, or when the first raw message arrives.
  LCI_COLD raw_network& raw();

  // --- barriers (barrier_rounds.cpp) ---

  /// Begins a barrier. Returns its number, from 1; the same at all ranks.
  uint64_t begin_barrier();
  /// Makes progress until `from` has sent its message of this round. Throws if it has failed.
  void await_barrier(int from, size_t round, uint64_t barrier);
  /// Makes progress until no message to `to` waits in the backlog. Otherwise the peer, which waits for it, would
  /// wait for ever if this thread went on to another device.
  void await_sent(int to);

  // --- the end (close_device.cpp) ---

  /// Ends outstanding operations, here and at the peers, as `cancelled`, and waits until messages have been sent.
  /// Stops waiting for a peer that makes no progress after attr.close_timeout.
  void close();
  /// After close(): deletes the device and its endpoints, then signals the operations that never completed.
  void destroy();
  /// Answers, as `cancelled`, the senders of unexpected messages that came through this device, if they wait for
  /// an answer. `peer`: only that sender; negative: all.
  void answer_unexpected(int peer);
  /// The same for one message, which is about to be discarded.
  void answer_discarded(const unexpected& u);
  /// Cancels a receive that matched a message whose sender, or whose device here, has ended.
  LCI_COLD void cancel_receive(operation* op, int peer, tag_t tag);

  // --- progress (progress.cpp) ---

  /// One round: backlog, deferred work, receive buffers, network. True if anything happened.
  bool progress();
  /// The same where calls are known not to be watched; for progress.cpp only.
  bool progress_unwatched();
  /// The same, but leaves the report of failures to progress(). For progress threads.
  bool make_progress();
  /// Whether a progress thread serves this device.
  bool served() const { return service.load(std::memory_order_relaxed) != nullptr; }
  bool drained() const;
  void on_recv(int peer, const std::byte* data, size_t size, void* recv_context) override;
  void on_complete(void* context) override;
  void on_remote_write(int peer, uint32_t imm) override;
  void on_peer_failure(int peer, const char* reason) override;
  void on_peer_departure(int peer, network::departure how) override;
  void on_device_end(int peer) override;
  void on_operation_failure(void* context, int peer) override;

  /// Whether the backlog, behind which later requests must queue, is empty, and no peer has failed.
  bool undisturbed() const {
    return backlog.empty() && !failures.any_rank();
  }

  /// Number of the next collective operation on this device, the same at all ranks.
  uint32_t next_collective() { return collectives_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns the number of a collective operation that has not begun here.
  void take_back_collective(uint32_t number) {
    uint32_t next = number + 1;
    collectives_.compare_exchange_strong(next, number, std::memory_order_relaxed, std::memory_order_relaxed);
  }

  const uint64_t serial;          // unique among the devices of this process
  std::atomic<int> visitors{0};  // threads of other devices that use this one; see device_visit

  // Members that the hot paths read come first.
  std::unique_ptr<network::device> net;
  core::runtime& rt;
  int n_ranks;         // of the job
  size_t inject_end;   // inject() takes payloads of fewer bytes; 0: none, not even empty ones
  size_t eager_limit;   // payload bytes of the largest eager message
  shared_heap* heap;  // of the net context
  std::unique_ptr<device_observer> observer;  // null: neither counters nor a trace
  /// Bits of not_plain.
  enum plain_bit : uint8_t {
    backlog_waits = 1,
    peer_failed = 2,
    is_observed = 4,
    calls_checked = 8,
    forked = 16,
    peer_pauses = 32
  };
  core::backlog backlog{not_plain, backlog_waits};
  network::limits limits;
  memory_registrations registrations;
  /// Number of reasons why progress must do more than poll: deadlines, receive buffers, waiting requests.
  std::atomic<int> attention{0};
  /// Outstanding operations, except posted receives.
  alignas(cache_line) std::atomic<int64_t> pending{0};
  flush_tracker flushes;
  flow_control flow;
  const std::unique_ptr<barrier_rounds> barriers;
  timers deadlines{attention};
  core::receive_window receive_window{attention};
  published_memory published;       // thread-safe
  peer_failures failures;
  core::dependents dependents;
  core::buffer_cache buffer_cache;  // for payloads that only a handler sees, in place

  device_bell bell;
  std::atomic<progress_thread*> service{nullptr};  // serves this device; null: none

  device_attr_t attr;
  runtime_t runtime;
  net_context_t net_context;
  packet_pool_t packet_pool;
  endpoint_t default_endpoint;
  endpoint_t progress_endpoint;

 private:
  bool try_inject(int peer, const void* message, size_t size);
  LCI_COLD void log_out_of_memory(int peer);
  /// Ends an operation whose request was not sent, unless it has ended already.
  LCI_COLD void end_unsent(int peer, uint32_t handle, awaited_packets awaited, failure how);
  void send_fin(int peer, uint64_t operation, uint8_t policy = 0);
  /// Sends a FIN to the receiver of a transfer that failed at its sender.
  LCI_COLD void send_broken_fin(operation* op);
  /// Refuses a request, so that its origin does not wait for ever. Returns false.
  LCI_COLD bool refuse(int peer, uint64_t operation, uint8_t policy = wire::refused);
  LCI_COLD void reject() { rt.rejected_packets.fetch_add(1, std::memory_order_relaxed); }
  // Handlers of received packets, by kind (receive.cpp, rendezvous.cpp, rma.cpp, atomics.cpp, stream_order.cpp,
  // post_stream.cpp). False: the packet is rejected.
  LCI_NOINLINE void receive(int peer, const std::byte* data, size_t size, void* recv_context);
  bool dispatch(int peer, wire::message& m, void*& recv_context);
  bool receive_am(int peer, const wire::message& m, void*& recv_context);
  LCI_NOINLINE void receive_send(int peer, network::message_head head, const std::byte* data,
                                 size_t size);
  LCI_NOINLINE bool receive_acked(int peer, wire::message& m);
  /// Stores an unexpected message in the engine; `match` is the receive if one was posted meanwhile. False: there
  /// is no memory for it.
  [[nodiscard]] LCI_NOINLINE bool file_unexpected(matching_engine& engine, uint64_t key, int peer, tag_t tag,
                                                  const std::byte* data, size_t size, uint64_t ack,
                                                  void*& match);
  /// The same for a message already allocated and counted; frees it if there is no memory to insert it.
  [[nodiscard]] bool file_unexpected(matching_engine& engine, uint64_t key, unexpected* u, void*& match);
  bool receive_rts(int peer, wire::message& m);
  /// False: it was refused.
  bool receive_large_am(const core::receive_window::request& request);
  /// Memory for an active message, which its completion object reads `in_place`, or which the program will own.
  void* allocate_payload(size_t size, bool in_place, allocator_base_t* allocator);
  void free_payload(void* buffer, allocator_base_t* allocator) {
    if (!buffer_cache.give_back(buffer)) rt.deallocate(buffer, allocator);
  }
  bool must_wait(const core::receive_window::request& request);
  LCI_NOINLINE bool start_waiting_requests();
  bool receive_rtr(int peer, wire::message& m);
  bool receive_fin(int peer, wire::message& m);
  bool receive_fragment(int peer, wire::message& m);
  LCI_NOINLINE void receive_signal(int peer, network::message_head head, const std::byte* data,
                                   size_t size);
  bool receive_put(int peer, wire::message& m);
  bool receive_ack(int peer, const wire::message& m);
  bool receive_get(int peer, wire::message& m);
  bool receive_atomic(int peer, wire::message& m);
  bool receive_ordered(int peer, wire::message& m);
  bool receive_ordered_rts(int peer, wire::message& m);
  bool receive_credit(int peer, const wire::message& m);
  bool receive_atomic_reply(int peer, wire::message& m);
  LCI_COLD bool receive_withdrawal(int peer, wire::message& m);
  LCI_COLD bool receive_not_found(int peer, uint64_t word);
  LCI_COLD bool receive_device_end(int peer, const wire::message& m);
  /// Handles deadlines that have passed. True if there were any.
  LCI_COLD bool end_what_is_due();

  /// Handles a packet from `peer` that names an operation: `act(op, kind)` does what the packet says, or returns
  /// false. False if no operation with this peer waits for a packet of a kind in `awaited`, or `act` returned false.
  template <class Act>
  bool visit(uint32_t handle, uint8_t awaited, int peer, Act act);
  void leave(operation* op);
  /// For a transfer whose pieces have completed, while the caller is still an accessor of its gate.
  void await_ack(operation* op);
  /// Most payload bytes of a message that carries a piece of a transfer.
  size_t piece_room() const { return eager_limit - sizeof(uint64_t) * 2; }
  uint64_t pieces_of(uint64_t size) const { return (size + piece_room() - 1) / piece_room(); }
  errorcode_t post_piece(operation* op, size_t offset, size_t size);
  /// The same for an operation already posted: if the network refuses the piece, records why and returns `fatal`.
  errorcode_t post_later_piece(operation* op, size_t offset, size_t size);
  errorcode_t send_piece(operation* op, size_t size);
  LCI_COLD void open_cache();
  bool make_progress_inline();
  LCI_COLD bool progress_watched();
  LCI_NOINLINE bool do_deferred_work();
  void refill_receives();
  std::atomic<bool> closing_refused_{false};  // close() has logged that progress was refused
  /// First part of the destruction, also if the constructor throws: removes the device from the runtime's table,
  /// closes the network's device, and returns the packets to their pools.
  LCI_COLD void leave_network();
  packet* packet_to_receive();
  /// Ends operations that wait for an answer or a message of that peer.
  LCI_COLD void end_operations(int peer);
  /// Ends the operations that wait for an answer and for which `which(op)` is true. Returns the first exception of
  /// a handler.
  template <class F>
  std::exception_ptr end_waiting(failure how, F which);
  LCI_COLD void note_device_end(int peer, uint8_t how);
  /// One round of progress of a device that is being freed; `idle` counts successive rounds without an event.
  void last_round(int& idle);
  /// Drains backlog and deferred work; `to_the_end`: also the network, so that the peers learn of our end.
  void let_out(bool to_the_end);
  /// Ends the operation of a backlog item that will not be sent.
  LCI_COLD void drop(backlog::item& item, failure how);
  LCI_COLD void end_unanswered();
  /// Ends receives that name the failed peer; `thrown` is the first exception of a handler.
  LCI_COLD void fail_receives(int peer, std::exception_ptr& thrown);
  /// The internal engine or completion object of an id that is not in the runtime's tables; null: none.
  LCI_COLD matching_engine* unlisted_engine(uint16_t id);
  LCI_COLD comp_impl_t* unlisted_comp(uint32_t rcomp);

  std::atomic<uint32_t> collectives_{0};
  std::atomic<int> tasks_{0};  // see begin_task()
  std::atomic<bool> closing_{false};
  void note_unfinished(const unfinished& u);
  std::vector<unfinished>* unfinished_ = nullptr;  // operations that never completed; signalled by destroy()
  std::unique_ptr<receive_buffers> receives_;  // null: the network needs none

  std::atomic<raw_network*> raw_{nullptr};  // owned; null until raw operations are used

  bool is_reserved(const packet* p) const { return p->pool == reserve_.get(); }
  uint64_t find_pool_lkey(const core::packet_pool& pool) const;
  size_t packets_to_receive_ = 0;  // most packets of the pool that serve as receive buffers
  static constexpr int reserve_size = 16;  // packets: enough to send answers, a few at a time
  std::unique_ptr<core::packet_pool> reserve_;  // null: this network needs no packets
  std::atomic<int> reserved_receives_{0};       // packets of the reserve posted as receive buffers
  registered_pools pools_;
};

}  // namespace lci::core

#include "lib/core/device/device_inline.hpp"  // the rest: it needs the class
