// Completion objects that record when an operation ends, and then signal the user's. Used by observed devices.
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

/// The completion object of one operation. The post and the signal each hold a reference; the last one to release it
/// returns the object to its pool.
class watched_comp final : public comp_impl_t {
 public:
  explicit watched_comp(watched_comps& pool) : pool_(pool) {}
  void signal(status_t status) override;

  /// The post has returned `posted`; the operation is in flight or has been signalled. Releases the post's reference.
  void posted(uint64_t when);
  /// The post started no operation, so that there will be no signal. Releases both references.
  void cancel();

 private:
  friend class watched_comps;
  void release();

  watched_comps& pool_;
  tracer* trace_ = nullptr;           // null: no trace
  std::shared_ptr<latencies> times_;  // null: no counters
  comp_impl_t* behind_ = nullptr;
  post_kind what_ = post_kind::am;
  int device_ = -1;
  uint64_t begin_ = 0;               // when the post began
  std::atomic<uint64_t> posted_{0};  // 0: the post has not returned; a signal may read that
  std::atomic<int> holders_{0};
};

/// A pool of watched_comps. Owns all of them, including those of operations that never end. Thread-safe.
class watched_comps {
 public:
  /// For an operation whose post began at `begin`. Throws std::bad_alloc.
  watched_comp* get(const device_observer& o, comp_impl_t& behind, post_kind what, uint64_t begin);

 private:
  friend class watched_comp;
  void put(watched_comp* w);

  spinlock lock_;
  std::vector<std::unique_ptr<watched_comp>> all_;  // under lock_
  std::vector<watched_comp*> free_;                 // under lock_
};

}  // namespace lci::core
