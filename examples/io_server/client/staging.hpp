// Large writes of a client on the server's host: through memory at the server, to which the client copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "connection.hpp"

namespace io_server {

/// The memory belongs to the session: the server frees it when that ends. Thread-safe: one transfer uses it at a time,
/// and `try_begin` fails for others, which then let the server get the data.
class staging {
 public:
  explicit staging(connection& c) : connection_(c) {}

  /// Holds the memory for one transfer, if it is free and copies to it are made by the post itself.
  std::unique_lock<std::mutex> try_begin();

  /// As that of `client`, while the result of `try_begin` is held.
  int write(uint64_t handle, const void* from, size_t size, int64_t offset, size_t* done, int64_t* behind);

 private:
  enum class state : unsigned char { unknown, used, useless };

  bool prepare();

  connection& connection_;
  std::mutex mutex_;
  state is_ = state::unknown;  // under mutex_, and so are the others
  lci::rmr_t memory_;
  uint32_t last_group_ = 0;
};

}  // namespace io_server
