// Operations that wait for a message of a peer.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace v1 {

class issued_vector;

/// Operations on iovecs by number. A number from the wire leads to an operation only if that waits for the rank which
/// has sent the number. Part of the world; owns the operations until they are taken. Thread-safe.
class awaited_vectors {
 public:
  /// A number for the next operation.
  uint64_t next_id();
  /// Stores an operation until its answer comes: from then on other threads may end it.
  void add(uint64_t id, issued_vector* v);
  /// Takes back the operation; null if it has ended, or waits for another rank.
  issued_vector* take(uint64_t id, int rank);
  /// Takes any operation that waits for this rank; null if there is none. Allocates nothing.
  issued_vector* take_any(int rank);
  /// Frees what still waits, at the end of the world.
  void clear();

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, issued_vector*> by_id_;  // under mutex_
  uint64_t last_ = 0;                                   // under mutex_
};

}  // namespace v1
