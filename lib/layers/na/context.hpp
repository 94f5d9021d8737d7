// A context: a queue of operations that have completed, and whose callbacks NA_Trigger() runs.
#pragma once

#include <na.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "lci.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/na/operation.hpp"

/// Owned by the program. Thread-safe.
struct na_context {
  static constexpr uint64_t alive = 0x6e615f636f6e7478;  // "na_contx"

  explicit na_context(na_class_t* of);
  ~na_context();
  na_context(const na_context&) = delete;
  na_context& operator=(const na_context&) = delete;

  /// An operation that has completed, or null. NA_Progress() takes operations out of `queue` to see them; these come
  /// first.
  na::operation* pop();
  /// What a status of `queue` is about; null: it only ends a sleep.
  static na::operation* completed(const lci::status_t& status) {
    auto* const op = static_cast<na::operation*>(status.user_context);
    if (op != nullptr) op->result = status;
    return op;
  }
  void put_aside(na::operation* op);
  bool has_aside() const { return n_aside_.load(std::memory_order_acquire) != 0; }
  /// Wakes those who wait in NA_Progress(): all of them, or one.
  void wake_waiters();
  void wake_one();

  uint64_t magic = alive;
  na_class_t* const owner;
  lci::comp_t queue;                  // statuses whose user_context is the operation
  std::atomic<uint64_t> rounds{0};    // of callbacks
  std::atomic<uint32_t> sleepers{0};  // in NA_Progress(), without progress
  std::atomic<uint32_t> waiters{0};   // in NA_Progress() for a time

 private:
  lci::spinlock lock_;  // of the list
  na::operation* first_ = nullptr;
  na::operation* last_ = nullptr;
  std::atomic<uint32_t> n_aside_{0};
};

namespace na {

inline bool valid(const na_class_t* c, const na_context_t* x) {
  return x != nullptr && x->magic == na_context_t::alive && x->owner == c;
}

}  // namespace na
