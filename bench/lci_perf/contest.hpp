// Threads that use one object concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// An object, and the operation that each thread does with it. An operation leaves the object as it was: whatever is
/// taken is put back.
class contest {
 public:
  virtual ~contest() = default;
  /// Sets the size of the following operations, if they have one.
  virtual void begin(size_t size) {}
  /// `count` operations by thread `t`. Thread-safe.
  virtual void work(int t, uint64_t count) = 0;
  /// Ends the process if operations were lost. Called by one thread after each round, in which every thread did `count`
  /// operations.
  virtual void check(uint64_t count) {}
  virtual std::string what() const = 0;  ///< for the header
};

/// Runs rounds with `o.threads` threads and reports the operations per second of all threads together.
void run_contest(const options& o, contest& c);

}  // namespace lci_perf
