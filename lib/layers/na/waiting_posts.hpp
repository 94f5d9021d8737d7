// Operations whose post the core has refused with `retry`. Progress posts them again.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "lib/layers/na/operation.hpp"

struct na_class;

namespace na {

/// One list for each peer and kind of operation, so that a congested peer blocks no other peer, and a full window of
/// unexpected messages blocks no other kind. Nothing is copied: the program must not change an operation's buffers
/// before its callback. The lists are as long as the program has operations; to add one needs no memory. Owned by the
/// class. Thread-safe; while the lists are empty, a check costs one load.
class waiting_posts {
 public:
  /// For peers whose ids are at most `last`. Throws std::bad_alloc.
  void open(uint32_t last);
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
    list* next_used = nullptr;
    bool is_used = false;  // in the chain of `used_`
  };
  list& list_of(const operation& op) const;
  /// Returns whether the lists were empty.
  bool add(operation* op);

  struct with_free {
    void operator()(list* l) const { std::free(l); }
  };

  std::mutex mutex_;                       // guards the lists
  std::unique_ptr<list[], with_free> of_;  // from calloc(), which touches no page
  list *used_ = nullptr,
       *last_used_ = nullptr;  // the lists that are not empty; progress may keep empty ones for a while
  std::atomic<size_t> n_{0};
};

}  // namespace na
