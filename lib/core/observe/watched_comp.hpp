// Completion objects that stand before the user's while somebody looks on: they note when an operation ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/completion.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/observe/latencies.hpp"
#include "lib/core/observe/trace_event.hpp"

namespace lci::core {

struct device_observer;
class tracer;
class watched_comps;

/// Of one operation. Both the post and the signal let go of it; whoever does last gives it back.
class watched_comp final : public comp_impl_t {
 public:
  explicit watched_comp(watched_comps& pool) : pool_(pool) {}
  void signal(status_t status) override;

  /// The post has ended, and the operation goes on or has been signalled.
  void posted(uint64_t when);
  /// There is no operation, so that nobody will signal.
  void cancel();

 private:
  friend class watched_comps;
  void let_go();

  watched_comps& pool_;
  tracer* trace_ = nullptr;           // null: none is taken
  std::shared_ptr<latencies> times_;  // null: not counted
  comp_impl_t* behind_ = nullptr;
  post_kind what_ = post_kind::am;
  int device_ = -1;
  uint64_t begin_ = 0;                // when the post began
  std::atomic<uint64_t> posted_{0};  // may be read before it is known: then the post is not over
  std::atomic<int> holders_{0};
};

/// Thread-safe. Owns them all, also those of operations that never end.
class watched_comps {
 public:
  /// Of an operation whose post began then.
  watched_comp* get(const device_observer& o, comp_impl_t& behind, post_kind what, uint64_t begin);

 private:
  friend class watched_comp;
  void put(watched_comp* w);

  spinlock lock_;
  std::vector<std::unique_ptr<watched_comp>> all_;  // under lock_
  std::vector<watched_comp*> free_;                 // under lock_
};

}  // namespace lci::core
