// Operations whose post the core has answered with `retry`: they are posted again by later progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "lib/layers/na/operation.hpp"

struct na_class;

namespace na {

/// Lists by peer and kind of operation, so that a peer that takes nothing keeps no other waiting, and its unexpected
/// messages wait for receives without keeping anything else. The memory that operations name is the
/// program's until they end, so nothing is copied, and the program's own operations bound the lists. Thread-safe; costs
/// a load while there are none.
class waiting_posts {
 public:
  bool any() const { return n_.load(std::memory_order_relaxed) != 0; }
  /// Posts it, or lists it after those to the same peer. Throws what the post throws.
  void start(na_class& c, operation* op);
  /// Posts what can be posted. Whose post throws ends as failed.
  void post_some(na_class& c);
  /// Takes the operation of this number out of its list. False: it is not in one.
  bool remove(operation* op, na_op_id_t id);

 private:
  struct list {
    operation* first = nullptr;
    operation* last = nullptr;
  };
  static uint32_t list_of(const operation& op);
  void add(operation* op);

  std::mutex mutex_;  // of the lists
  std::map<uint32_t, list> of_;
  std::atomic<size_t> n_{0};
};

}  // namespace na
