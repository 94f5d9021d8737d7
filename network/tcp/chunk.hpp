// Memory for bytes that wait: to be sent, or to become whole frames.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lib/concurrent/spinlock.hpp"
#include "network/tcp/frame.hpp"

namespace lci::network::sockets {

/// Bytes from `begin` to `end` are there. Belongs to one thread, or to what it is part of.
struct chunk {
  explicit chunk(size_t capacity);

  std::byte* data() const { return bytes.get() + begin; }
  std::byte* free_space() const { return bytes.get() + end; }
  size_t size() const { return end - begin; }
  size_t room() const { return capacity - end; }
  bool empty() const { return begin == end; }
  void clear() { begin = end = frame_begin; }
  /// Moves what is there to the front, and to the place of a frame's begin.
  void compact();

  struct release {
    void operator()(std::byte* p) const;
  };
  const size_t capacity;
  std::unique_ptr<std::byte[], release> bytes;
  size_t begin = frame_begin, end = frame_begin;
};

/// Chunks of one size, for all connections of a device: one that nothing waits at has none. Thread-safe.
class chunk_pool {
 public:
  explicit chunk_pool(size_t capacity) : capacity_(capacity) {}
  /// An empty one. Throws bad_alloc.
  std::unique_ptr<chunk> take();
  void give(std::unique_ptr<chunk> c);
  size_t capacity() const { return capacity_; }

 private:
  const size_t capacity_;
  spinlock lock_;
  std::vector<std::unique_ptr<chunk>> spare_;  // under lock_
};

}  // namespace lci::network::sockets
