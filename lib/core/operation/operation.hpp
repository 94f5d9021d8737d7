// The state of an operation between its post and its completion, and the table that resolves handles from the wire.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/thread_index.hpp"
#include "lib/concurrent/handle_gate.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/memory/layout.hpp"
#include "lib/core/wire/failure.hpp"
#include "lib/core/wire/wire.hpp"
#include "network/fabric.hpp"

namespace lci::core {

class device;
class matching_engine;
struct packet;

/// What an operation is waiting for.
enum class op_state : uint8_t {
  idle,            // in a free list
  recv_posted,     // in a matching engine
  plain_recv,      // the same; since its allocation nothing was set but status, comp and device
  await_receiver,  // rendezvous, sender: for RTR or FIN
  writing,         // rendezvous, sender: for its puts or fragments
  reading,         // rendezvous, receiver: for its gets
  await_data,      // rendezvous, receiver: for FIN, fragments or an immediate
  splitting,       // rendezvous, receiver: for its gets of one part, and the immediate of the other
  put,             // for the network, or for acknowledgements of an emulated put
  get,             // for the network, or for the fragments of an emulated get
  atomic,          // for the target's reply
  send,            // eager send: for the network, which still reads the buffer
  await_ack,       // sent message: for the target's acknowledgement of delivery
};

/// The kinds of packets that an operation waits for: its gate admits these and no others.
enum awaited_packets : uint8_t {
  awaits_receiver = 1,   // await_receiver: RTR or FIN
  awaits_data = 2,       // await_data, splitting: FIN, fragments or an immediate
  awaits_fragments = 4,  // emulated get: fragments
  awaits_acks = 8,       // emulated put, message with remote completion: acknowledgements
  awaits_reply = 16,     // atomic: its result
  awaits_any = 31,
};

/// An outstanding operation. The table that allocated it owns its memory, and resets the first two cache lines, except
/// status, comp and device, when the operation is released.
///
/// Thread safety. One thread at a time owns the operation, except while its gate is open: then threads that handle
/// a packet for its device, or a failure of the peer, enter as accessors. Accessors read what was written before the
/// gate was opened; they write the user's memory and `left`, which is atomic. All else is written only by the
/// accessor that closes the gate, between close() and leave(). `pieces` is atomic because several threads may poll
/// the device.
///
/// `dev` is atomic because a packet may arrive through another device than the operation's: it must not enter,
/// since that device may be destroyed meanwhile. It is null if the device of a posted receive was destroyed. `state` is
/// atomic because a device that is destroyed searches the whole table for its operations, while other threads allocate
/// and release theirs. An owner writes `dev` before `state` (R3), so a thread that reads a state other than idle reads
/// the device of that operation (A3).
struct alignas(cache_line) operation {
  status_t status;  // what will be reported: rank is the peer, buffer and size the local memory
  comp_impl_t* comp = nullptr;
  std::atomic<device*> dev{nullptr};  // sends and receives its pieces
  handle_gate<> gate;
  // second cache line: the last one that an eager receive reads
  std::atomic<op_state> state{op_state::idle};
  std::atomic<failure> failed{failure::none};
  wire::transfer transfer = wire::transfer::copy;  // `writing`, and `await_data` of a rendezvous: how
  bool in_place : 1 = false;      // status.buffer is freed after the completion object has been signalled
  bool allocated : 1 = false;     // status.buffer was allocated for an active message
  bool registered : 1 = false;    // `reg` was made for this operation
  bool signals : 1 = false;       // put, get: with remote_comp, which the target signals
  bool acknowledged : 1 = false;  // sender: ends with the target's ack
  bool acknowledges : 1 = false;  // receiver: acknowledges when all is delivered
  bool ordered : 1 = false;       // receiver, of a stream: `comp` is an ordered_transfer
  bool counted : 1 = false;       // by the device's flush tracker, in generations of `parity`
  bool parity : 1 = false;
  bool named : 1 = false;        // `comp` is a ticket
  bool in_window : 1 = false;    // counted by the device's receive window
  bool timed : 1 = false;        // rendezvous: its time is recorded, see note_end_of_timed()
  bool alone : 1 = false;        // if `timed`: the message came alone, not in a stream of others
  bool allocates : 1 = false;    // posted receive: has no buffer before it matches a message
  bool in_order : 1 = false;     // put: pieces are posted with net_op::ordered
  bool by_messages : 1 = false;  // put, get: emulated, not posted to the network as such
  bool copied : 1 = false;       // put, named: status.buffer is a copy of the program's data, freed at the end
  bool split : 1 = false;   // rendezvous, sender: the receiver reads a part, and may ask for it as fragments instead
  bool shaped : 1 = false;  // status.buffer has a layout, `shape`: peers can't read or write it directly
  union {
    operation* next_free = nullptr;  // idle: in a free list
    allocator_base_t* allocator;     // else: of status.buffer, if `allocated`; null: the runtime's
  };
  std::atomic<packet*> carrier{nullptr};  // buffer-copy send: returned to its pool afterwards; see is_sending()
  network::registration reg;              // of status.buffer
  // third cache line: transfers
  alignas(cache_line) uint32_t peer_operation = 0;  // the peer's handle
  rcomp_t remote_comp = 0;  // put, get: signalled at the target; receiver of a large active message: its target
  uint64_t remote_addr = 0;
  uint64_t remote_key = 0;
  uint64_t total = 0;        // bytes to move
  uint64_t next_offset = 0;  // the first byte whose move has not been posted
  // Yet to arrive: bytes (await_data, splitting, emulated get) or acknowledgements (awaits_acks).
  std::atomic<uint64_t> left{0};
  std::atomic<int> pieces{0};          // outstanding, plus one while pieces are still being posted
  uint32_t began = 0;                  // if `timed`: when
  std::unique_ptr<kept_layout> shape;  // if `shaped`; an old one is freed when the next replaces it

