// Large reads on the server's host: the client reads a part of each itself, through the server's descriptor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "../descriptor.hpp"
#include "connection.hpp"
#include "staging.hpp"

namespace io_server {

/// Owns this process's copy of the descriptor through which the server reads a file; the file is open for reading only.
/// The server's descriptor is open until the client closes the file. Thread-safe.
class lent_descriptor {
 public:
  explicit lent_descriptor(descriptor fd);
  ~lent_descriptor();
  lent_descriptor(const lent_descriptor&) = delete;
  lent_descriptor& operator=(const lent_descriptor&) = delete;
  int get() const { return fd_.get(); }

  /// The part of a read, from 0 to 1, to ask the server for, so that server and client end at the same time. Computed
  /// from the measured times of both; a third before there are any.
  float share() const;
  void note_own(size_t size, std::chrono::nanoseconds time);
  void note_server(size_t size, std::chrono::nanoseconds time);

  /// Returns whether a lent_descriptor of this process has this number. Programs that close all descriptors must not
  /// close it.
  static bool is_one(int fd);
  /// Closes all, in a forked child. They must not be used any more.
  static void close_all();

 private:
  const descriptor fd_;
  std::atomic<float> own_{0}, server_{0};  // nanoseconds for a byte, means
};

/// The descriptors that the server has lent for a connection's files, and the reads that use them. A read asks the
/// server for a part of the data, and the client meanwhile reads the rest from the file itself: two processors copy.
/// Client and server read through the same kernel, so a read returns what was written before it. Thread-safe.
class lent_files {
 public:
  /// The client reads so many bytes of the file, then checks whether the server has replied. They fit in a processor's
  /// second-level cache.
  static constexpr size_t piece = size_t{32} << 10;
  /// Smaller reads are left to the server: with fewer pieces the parts could not follow the measured times.
  static constexpr size_t least = 6 * piece;

  explicit lent_files(connection& c) : connection_(c) {}

  /// Returns the descriptor of a file; null if the server is on another host, does not lend, or has the file open for
  /// writing.
  std::shared_ptr<lent_descriptor> of(uint64_t handle, staging& near);
  /// A copy of the server's descriptor of a file that is open for reading, and perhaps writing, to map it. None if the
  /// server is on another host or does not lend. The caller closes it before the next call for the file.
  descriptor to_map(uint64_t handle, int access, staging& near);
  /// Must be called before the file is closed: the server gives its number to another file.
  void give_back(uint64_t handle);

  /// As client::read().
  int read(lent_descriptor& file, uint64_t handle, void* to, size_t size, int64_t offset, size_t* done);

 private:
  descriptor take_copy(uint64_t handle, int access, bool to_map);
  std::shared_ptr<lent_descriptor> borrow(uint64_t handle);

  connection& connection_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<lent_descriptor>> files_;  // under mutex_; null: not lent
};

}  // namespace io_server
