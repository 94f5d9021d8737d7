// What the library remembers of an operation between its post and its completion, and the table
// that turns handles from the wire back into operations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/thread_index.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/wire.hpp"
#include "network/fabric.hpp"

namespace lci::core {

class device;
class matching_engine;
struct packet;

/// What an operation is waiting for; decides which packets may name it.
enum class op_state : uint8_t {
  idle,           // in a free list
  recv_posted,    // filed in a matching engine
  await_receiver,  // rendezvous, sender: for RTR or FIN
  writing,        // rendezvous, sender: its puts or fragments are under way
  reading,        // rendezvous, receiver: its gets are under way
  await_data,     // rendezvous, receiver: for FIN, fragments or an immediate
  put,            // for the network, or for acknowledgements of an emulated put
  get,            // for the network, or for the fragments of an emulated get
  send,           // a posted eager send that the network still reads
};

/// allocate() has reset what is in the first two cache lines; the third is for those who use it.
/// Fields are written by the thread that has it in hand; a transfer's pieces are counted
/// atomically, since several threads may poll the device. Owned by the table it came from.
struct alignas(cache_line) operation {
  status_t status;  // what will be reported: rank is the peer, buffer and size the local memory
  comp_impl_t* comp = nullptr;
  device* dev = nullptr;  // where its pieces travel
  uint32_t handle = 0;  // as it travels; fixed while the operation is alive
  op_state state = op_state::idle;
  wire::transfer transfer = wire::transfer::copy;  // `writing`: how
  bool in_place : 1 = false;    // status.buffer is freed after the completion object was signalled
  bool allocated : 1 = false;   // status.buffer was allocated for an active message
  bool registered : 1 = false;  // `reg` was made for this operation
  bool signals : 1 = false;     // put, get: the target is told
  // second cache line: the last one that an eager receive looks at
  operation* next_free = nullptr;
  matching_engine* filed_in = nullptr;  // recv_posted: where, and under which key
  uint64_t key = 0;
  packet* carrier = nullptr;  // buffer-copy send: given back afterwards
  network::registration reg;  // of status.buffer
  uint32_t peer_operation = 0;  // the peer's handle
  rcomp_t remote_comp = 0;
  // third cache line: transfers
  uint64_t remote_addr = 0;
  uint64_t remote_key = 0;
  uint64_t total = 0;         // bytes to move
  uint64_t next_offset = 0;   // the first byte whose move has not been posted
  std::atomic<uint64_t> bytes_left{0};  // await_data, emulated get: not yet arrived
  std::atomic<int> pieces{0};  // under way, plus one while pieces are still being posted
};
static_assert(offsetof(operation, next_free) == cache_line);
static_assert(offsetof(operation, remote_addr) == 2 * cache_line);

/// Makes and finds operations. Thread-safe. Handles are an index (24 bits) and a generation (8
/// bits, changed by each reuse), so that a stale or invented one is recognised. Each thread keeps
/// some free operations of its own and trades batches with a shared list.
class operation_table {
 public:
  operation_table();
  ~operation_table();
  operation_table(const operation_table&) = delete;
  operation_table& operator=(const operation_table&) = delete;

  /// Null when 2^24 operations are alive.
  operation* allocate() {
    cache* c = own_cache();
    if (LCI_UNLIKELY(c == nullptr || c->head == nullptr)) return allocate_slowly();
    return take(*c);
  }
  void release(operation* op) {
    cache* c = own_cache();
    if (LCI_UNLIKELY(c == nullptr || c->count >= 2 * batch)) return release_slowly(op);
    give(*c, op);
  }
  /// The living operation behind a handle, or null.
  operation* find(uint32_t handle) const;
  size_t alive() const;
  /// Visits the operations that are alive. For failures and shutdown: the caller makes sure that
  /// those it touches don't end meanwhile.
  template <class F>
  void for_each_alive(F visit) {
    const size_t n = slabs_.size();
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < slab_size; ++k)
        if (operation* op = &slabs_.get(i)[k]; op->state != op_state::idle) visit(op);
  }

 private:
  static constexpr size_t slab_size = 64;
  static constexpr uint32_t index_bits = 24;
  static constexpr uint32_t index_mask = (1u << index_bits) - 1;
  static constexpr int batch = 32;

  struct alignas(cache_line) cache {
    operation* head = nullptr;
    int count = 0;
    int64_t alive = 0;  // allocated minus released by this thread
  };

  /// The calling thread's, or null: it has none yet, or shares one under last_cache_lock_.
  cache* own_cache() const {
    const int index = thread_index();
    return LCI_LIKELY(index != max_thread_index) ? caches_.get(static_cast<size_t>(index)) : nullptr;
  }
  static operation* take(cache& c) {
    operation* op = c.head;
    c.head = op->next_free;
    --c.count;
    ++c.alive;
    op->comp = nullptr;
    op->status = status_t(errorcode_t::done);
    op->in_place = op->allocated = op->registered = op->signals = false;
    op->carrier = nullptr;
    op->reg = {};
    return op;
  }
  static void give(cache& c, operation* op) {
    op->state = op_state::idle;
    op->handle += 1u << index_bits;
    op->next_free = c.head;
    c.head = op;
    --c.alive;
    ++c.count;
  }
  LCI_NOINLINE operation* allocate_slowly();
  LCI_NOINLINE void release_slowly(operation* op);
  cache& local(std::unique_lock<spinlock>& shared_guard);
  bool refill(cache& c);
  void spill(cache& c);

  mpmc_array<cache*> caches_;     // by thread index
  mpmc_array<operation*> slabs_;  // each of slab_size
  mutable spinlock lock_;
  operation* free_ = nullptr;     // under lock_
  size_t n_slabs_ = 0;            // under lock_
  spinlock last_cache_lock_;      // for the index that threads beyond the limit share
};

}  // namespace lci::core
