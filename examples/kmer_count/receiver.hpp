// What an exchange tells the rest of the program.
#pragma once

#include <cstddef>

#include "worker.hpp"

namespace kmer_count {

/// What messages do when they arrive. Called within progress by any worker, several at once; must
/// not send.
class receiver {
 public:
  virtual ~receiver() = default;
  /// Batches of k-mers, whose bytes are valid during the call.
  virtual void on_batch(worker& w, size_t traversal, const char* kmers, size_t size) = 0;
  virtual void on_control(const char* bytes, size_t size) = 0;
};

}  // namespace kmer_count
