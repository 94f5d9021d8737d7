// Operations whose post the core has refused with `retry`. Progress posts them again.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "lib/layers/na/operation.hpp"

struct na_class;

namespace na {

/// One list for each peer and kind of operation, so that a congested peer blocks no other peer, and a full window of
/// unexpected messages blocks no other kind. Nothing is copied: the program must not change an operation's buffers
/// before its callback. The lists are as long as the program has operations. Owned by the class. Thread-safe; while the
/// lists are empty, a check costs one load.
class waiting_posts {
 public:
  bool any() const { return n_.load(std::memory_order_seq_cst) != 0; }
  /// Posts the operation, or appends it to its list. Throws exceptions of the post.
  void start(na_class& c, operation* op);
  /// Posts operations until the core refuses. An operation whose post throws completes as failed.
  void post_some(na_class& c);
  /// Removes the operation with this number from its list. Returns false if it is in none.
  bool remove(operation* op, na_op_id_t id);

 private:
  struct list {
    operation* first = nullptr;
    operation* last = nullptr;
  };
  static uint32_t list_of(const operation& op);
  /// Returns whether the lists were empty.
  bool add(operation* op);

  std::mutex mutex_;  // guards the lists
  std::map<uint32_t, list> of_;
  std::atomic<size_t> n_{0};
};

}  // namespace na
