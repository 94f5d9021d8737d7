// A device: one independent way into the network, and the engine that makes its operations advance.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lci/errors.hpp"
#include "lci/operations.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/device/flow_control.hpp"
#include "lib/core/device/peer_failures.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/memory/packet_pool.hpp"
#include "lib/core/memory/pool_registration.hpp"
#include "lib/core/memory/published_memory.hpp"
#include "lib/core/memory/receive_buffers.hpp"
#include "lib/core/memory/memory_registrations.hpp"
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

/// Thread-safe except for construction and destruction. Two threads on two devices share nothing
/// that is written per message. Owns its fabric's device.
class device final : public network::event_sink,
                     public detail::device_front,
                     public object_memory<device, true> {
 public:
  device(core::runtime& rt, core::net_context& context, core::packet_pool& pool,
         const device_attr_t& attr);
  ~device();

  // --- posting (send_packet.cpp) ---

  /// Sends header and payload; both are free on return. Does nothing unless it says `done`.
  errorcode_t inject(int peer, network::message_head head, const void* payload, size_t size) {
    return net->inject(peer, head, payload, size);
  }
  /// The same through a packet, for what is too large to inject.
  /// `completes`, if given, is a `send` with one piece, which ends when the packet has been sent.
  errorcode_t send_packet(int peer, packet* p, size_t size, operation* completes = nullptr);
  /// Sends what an item of the backlog says. False: not now.
  bool submit(backlog::item& item);
  /// The same, and what can't be sent now waits there.
  void submit_or_queue(backlog::item item) {
    if (!backlog.empty() || !submit(item)) queue(std::move(item));
  }
  /// For what is under way already, so that nobody can be told of a failure: the item goes to the backlog, or out
  /// past it, or, if for a while there is neither room nor memory, an operation of it ends as `no_memory`.
  void queue(backlog::item item);
  /// As inject(), but what can't be sent now waits in the backlog. For the library's own messages. False: for a
  /// while there was neither room nor memory, and it is lost.
  bool send_or_queue(int peer, const void* message, size_t size);
  template <class Message>
  bool send_or_queue(int peer, const Message& m) {
    return send_or_queue(peer, &m, sizeof m);
  }
  /// The same of a message whose answer, a packet of the kind `awaited`, an operation waits for already. If the
  /// message is lost the operation ends as `no_memory`.
  template <class Message>
  void send_request(int peer, uint32_t handle, awaited_packets awaited, const Message& m) {
    if (LCI_UNLIKELY(!send_or_queue(peer, m))) end_unsent(peer, handle, awaited, failure::no_memory);
  }

  /// Lets functors post what they can by themselves (lci/direct.hpp). Once all is there that posts with the
  /// usual arguments rely on.
  void open_direct_ways();
  /// In a forked child: functors find no way past the checks of calls any more.
  void close_direct_ways();

  // --- back-pressure (back_pressure.cpp) ---

  /// Makes progress until less waits in the backlog for the peer than may. Not in handlers.
  LCI_COLD void await_backlog(int peer);
  /// Whether the peer has asked for a pause of sends, since it has too many that no receive has asked for.
  bool sends_pause(int peer) {
    return LCI_UNLIKELY((not_plain.load(std::memory_order_relaxed) & peer_pauses) != 0) && flow.is_paused_by(peer);
  }
  /// Makes progress until the peer asks for no pause of sends. Not in handlers.
  LCI_COLD void await_end_of_pause(int peer);

  // --- transfers (rendezvous.cpp, rma.cpp) ---

  /// Starts what the operation's state says, piece by piece; continues after a shortage.
  void advance(operation* op);
  /// The same, but false if a shortage stops it: the caller sees to it that it goes on.
  bool try_advance(operation* op);
  /// All pieces of the operation are through: tells the peer what it waits for, and completes.
  void finish(operation* op);
  /// Signals the completion object and forgets the operation.
  void complete(operation* op);
  void fail(operation* op);
  /// Signals the end of an operation that has ended within its post. What may post again (a handler)
  /// is not entered from within itself: inside handlers and progress() its turn comes later.
  void signal_from_post(comp_impl_t* comp, const status_t& status);
  /// The same where nothing of the user's may run: what is more than a queue has its turn in progress().
  void signal_later(comp_impl_t* comp, const status_t& status);
  /// Lets packets name an operation of this device, from now on; what its owner wrote so far is seen
  /// by whoever handles them. Afterwards the operation is no longer the caller's, unless it stays.
  void open(operation* op, awaited_packets awaited, bool stay = false);

  /// The operation, just made by a post, is under way to its peer: flushes wait for it.
  void count_in(operation* op) {
    pending.fetch_add(1, std::memory_order_relaxed);
    op->counted = true;
    op->parity = flushes.begin(op->status.rank) != 0;
  }
  /// Signals once all operations to `status.rank` (negative: to all) have ended that were begun
  /// before `generation` was asked for.
  void signal_when_flushed(comp_impl_t* comp, const status_t& status, uint64_t generation);

  /// Work of this device in the list of deferred work: freeing the device lets it run a last time.
  void begin_task() { tasks_.fetch_add(1, std::memory_order_relaxed); }
  void end_task() { tasks_.fetch_sub(1, std::memory_order_release); }  // last: the device may go
  /// Whether the device is being freed: what waits for a peer's answer is to give up.
  bool closing() const { return closing_.load(std::memory_order_acquire); }

  /// First attempt at a put or get: `done` (the operation is still the caller's), `posted`, a retry
  /// (nothing happened), or `fatal`.
  errorcode_t start_rma(operation* op);
  /// Lets the progress engine call advance() when it gets round to it.
  void resume_later(operation* op);
  /// What waits to be posted to a peer that is gone: posts to others wait behind it.
  void end_queued(int peer, std::exception_ptr& thrown);
  /// Undoes a post: the operation never was.
  void forget(operation* op);
  /// A buffer (a posted receive's, or one allocated for an active message) meets a request to send.
  void start_receive(operation* op, int peer, tag_t tag, const wire::rts_body& rts);
  /// Tells the origin of an operation that it has arrived, or was refused.
  void send_ack(int peer, uint64_t operation, uint8_t policy = 0);
  /// Signals that an active message has come, with a copy of it that is the program's to free. False: there
  /// is no memory for the copy; what becomes of the message is the caller's to say.
  [[nodiscard]] LCI_NOINLINE bool deliver_copy(rcomp_table::target to, int peer, tag_t tag, const std::byte* data,
                                               size_t size);
  /// Counts a message that has come and can't be delivered because there is no memory for it.
  LCI_COLD void count_undelivered(int peer, size_t size);
  /// The same. The result is what this program is to be told if the sender does not learn of it.
  LCI_COLD resource_error lost(const char* what, int peer, size_t size);
  [[noreturn]] LCI_COLD void lose(const char* what, int peer, size_t size) { throw lost(what, peer, size); }
  /// Tells the target of a put or get with signal which memory it was about.
  void send_signal(int peer, rcomp_t comp, tag_t tag, uint64_t address, uint64_t size);

  // --- packet pools ---

  /// A packet for what must get through although others hold all packets of the pool: the library's
  /// own messages and requests from the backlog. Null if there is none either.
  /// Whether the network has fewer receive buffers than it should.
  bool lacks_receives() const { return receives_ != nullptr && !receives_->all_out(); }
  packet* reserved_packet() {
    packet* p = packet_pool.p_impl->get();
    return LCI_LIKELY(p != nullptr || reserve_ == nullptr) ? p : reserve_->get();
  }

  void register_pool(core::packet_pool& pool);
  void deregister_pool(core::packet_pool& pool);
  uint64_t pool_lkey(const core::packet_pool& pool) const {
    return LCI_LIKELY(!limits.local_registration) ? 0 : find_pool_lkey(pool);
  }

  /// Whether this is the device that takes the key, at its owner's rank.
  bool takes(const rmr_t& rmr) const { return rmr.is_of(attr.uid); }

  // --- raw network operations (raw_network.cpp) ---

  /// Made at its first use, or when the first raw message comes.
  LCI_COLD raw_network& raw();

  // --- barriers (barrier_rounds.cpp) ---

  /// Number of the barrier that begins, from 1; the same at all ranks.
  uint64_t begin_barrier();
  /// Makes progress until `from` has sent its message of this round. Throws if it has failed.
  void await_barrier(int from, size_t round, uint64_t barrier);
  /// Makes progress until no message to `to` waits in the backlog. For a peer that makes progress as well: it
  /// would wait for ever if this thread went on to another device.
  void await_sent(int to);

  // --- the end (close_device.cpp) ---

  /// Ends what is under way, here and at the peers, as `cancelled`, and waits until what was sent has left.
  /// What waits for a peer that makes no progress is given up after a while.
  void close();
  /// After close(): deletes the device and its endpoints, and tells of what its network has not given back.
  void destroy();
  /// For messages that came through this device and that no receive will meet: answers their senders, who
  /// wait to hear of it. `peer`: only of that one's; negative: of all.
  void answer_unexpected(int peer);
  /// The same of one message, which is about to be discarded.
  void answer_discarded(const unexpected& u);
  /// The receive meets a message whose sender, or whose device here, is gone.
  LCI_COLD void cancel_receive(operation* op, int peer, tag_t tag);

  // --- progress (progress.cpp) ---

  /// One round: backlog, deferred work, receive buffers, network. True if anything happened.
  bool progress();
  /// The same where it is known that calls are not looked at; for its own file.
  bool progress_unwatched();
  /// The same, but what is to be told of failures waits for progress(). For progress threads.
  bool make_progress();
  /// Whether a progress thread makes progress here.
  bool served() const { return service.load(std::memory_order_relaxed) != nullptr; }
  bool drained() const;
  void on_recv(int peer, const std::byte* data, size_t size, void* recv_context) override;
  void on_complete(void* context) override;
  void on_remote_write(int peer, uint32_t imm) override;
  void on_peer_failure(int peer, const char* reason) override;
  void on_peer_departure(int peer, network::departure how) override;
  void on_device_end(int peer) override;
  void on_operation_failure(void* context, int peer) override;

  /// No backlog that later requests must queue behind, and no peer has failed.
  bool undisturbed() const {
    return backlog.empty() && !failures.any_rank();
  }

  /// Number of the next collective operation on this device, the same at all ranks.
  uint32_t next_collective() { return collectives_.fetch_add(1, std::memory_order_relaxed); }
  /// Of one that has not begun here.
  void take_back_collective(uint32_t number) {
    uint32_t next = number + 1;
    collectives_.compare_exchange_strong(next, number, std::memory_order_relaxed, std::memory_order_relaxed);
  }

  const uint64_t serial;          // of the devices of this process
  std::atomic<int> visitors{0};  // threads of other devices that use this one; see device_visit

  // What the hot paths read comes first.
  std::unique_ptr<network::device> net;
  core::runtime& rt;
  int n_ranks;         // of the job
  size_t inject_end;   // inject() takes payloads of fewer bytes; 0: none, not even empty ones
  size_t eager_limit;   // payload bytes of the largest message that goes without a handshake
  shared_heap* heap;  // of the net context
  std::unique_ptr<device_observer> observer;  // null: nobody looks on
  /// Of not_plain.
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
  /// Reasons why each round of progress does more than to poll: deadlines, receive buffers, requests that wait.
  std::atomic<int> attention{0};
  /// Operations that have been posted and not completed, posted receives excepted.
  alignas(cache_line) std::atomic<int64_t> pending{0};
  flush_tracker flushes;
  flow_control flow;
  const std::unique_ptr<barrier_rounds> barriers;
  timers deadlines{attention};
  core::receive_window receive_window{attention};
  published_memory published;       // thread-safe
  peer_failures failures;
  core::dependents dependents;
  core::buffer_cache buffer_cache;  // of those that land, and of others that only a handler sees

  device_bell bell;
  std::atomic<progress_thread*> service{nullptr};  // who serves this device

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
  /// To the receiver of a transfer that its sender has not brought to its end.
  LCI_COLD void send_broken_fin(operation* op);
  /// Answers a request that can't be served, so that its origin does not wait for ever.
  LCI_COLD bool refuse(int peer, uint64_t operation, uint8_t policy = wire::refused);
  LCI_COLD void reject() { rt.rejected_packets.fetch_add(1, std::memory_order_relaxed); }
  // What arrives, by kind (receive.cpp, rendezvous.cpp, rma.cpp, atomics.cpp, stream_order.cpp,
  // post_stream.cpp). False: the packet is rejected.
  LCI_NOINLINE void receive(int peer, const std::byte* data, size_t size, void* recv_context);
  bool dispatch(int peer, wire::message& m, void*& recv_context);
  bool receive_am(int peer, const wire::message& m, void*& recv_context);
  LCI_NOINLINE void receive_send(int peer, network::message_head head, const std::byte* data,
                                 size_t size);
  LCI_NOINLINE bool receive_acked(int peer, wire::message& m);
  /// Keeps a message until a receive asks for it; `match` is the receive if one has come meanwhile. False:
  /// there is no memory for it.
  [[nodiscard]] LCI_NOINLINE bool file_unexpected(matching_engine& engine, uint64_t key, int peer, tag_t tag,
                                                  const std::byte* data, size_t size, uint64_t ack,
                                                  void*& match);
  /// The same of one that is made and counted; where there is no memory to file it, it is freed.
  [[nodiscard]] bool file_unexpected(matching_engine& engine, uint64_t key, unexpected* u, void*& match);
  bool receive_rts(int peer, wire::message& m);
  /// False: it was refused.
  bool receive_large_am(const core::receive_window::request& request);
  /// Memory for an active message that its completion object sees `in_place`, or that is to be the program's.
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
  /// Deadlines that are over. True if there were any.
  LCI_COLD bool end_what_is_due();

  /// A packet from `peer` names an operation: `act(op, kind)` does what the packet says, or refuses. False if
  /// no operation with this peer waits for a packet of one of the kinds in `awaited`, or `act` refused.
  template <class Act>
  bool visit(uint32_t handle, uint8_t awaited, int peer, Act act);
  void leave(operation* op);
  /// A transfer whose pieces are through, and whose gate we are still inside of.
  void await_ack(operation* op);
  /// Payload bytes of a message that carries a piece of a transfer.
  size_t piece_room() const { return eager_limit - sizeof(uint64_t) * 2; }
  uint64_t pieces_of(uint64_t size) const { return (size + piece_room() - 1) / piece_room(); }
  errorcode_t post_piece(operation* op, size_t offset, size_t size);
  /// The same for an operation that can only end: what the network refuses is `fatal`, and noted.
  errorcode_t post_later_piece(operation* op, size_t offset, size_t size);
  errorcode_t send_piece(operation* op, size_t size);
  LCI_COLD void open_cache();
  bool make_progress_inline();
  LCI_COLD bool progress_watched();
  LCI_NOINLINE bool do_deferred_work();
  void refill_receives();
  std::atomic<bool> closing_refused_{false};  // close(): and that was said
  /// The first part of the end, also of a device whose constructor throws: nobody finds the device any more, the
  /// network's device is closed, and the packet pool has its packets back.
  LCI_COLD void leave_network();
  packet* packet_to_receive();
  /// What waits for an answer of that peer, or for its message, ends.
  LCI_COLD void end_operations(int peer);
  /// Ends the operations that wait for an answer and for which `which(op)`. The first exception of a handler.
  template <class F>
  std::exception_ptr end_waiting(failure how, F which);
  LCI_COLD void note_device_end(int peer, uint8_t how);
  /// One round of a device that is being freed; `idle` counts those in which nothing happened.
  void last_round(int& idle);
  /// Until nothing of ours waits here; `to_the_end`: nor in the network, where our peers hear of our end.
  void let_out(bool to_the_end);
  /// Ends what an item of the backlog belongs to, which will not be sent.
  LCI_COLD void drop(backlog::item& item, failure how);
  LCI_COLD void end_unanswered();
  /// Receives that name the failed peer end; `thrown` is the first exception of a handler.
  LCI_COLD void fail_receives(int peer, std::exception_ptr& thrown);
  /// Where a message goes that names no engine, or no completion object, of the runtime's tables.
  LCI_COLD matching_engine* unlisted_engine(uint16_t id);
  LCI_COLD comp_impl_t* unlisted_comp(uint32_t rcomp);

  std::atomic<uint32_t> collectives_{0};
  std::atomic<int> tasks_{0};  // see begin_task()
  std::atomic<bool> closing_{false};
  void note_unfinished(const unfinished& u);
  std::vector<unfinished>* unfinished_ = nullptr;  // what the network has not given back; told by close()
  std::unique_ptr<receive_buffers> receives_;  // null: the network needs none

  std::atomic<raw_network*> raw_{nullptr};  // owned; null until raw operations are used

  bool is_reserved(const packet* p) const { return p->pool == reserve_.get(); }
  uint64_t find_pool_lkey(const core::packet_pool& pool) const;
  size_t packets_to_receive_ = 0;  // of the pool, at most
  static constexpr int reserve_size = 16;  // packets: to keep answers going, a few at a time
  std::unique_ptr<core::packet_pool> reserve_;  // null: this network needs no packets
  std::atomic<int> reserved_receives_{0};       // of them, those that the network holds
  registered_pools pools_;
};

}  // namespace lci::core

#include "lib/core/device/device_inline.hpp"  // the rest: it needs the class
