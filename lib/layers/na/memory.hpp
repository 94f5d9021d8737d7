// Handles of memory: the program's own, which may be registered, or another process's.
#pragma once

#include <na.h>

#include <mutex>
#include <vector>

#include "lci.hpp"
#include "lib/layers/na/transfer.hpp"

namespace na {

/// Owned by the program. Its pieces do not change; register_with() and deregister() take the lock.
class memory {
 public:
  static constexpr uint64_t alive = 0x6e615f6d656d6f72;  // "na_memor"

  struct piece {
    uint64_t address = 0;  // where it is in its process
    uint64_t size = 0;
    uint64_t start = 0;  // sum of the sizes of those before it
    lci::rmr_t rmr;      // what peers access it by
    lci::mr_t mr;        // of own memory while it is registered
  };

  /// Own memory. Throws lci::invalid_argument_error if a piece leaves the address space.
  memory(const na_segment* segments, size_t n, bool read_only);
  /// Another process's, of the bytes that serialize() has written there. Throws std::length_error if the bytes are cut,
  /// std::domain_error if they are damaged.
  memory(const void* bytes, size_t size);
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  /// Repeated, it has no effect. So has deregister().
  void register_with(lci::runtime_t runtime, lci::device_t device);
  void deregister();
  bool registered() const;

  size_t serialized_size() const;
  void serialize(void* to) const;

  bool remote() const { return remote_; }
  bool read_only() const { return read_only_; }
  uint64_t size() const { return size_; }
  /// Whether it has these bytes.
  bool has(uint64_t offset, uint64_t n) const { return offset <= size_ && n <= size_ - offset; }

  /// The pieces of a put or get of `n` bytes, which both have.
  static void plan(const memory& local, uint64_t local_offset, const memory& remote, uint64_t remote_offset, uint64_t n,
                   transfer* to);

  uint64_t magic = alive;

 private:
  size_t piece_at(uint64_t offset) const;
  void add(uint64_t address, uint64_t size);
  void release_pieces();

  mutable std::mutex mutex_;  // of registered_ and the registrations
  std::vector<piece> pieces_;
  uint64_t size_ = 0;
  bool remote_ = false, read_only_ = false, registered_ = false;
  lci::runtime_t runtime_;  // that it is registered with
};

}  // namespace na