  void carry(packet* p) { carrier.store(p, std::memory_order_relaxed); }
  packet* carried() const { return carrier.load(std::memory_order_relaxed); }
  bool has_failed() const { return failed.load(std::memory_order_relaxed) != failure::none; }
  void fail_as(failure how) { failed.store(how, std::memory_order_relaxed); }
  op_state doing() const { return state.load(std::memory_order_relaxed); }
  void become(op_state s) { state.store(s, std::memory_order_release); }  // R3
  device* owner() const { return dev.load(std::memory_order_relaxed); }
  void belong_to(device* d) { dev.store(d, std::memory_order_relaxed); }
  /// For a posted receive whose device `d` is being destroyed: a later device may have the same address. Another thread
  /// may match the receive at the same time, and give it to another device.
  void leave(device* d) {
    dev.compare_exchange_strong(d, nullptr, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  uint32_t handle() const { return gate.handle(); }
  /// Subtracts up to `n` from `left`. Returns the value before. Relaxed: the gate orders accessors.
  uint64_t take_from_left(uint64_t n) {
    uint64_t before = left.load(std::memory_order_relaxed);
    while (!left.compare_exchange_weak(before, before - std::min(before, n), std::memory_order_relaxed,
                                       std::memory_order_relaxed)) {
    }
    return before;
  }
};
static_assert(offsetof(operation, state) == cache_line);
static_assert(offsetof(operation, peer_operation) == 2 * cache_line);
static_assert(sizeof(operation) == 3 * cache_line);

/// Allocates operations, owns their memory and resolves handles. Thread-safe. A handle is an index (24 bits) and a
/// generation (8 bits, changed by each reuse), so that a stale or invented one is rejected. Each thread caches free
/// operations and exchanges batches with a shared list.
class operation_table {
 public:
  operation_table();
  ~operation_table();
  operation_table(const operation_table&) = delete;
  operation_table& operator=(const operation_table&) = delete;

  /// Returns null if 2^24 operations are alive, or if there is no memory.
  operation* allocate() {
    operation* op = allocate_blank();
    if (LCI_LIKELY(op != nullptr)) {
      op->status = status_t(errorcode_t::done);
      op->comp = nullptr;
    }
    return op;
  }
  /// allocate() without initializing `status` and `comp`, which the caller sets.
  operation* allocate_blank() {
    cache* c = own_cache();
    if (LCI_UNLIKELY(c == nullptr || c->head == nullptr)) return allocate_slowly();
    return take(*c);
  }
  /// The same from the thread's list only: null if that is empty.
  operation* allocate_or_null() {
    cache* c = own_cache();
    return LCI_LIKELY(c != nullptr && c->head != nullptr) ? take(*c) : nullptr;
  }
  /// Never allocates.
  void release(operation* op) {
    cache* c = own_cache();
    if (LCI_UNLIKELY(c == nullptr || c->count >= 2 * batch)) return release_slowly(op);
    reset(op);
    give(*c, op);
  }
  /// The same for an operation in the state plain_recv, which has nothing to be reset. Returns false, and does nothing,
  /// if the thread's list is full or missing.
  bool try_release_plain(operation* op) {
    cache* c = own_cache();
    if (LCI_UNLIKELY(c == nullptr || c->count >= 2 * batch)) return false;
    op->gate.reuse_next(index_bits);
    give(*c, op);
    return true;
  }
  /// An operation whose gate the caller has entered, and the kind of packet that the gate admitted; or null and 0.
  struct visit {
    operation* op;
    uint8_t kind;
  };
  /// Enters the operation with this handle, if it is of device `d` and awaits one of these kinds.
  visit enter(const device* d, uint32_t handle, uint8_t awaited) const;
  size_t alive() const;
  /// Enters each operation of `d` whose gate is open, and calls `f(visit)`, which must leave it.
  template <class F>
  void enter_each(const device* d, F f) {
    for_each([&](operation* op) {
      const uint8_t kind = op->gate.enter(awaits_any, [&](uint32_t) { return op->owner() == d; });
      if (kind != 0) f(visit{op, kind});
    });
  }
  /// Calls `visit(op, state)` for all operations of a device that no other thread uses any more.
  template <class F>
  void for_each_of(const device* d, F visit) {
    for_each([&](operation* op) {
      const op_state state = op->state.load(std::memory_order_acquire);  // A3
      if (state != op_state::idle && op->owner() == d) visit(op, state);
    });
  }

 private:
  static constexpr size_t slab_size = 64;
  static constexpr uint32_t index_bits = 24;
  static constexpr uint32_t index_mask = (1u << index_bits) - 1;
  static constexpr int batch = 32;

  struct alignas(cache_line) cache {
    operation* head = nullptr;
    int count = 0;
  };

  template <class F>
  void for_each(F f) {
    const size_t n = slabs_.size();
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < slab_size; ++k) f(&slabs_.get(i)[k]);
  }

  /// The calling thread's cache; null if it has none yet, or shares one under last_cache_lock_. Relaxed: the thread, or
  /// an ended one with the same index, has written it.
  cache* own_cache() const { return (caches_.data() + 1)[thread_index_if_known()].load(std::memory_order_relaxed); }
  static operation* take(cache& c) {
    operation* op = c.head;
    c.head = op->next_free;
    --c.count;
    return op;
  }
  static void reset(operation* op) {
    op->in_place = op->allocated = op->registered = op->signals = false;
    op->acknowledged = op->acknowledges = op->ordered = op->counted = op->parity = false;
    op->named = op->in_window = op->timed = op->in_order = op->shaped = op->allocates = op->split = op->by_messages =
        op->copied = false;
    op->carry(nullptr);
    op->reg = {};
    op->fail_as(failure::none);
    op->gate.reuse(op->handle() + (1u << index_bits));
  }
  static void give(cache& c, operation* op) {
    op->become(op_state::idle);
    op->next_free = c.head;
    c.head = op;
    ++c.count;
  }
  LCI_NOINLINE operation* allocate_slowly();
  LCI_NOINLINE void release_slowly(operation* op);
  /// The calling thread's cache, allocated at need; null without memory.
  cache* local(std::unique_lock<spinlock>& shared_guard);
  /// Called by a thread that has no cache, since there was no memory for it.
  void release_to_shared_list(operation* op);
  /// Moves a batch from the shared list to the cache, allocating a slab if the list is empty. Returns false if there is
  /// no memory, or if there are as many slabs as an index can name.
  bool refill(cache& c);
  /// Moves all but a batch from the cache to the shared list.
  void spill(cache& c);

  // By thread index + 1. The first, of threads without an index, and that of max_thread_index are null.
  std::array<std::atomic<cache*>, max_thread_index + 2> caches_{};
  mpmc_array<operation*> slabs_;  // of slab_size operations each
  mutable spinlock lock_;
  operation* free_ = nullptr;  // under lock_
  size_t n_slabs_ = 0;         // under lock_
  spinlock last_cache_lock_;
  std::atomic<cache*> last_cache_{nullptr};  // of threads beyond max_thread_index, which use it under last_cache_lock_
};

}  // namespace lci::core
