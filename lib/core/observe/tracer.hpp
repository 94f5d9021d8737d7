// The message trace of a runtime: collected in memory, written as Chrome trace events when the runtime is freed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/thread_index.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/observe/trace_event.hpp"

namespace lci::core {

/// Collects the events of a runtime, which owns it. Thread-safe except for construction and destruction. Each thread
/// has a buffer of its own; when it is full, the oldest events are overwritten.
class tracer {
 public:
  /// Events go to "<prefix>.<rank>.json"; a later runtime of the same process and rank writes
  /// "<prefix>.<rank>-<n>.json". Throws resource_error, which names the variable, if the file can't be opened.
  tracer(const std::string& prefix, int rank, size_t events_per_thread);
  /// Writes the file.
  ~tracer();
  tracer(const tracer&) = delete;
  tracer& operator=(const tracer&) = delete;

  /// Nanoseconds of a clock that all processes of a host share.
  static uint64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
  }
  /// If there is no memory for the event, it is counted as dropped: that must not disturb what is traced.
  void add(const trace_event& e) noexcept;

  /// A number for a message being sent; never 0. Unique in this process until the counter wraps.
  static uint32_t next_message();
  /// Number of the first message of the post that the calling thread is in: given to the network, or to the backlog.
  static inline thread_local uint64_t sent_message = 0;
  /// A post, or work that belongs to no post. They nest: a post may make progress, whose handlers may post.
  class scope {
   public:
    scope() : outer_(std::exchange(sent_message, 0)) {}
    ~scope() { sent_message = outer_; }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;

   private:
    const uint64_t outer_;
  };

 private:
  struct lane {
    spinlock lock;                    // threads beyond max_thread_index share a lane
    std::vector<trace_event> events;  // under lock
    uint64_t added = 0;               // under lock
  };
  lane& own_lane();

  const std::string path_;
  const int rank_;
  const size_t limit_;
  std::FILE* file_;
  std::mutex mutex_;                         // held while a lane is created
  mpmc_array<lane*> lanes_;                  // by thread index; owned
  std::atomic<uint64_t> without_memory_{0};  // events
};

}  // namespace lci::core
