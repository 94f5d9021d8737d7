// The state of a thread: batches, counters, and time by activity.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "batch.hpp"

namespace kmer_count {

/// The activities of a thread.
enum class activity { read, parse, send, insert, wait, count };
constexpr size_t nactivities = static_cast<size_t>(activity::count);
constexpr const char* activity_names[nactivities] = {"read", "parse", "send", "insert", "wait"};

/// Adds up the time of each activity. Thread-bound.
class activity_clock {
 public:
  /// Starts activity `a`; returns the previous one.
  activity switch_to(activity a) {
    const auto now = std::chrono::steady_clock::now();
    const activity before = current_;
    seconds[static_cast<size_t>(before)] += std::chrono::duration<double>(now - since_).count();
    since_ = now;
    current_ = a;
    return before;
  }
  void start() {
    since_ = std::chrono::steady_clock::now();
    current_ = activity::wait;
  }

  double seconds[nactivities] = {};

 private:
  activity current_ = activity::wait;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// Sets an activity for the duration of a scope.
class activity_scope {
 public:
  activity_scope(activity_clock& clock, activity a) : clock_(clock), before_(clock.switch_to(a)) {}
  ~activity_scope() { clock_.switch_to(before_); }
  activity_scope(const activity_scope&) = delete;
  activity_scope& operator=(const activity_scope&) = delete;

 private:
  activity_clock& clock_;
  activity before_;
};

/// Traversals of the input: with the filter two (filter, count), else one (count).
constexpr size_t max_traversals = 2;

/// Counters of a thread, summed over threads and ranks for the report; trivially copyable, so sent as bytes.
struct tally {
  uint64_t records = 0;  // read in the first traversal
  uint64_t messages = 0;
  uint64_t message_bytes = 0;
  uint64_t retries = 0;  // posts that returned `retry`
  uint64_t progress_calls = 0;
  uint64_t found[max_traversals] = {};       // k-mers in the input
  uint64_t processed[max_traversals] = {};   // k-mers processed by the filter or table
  uint64_t by_message[max_traversals] = {};  // of these
  double seconds[nactivities] = {};

  tally& operator+=(const tally& t) {
    records += t.records;
    messages += t.messages;
    message_bytes += t.message_bytes;
    retries += t.retries;
    progress_calls += t.progress_calls;
    for (size_t i = 0; i < max_traversals; ++i) {
      found[i] += t.found[i];
      processed[i] += t.processed[i];
      by_message[i] += t.by_message[i];
    }
    for (size_t i = 0; i < nactivities; ++i) seconds[i] += t.seconds[i];
    return *this;
  }
};

/// A thread of the program. Thread-bound.
struct worker {
  worker(size_t i, int nranks, size_t batch_capacity)
      : index(i), batches(nranks, batch_capacity), sent(static_cast<size_t>(nranks), 0) {}

  const size_t index;
  aggregator batches;
  std::vector<uint64_t> sent;  // batches to each rank in the current traversal
  activity_clock clock;
  tally counters;
};

/// Idle waiting: a few polls at full speed, then yields the core.
class backoff {
 public:
  void nothing_happened() {
    if (++polls_ >= 64) std::this_thread::yield();
  }
  void something_happened() { polls_ = 0; }

 private:
  unsigned polls_ = 0;
};

}  // namespace kmer_count
