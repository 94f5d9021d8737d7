// Large writes of a client on the server's host: the client copies the data to memory of the server.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "connection.hpp"

namespace io_server {

/// The session at the server owns the memory. Thread-safe: one transfer at a time uses the memory. For other transfers
/// `try_begin` fails; the server then gets their data by RMA.
class staging {
 public:
  explicit staging(connection& c) : connection_(c) {}

  /// Locks the memory for one transfer. Fails if another transfer uses it, or if a put's post does not copy the data.
  std::unique_lock<std::mutex> try_begin();

  /// Returns whether the server is on this host and the kernel copies between its memory and this process's.
  bool is_near();

  /// As client::write(). The caller must hold the lock that `try_begin` has returned.
  int write(uint64_t handle, const void* from, size_t size, int64_t offset, size_t* done, int64_t* behind);

 private:
  enum class state : unsigned char { unknown, used, useless };

  bool is_prepared();  // under mutex_, as the next
  bool prepare();

  connection& connection_;
  std::mutex mutex_;
  std::atomic<state> is_{state::unknown};  // changed under mutex_
  lci::rmr_t memory_;                      // under mutex_
  uint32_t last_group_ = 0;                // under mutex_
};

}  // namespace io_server
