// Threads that use one object concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// An object that several threads use concurrently, and the operation that each of them repeats. An operation leaves
/// the object as it was: whatever it takes it puts back.
class contended_object {
 public:
  virtual ~contended_object() = default;
  /// Sets the bytes of the following operations, if they have a size. No thread is in work() meanwhile.
  virtual void begin(size_t size) {}
  /// `count` operations by thread `t`. Thread-safe.
  virtual void work(int t, uint64_t count) = 0;
  /// Ends the process if operations were lost. Called by one thread after each round, in which every thread did `count`
  /// operations.
  virtual void check(uint64_t count) {}
  virtual std::string what() const = 0;  ///< for the header
};

/// Runs rounds with `o.threads` threads and reports the operations per second of all threads together.
void run_contention(const options& o, contended_object& c);

}  // namespace lci_perf
