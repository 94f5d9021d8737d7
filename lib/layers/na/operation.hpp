// Operations, from their start until their callback has returned, and the numbers that programs cancel them by.
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

/// Owned by its pool. From the start to the end of the operation, which is its completion in the context's queue, it
/// belongs to the core (`user_context` of the post), to the list of waiting operations, or to the lookup's thread;
/// then to the context, and to the thread that runs its callback.
struct operation {
  operation() = default;
  ~operation();
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  // Atomic, as NA_Cancel() and NA_Context_destroy() may read them of an operation that ends meanwhile.
  std::atomic<na_context_t*> context{nullptr};
  std::atomic<na_cb_type_t> type{NA_CB_LOOKUP};
  na_cb_t callback = nullptr;
  void* arg = nullptr;

  // What is posted; for a receive, where to.
  addr peer;
  void* buffer = nullptr;
  size_t size = 0;
  na_tag_t tag = 0;
  bool direct = false;              // a message of direct.hpp
  std::unique_ptr<transfer> moved;  // of puts and gets

  na_addr_t found = NA_ADDR_NULL;  // by a lookup; of a received message, its source
  bool is_cut = false;             // a received message is larger than its buffer
  lci::status_t result;
  operation* next = nullptr;  // in a list

  // Not changed while the operation is in use: the number is `generation`, `index`.
  uint32_t index = 0;
  std::atomic<uint32_t> generation{0};
  std::atomic<bool> used{false};
  std::atomic<bool> cancelled{false};
  // Of receives, puts and gets, the posting thread still writes the core's name after another thread may have run the
  // callback: the second of both frees the operation.
  std::atomic<bool> one_is_done{true};
  std::atomic<void*> core_name{nullptr};
  std::atomic<uint64_t> core_serial{0};
};

/// The operations of a class, in blocks that live as long as the pool. Thread-safe.
class operation_pool {
 public:
  /// Throws lci::resource_error if more than 4 M operations are outstanding, std::bad_alloc.
  operation* take(na_context_t* context, na_cb_type_t type);
  void give_back(operation* op);

  static na_op_id_t id_of(const operation& op) {
    return reinterpret_cast<na_op_id_t>(
        magic | static_cast<uint64_t>(op.generation.load(std::memory_order_relaxed)) << 24 | op.index);
  }
  /// The operation of that number, or null if it has ended. `valid`: whether it is a number at all.
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

  operation_pool() = default;
  ~operation_pool();
  operation_pool(const operation_pool&) = delete;
  operation_pool& operator=(const operation_pool&) = delete;

 private:
  static constexpr uint64_t magic = uint64_t{0x9} << 60;  // no user's pointer begins so
  static constexpr uint32_t per_block = 256, most_blocks = 16384;
  using block = std::array<operation, per_block>;

  lci::spinlock lock_;  // of free_ and growth
  operation* free_ = nullptr;
  uint32_t n_blocks_ = 0;
  // R1: release when a block is added; A1: acquire by whoever looks for an operation.
  std::array<std::atomic<block*>, most_blocks> blocks_{};
};

}  // namespace na
