// The memory that bulks refer to.
#pragma once

#include <na.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lci/rpc.hpp"
#include "lib/layers/mercury/bulk_wire.hpp"

namespace lci::rpc::detail {

/// Owns a memory handle of NA.
class na_memory {
 public:
  na_memory(na_class_t* na, na_mem_handle_t handle) : na_(na), handle_(handle) {}
  ~na_memory() { free(); }
  na_memory(na_memory&& o) noexcept : na_(o.na_), handle_(std::exchange(o.handle_, NA_MEM_HANDLE_NULL)) {}
  na_memory& operator=(na_memory&&) = delete;

  void free() {
    if (handle_ != NA_MEM_HANDLE_NULL) NA_Mem_handle_free(na_, handle_);
    handle_ = NA_MEM_HANDLE_NULL;
  }
  na_mem_handle_t get() const { return handle_; }

 private:
  na_class_t* const na_;
  na_mem_handle_t handle_;
};

/// Memory of this process in segments, or a description of another process's memory; each with its handle of NA. Shared
/// by the bulks and transfers that refer to it. Thread-safe.
class region {
 public:
  // The caller of a constructor has entered the engine, so that the engine does not close meanwhile.
  /// Memory of this process. Throws lci::invalid_argument_error if a segment leaves the address space, std::bad_alloc
  /// without memory for the description.
  region(std::shared_ptr<engine_core> e, std::vector<na_segment> segments, access a);
  /// `size` bytes of another process's memory.
  region(std::shared_ptr<engine_core> e, na_memory memory, const mercury::bulk_header& h, size_t size, na_addr_t owner);
  /// Creates a region of this process and adds it to the engine's table, where bulks that return from peers find it.
  static std::shared_ptr<region> make_local(std::shared_ptr<engine_core> e, std::vector<na_segment> segments, access a);
  ~region();
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Frees NA's handle, as the engine closes.
  void close();

  bool is_local() const { return owner_ == NA_ADDR_NULL; }
  size_t size() const { return size_; }
  access may() const { return access_; }
  na_mem_handle_t memory() const { return memory_.get(); }
  na_addr_t owner() const { return owner_; }
  const std::vector<na_segment>& segments() const { return segments_; }
  engine_core& engine() const { return *engine_; }
  const std::shared_ptr<engine_core>& shared_engine() const { return engine_; }

  /// Registers the memory and appends the serialized form of a range, which peers can use from then on. Throws
  /// memory_error if NA can't register or describe the memory.
  void write(writer& w, size_t offset, size_t size);

 private:
  size_t prepare();

  const std::shared_ptr<engine_core> engine_;
  const std::vector<na_segment> segments_;  // empty if remote
  size_t size_ = 0;
  const size_t segment_count_;
  const access access_;
  const na_addr_t owner_;  // null: this process
  uint64_t process_ = 0;
  uint64_t id_ = 0;
  na_memory memory_;
  std::mutex lock_;  // guards the members below
  bool is_registered_ = false;
};

}  // namespace lci::rpc::detail
