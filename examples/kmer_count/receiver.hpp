// The interface through which an exchange delivers messages.
#pragma once

#include <cstddef>

#include "worker.hpp"

namespace kmer_count {

/// Handles arriving messages. Called within progress by any worker, possibly concurrently; must not send.
class receiver {
 public:
  virtual ~receiver() = default;
  /// A batch of k-mers, whose bytes are valid during the call.
  virtual void on_batch(worker& w, size_t traversal, const char* kmers, size_t size) = 0;
  virtual void on_control(const char* bytes, size_t size) = 0;
};

}  // namespace kmer_count
