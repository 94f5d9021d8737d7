// Threads that use one object at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// An object, and what each thread does with it. Operations are whole: whatever was taken is given
/// back.
class contest {
 public:
  virtual ~contest() = default;
  /// What comes is of this size, where that matters.
  virtual void begin(size_t size) {}
  /// `count` operations by thread `t`. Thread-safe.
  virtual void work(int t, uint64_t count) = 0;
  /// Ends the process if operations have been lost. One thread, between rounds; `count` operations
  /// by each thread were the last one.
  virtual void check(uint64_t count) {}
  virtual std::string what() const = 0;  ///< for the header
};

/// Rounds of `o.threads` threads, and their report: operations a second of all together.
void run_contest(const options& o, contest& c);

}  // namespace lci_perf
