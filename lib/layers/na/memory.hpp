// Memory handles: memory of this process, which may be registered, or of another process.
#pragma once

#include <na.h>

#include <mutex>
#include <vector>

#include "lci.hpp"
#include "lib/layers/na/transfer.hpp"

namespace na {

/// The implementation of na_mem_handle_t. Owned by the program. Its pieces do not change; register_with() and
/// deregister() take the lock. Thread-safe.
class memory {
 public:
  static constexpr uint64_t alive = 0x6e615f6d656d6f72;  // "na_memor"

  struct piece {
    uint64_t address = 0;  // in its process
    uint64_t size = 0;
    uint64_t start = 0;  // offset in the memory: sum of the sizes of the pieces before it
    lci::rmr_t rmr;      // key by which peers access it
    lci::mr_t mr;        // registration, if it is memory of this process and registered
  };

  /// Memory of this process. Throws lci::invalid_argument_error if a piece leaves the address space.
  memory(const na_segment* segments, size_t n, bool read_only);
  /// Memory of another process, from the bytes that its serialize() has written. Throws std::length_error if bytes are
  /// missing, std::domain_error if they are damaged.
  memory(const void* bytes, size_t size);
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  /// Idempotent, and so is deregister(). `owner`: mark_of() the identity of the class.
  void register_with(lci::runtime_t runtime, lci::device_t device, uint64_t owner);
  void deregister();
  bool registered() const;

  size_t serialized_size() const;
  void serialize(void* to) const;

  bool remote() const { return remote_; }
  bool read_only() const { return read_only_; }
  uint64_t size() const { return size_; }
  /// For memory of another process: mark_of() the identity of its class.
  uint64_t owner() const { return owner_; }
  /// Returns whether the range lies within the memory.
  bool has(uint64_t offset, uint64_t n) const { return offset <= size_ && n <= size_ - offset; }

  /// Splits a put or get of `n` bytes at the borders of the pieces of both memories. Both ranges must be valid.
  static void plan(const memory& local, uint64_t local_offset, const memory& remote, uint64_t remote_offset, uint64_t n,
                   transfer* to);

  uint64_t magic = alive;

 private:
  size_t piece_at(uint64_t offset) const;
  void add(uint64_t address, uint64_t size);
  void release_pieces();

  mutable std::mutex mutex_;  // guards registered_ and the registrations
  std::vector<piece> pieces_;
  uint64_t size_ = 0;
  uint64_t owner_ = 0;  // set by register_with(), or from the serialized form
  bool remote_ = false, read_only_ = false, registered_ = false;
  lci::runtime_t runtime_;  // where it is registered
};

}  // namespace na
