// Completion objects that stand before the user's while a trace is taken, and note when an operation
// ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/completion.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/trace_event.hpp"

namespace lci::core {

class tracer;
class watched_comps;

/// Of one operation. Both the post and the signal let go of it; whoever does last gives it back.
class watched_comp final : public comp_impl_t {
 public:
  explicit watched_comp(tracer& t) : tracer_(t) {}
  void signal(status_t status) override;

  /// The post has ended, and the operation goes on or has been signalled.
  void posted(uint64_t when);
  /// There is no operation, so that nobody will signal.
  void cancel();

 private:
  friend class watched_comps;
  void let_go();

  tracer& tracer_;
  comp_impl_t* behind_ = nullptr;
  post_kind what_ = post_kind::am;
  int device_ = -1;
  std::atomic<uint64_t> posted_{0};  // may be read before it is known: then the post is not over
  std::atomic<int> holders_{0};
};

/// Thread-safe. Owns them all, also those of operations that never end.
class watched_comps {
 public:
  watched_comp* get(tracer& t, comp_impl_t& behind, post_kind what, int device);

 private:
  friend class watched_comp;
  void put(watched_comp* w);

  spinlock lock_;
  std::vector<std::unique_ptr<watched_comp>> all_;  // under lock_
  std::vector<watched_comp*> free_;                 // under lock_
};

}  // namespace lci::core
