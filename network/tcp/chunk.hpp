// Buffers for bytes waiting to be sent, or to become complete frames.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lib/concurrent/spinlock.hpp"
#include "network/tcp/frame.hpp"

namespace lci::network::sockets {

/// Holds the bytes from `begin` to `end`. Not thread-safe: owned by one thread, or by a structure with a lock.
struct chunk {
  explicit chunk(size_t capacity);

  std::byte* data() const { return bytes.get() + begin; }
  std::byte* free_space() const { return bytes.get() + end; }
  size_t size() const { return end - begin; }
  size_t room() const { return capacity - end; }
  bool empty() const { return begin == end; }
  void clear() { begin = end = frame_begin; }
  /// Moves the bytes to the front, aligned as a frame.
  void compact();

  struct release {
    void operator()(std::byte* p) const;
  };
  const size_t capacity;
  std::unique_ptr<std::byte[], release> bytes;
  size_t begin = frame_begin, end = frame_begin;
};

/// Chunks of one size, shared by all connections of a device; an idle connection has none. Thread-safe.
class chunk_pool {
 public:
  explicit chunk_pool(size_t capacity);
  /// Returns an empty chunk. Throws bad_alloc.
  std::unique_ptr<chunk> take();
  void give(std::unique_ptr<chunk> c) noexcept;
  size_t capacity() const { return capacity_; }

 private:
  const size_t capacity_;
  spinlock lock_;
  std::vector<std::unique_ptr<chunk>> spare_;  // under lock_
};

}  // namespace lci::network::sockets
