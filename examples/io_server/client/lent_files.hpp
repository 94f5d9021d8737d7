// Large reads on the server's host: the client reads a part of each itself, through the server's descriptor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "connection.hpp"
#include "staging.hpp"

namespace io_server {

/// Owns a copy of a descriptor of the server, which closes its own when this client closes the file. Read-only.
class lent_descriptor {
 public:
  explicit lent_descriptor(int fd);
  ~lent_descriptor();
  lent_descriptor(const lent_descriptor&) = delete;
  lent_descriptor& operator=(const lent_descriptor&) = delete;
  int get() const { return fd_; }

  /// The share of a read that the server should do, so that both end at the same time. It follows the measured times,
  /// and is a third before the first.
  float share() const;
  void note_own(size_t size, std::chrono::nanoseconds time);
  void note_server(size_t size, std::chrono::nanoseconds time);

  /// Whether the process has such a descriptor with this number. Programs that close all descriptors must not close it.
  static bool is_one(int fd);
  /// Closes all, in a forked child. They must not be used any more.
  static void close_all();

 private:
  const int fd_;
  std::atomic<float> own_{0}, server_{0};  // nanoseconds for a byte, means
};

/// The descriptors that the server has lent for a connection's files, and reads with them. A read asks the server for a
/// part of the data and reads another part itself meanwhile, so two processors copy, and a server that has ended is
/// noticed. Both read the same file of the same kernel, so both see what is written at once. Thread-safe.
class lent_files {
 public:
  /// Bytes of the smallest read that is shared.
  static constexpr size_t least = size_t{192} << 10;

  explicit lent_files(connection& c) : connection_(c) {}

  /// The descriptor of a file. Null if the server does not lend it, as it is elsewhere, or the file can be written.
  std::shared_ptr<lent_descriptor> of(uint64_t handle, staging& near);
  /// Before the file is closed.
  void give_back(uint64_t handle);

  /// As client::read().
  int read(lent_descriptor& file, uint64_t handle, void* to, size_t size, int64_t offset, size_t* done);

 private:
  std::shared_ptr<lent_descriptor> borrow(uint64_t handle);

  connection& connection_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<lent_descriptor>> files_;  // under mutex_; null: not lent
};

}  // namespace io_server
