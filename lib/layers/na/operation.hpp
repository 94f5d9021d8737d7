// Operations, and the numbers by which programs cancel them.
#pragma once

#include <na.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "lci.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/na/addresses.hpp"

namespace na {

struct transfer;

/// An operation, from its start until its callback has returned. Owned by its pool. Used by one of these at a time: the
/// core (as `user_context` of the post), the list of waiting posts, or the lookup's thread; then the context's queue;
/// then the thread that runs the callback.
struct operation {
  operation() = default;
  ~operation();
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  // Atomic, as NA_Cancel() and NA_Context_destroy() may read them while the operation ends and is reused.
  std::atomic<na_context_t*> context{nullptr};
  std::atomic<na_cb_type_t> type{NA_CB_LOOKUP};
  na_cb_t callback = nullptr;
  void* arg = nullptr;

  // Arguments of the post. For a receive, the buffer to write to.
  addr peer;
  void* buffer = nullptr;
  size_t size = 0;
  na_tag_t tag = 0;
  bool direct = false;              // a message of direct.hpp
  bool is_spare = false;            // of the pool's reserve
  std::unique_ptr<transfer> moved;  // puts and gets only

  na_addr_t found = NA_ADDR_NULL;  // result of a lookup, or source of a received message
  bool is_cut = false;             // the received message is larger than the buffer
  lci::status_t result;
  operation* next = nullptr;  // in a list

  // The operation's number is (`generation`, `index`). Constant while the operation is in use.
  uint32_t index = 0;
  std::atomic<uint32_t> generation{0};
  std::atomic<bool> used{false};
  std::atomic<bool> cancelled{false};
  // The posting thread of a receive, put or get stores the core's name of it after the post, when another thread may
  // already have run the callback. The second of the two to finish frees the operation. See na_class::done_with().
  std::atomic<bool> one_is_done{true};
  std::atomic<void*> core_name{nullptr};
  std::atomic<uint64_t> core_serial{0};
};

/// The operations of a class, allocated in blocks that are freed with the pool. Owned by the class. Thread-safe.
class operation_pool {
 public:
  /// Throws lci::resource_error if 4 M operations are outstanding, std::bad_alloc if there is no memory.
  operation* take(na_context_t* context, na_cb_type_t type);
  /// Like take(), for the answer to a request. If there is no memory, takes an operation of the reserve.
  operation* take_for_answer(na_context_t* context, na_cb_type_t type);
  void give_back(operation* op);
  /// An empty transfer, for a put or get. give_back() keeps the memory of a few for later ones: lists of many pieces
  /// would otherwise be allocated for each. Throws std::bad_alloc.
  std::unique_ptr<transfer> take_transfer();
  /// Adds an operation to the reserve. Throws like take().
  void reserve();
  /// Takes an operation out of the reserve: at once, or when it is given back.
  void release();
  /// Ends the reserve. Its operations that are in use return to it; they are few.
  void end_reserve();

  static na_op_id_t id_of(const operation& op) {
    return reinterpret_cast<na_op_id_t>(
        magic | static_cast<uint64_t>(op.generation.load(std::memory_order_relaxed)) << 24 | op.index);
  }
  /// The operation with this number; null if it has ended. Sets `valid` to whether the number may be one of this pool.
  operation* find(na_op_id_t id, bool* valid) const;

  template <class F>
  void for_each_used(F f) {
    for (const auto& b : blocks_) {
      block* const operations = b.load(std::memory_order_acquire);
      if (operations == nullptr) return;
      for (operation& op : *operations)
        if (op.used.load(std::memory_order_acquire)) f(op);
    }
  }

  operation_pool();
  ~operation_pool();
  operation_pool(const operation_pool&) = delete;
  operation_pool& operator=(const operation_pool&) = delete;

 private:
  static constexpr uint64_t magic = uint64_t{0x9} << 60;  // differs from the top bits of all user-space pointers
  static constexpr uint32_t per_block = 256, most_blocks = 16384;
  using block = std::array<operation, per_block>;

  /// Takes a free operation; allocates a block if there is none. Under lock_.
  operation* take_free();
  static operation* begin(operation* op, na_context_t* context, na_cb_type_t type);

  lci::spinlock lock_;  // guards the lists and growth
  std::array<std::unique_ptr<transfer>, 4> kept_;
  operation* free_ = nullptr;
  operation* spare_ = nullptr;  // the reserve
  uint32_t leaving_ = 0;        // operations that leave the reserve when they are given back
  uint32_t n_blocks_ = 0;
  // R1: release when a block is added. A1: acquire in find().
  std::array<std::atomic<block*>, most_blocks> blocks_{};
};

}  // namespace na
