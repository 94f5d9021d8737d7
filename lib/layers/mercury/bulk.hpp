// Bulk handles, i.e. memory that peers read and write, and transfers between them.
#pragma once

#include <mercury_bulk.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "lib/layers/mercury/bulk_wire.hpp"
#include "lib/layers/mercury/lane.hpp"
#include "lib/layers/mercury/misuse.hpp"
#include "lib/layers/mercury/pool.hpp"

namespace mercury {

class bulk_runtime;

/// The implementation of hg_bulk_t: memory of this process in segments, or a description of another process's memory.
/// Reference-counted: each handle of the program is a reference. Thread-safe, except that no other thread may use the
/// handle while the last reference is released.
class bulk : public object<0x6d75626b> {
 public:
  /// Memory of this process. `owned`: memory that HG has allocated for the handle, or null.
  bulk(bulk_runtime& r, std::vector<na_segment> segments, unsigned long flags, std::unique_ptr<char[]> owned);
  /// A range of another process's memory that begins at `base`. Takes ownership of NA's handle.
  bulk(bulk_runtime& r, na_mem_handle_t memory, const bulk_header& h, uint64_t base);
  ~bulk();

  bool is_local() const { return !segments_.empty(); }
  uint64_t size() const { return size_; }
  uint64_t segment_count() const { return segment_count_; }
  unsigned long flags() const { return flags_; }
  bool is_range() const { return is_range_; }
  /// Offset of the range in the memory that NA's handle describes.
  uint64_t base() const { return base_; }
  bulk_header header() const;
  uint64_t id() const { return id_; }
  na_mem_handle_t memory() const { return memory_; }
  const std::vector<na_segment>& segments() const { return segments_; }

  /// Registers memory of this process with NA, so that peers can access it. No effect for memory of another process.
  hg_return_t expose();

  void ref() { refs_.fetch_add(1, std::memory_order_relaxed); }
  /// Takes a reference. Returns false if the last one has been released.
  bool ref_if_alive();
  void unref();

  bulk_runtime& owner;  // a handle of another process's memory may exist longer

 private:
  na_class_t* const na_;
  const std::vector<na_segment> segments_;  // empty if remote
  const std::unique_ptr<char[]> owned_;
  uint64_t size_ = 0;
  const uint64_t segment_count_;
  const unsigned long flags_;
  const bool is_range_ = false;
  const uint64_t base_ = 0;
  uint64_t process_ = 0;  // as in bulk_header
  uint64_t id_ = 0;       // as in bulk_header
  na_mem_handle_t memory_ = NA_MEM_HANDLE_NULL;
  std::mutex lock_;  // guards is_exposed_
  bool is_exposed_ = false;
  std::atomic<uint32_t> refs_{1};
};

/// An outstanding transfer, the implementation of hg_bulk_request_t. Owned by the pool of its runtime.
class transfer : public object<0x6d757472> {
 public:
  transfer() { set_alive(false); }
  void begin() {
    result.store(HG_SUCCESS, std::memory_order_relaxed);
    done.store(false, std::memory_order_relaxed);
    set_alive(true);
  }
  void end() { set_alive(false); }
  /// Takes references, so that the program may free its handles before the network has accessed the memory.
  void keep(bulk* origin, bulk* local) {
    origin->ref();
    local->ref();
    origin_ = origin;
    local_ = local;
  }
  /// Releases the references of keep(). To be called before `done` is set.
  void release() {
    origin_->unref();
    local_->unref();
  }

  std::atomic<hg_return_t> result{HG_SUCCESS};
  std::atomic<bool> done{false};  // written by the network's callback with release, after the result

 private:
  bulk* origin_ = nullptr;
  bulk* local_ = nullptr;
};

/// The state between HG_Bulk_init() and HG_Bulk_finalize(). One for each process, owned by `the_state`. Thread-safe.
class bulk_runtime {
 public:
  explicit bulk_runtime(std::shared_ptr<lane> n);

  uint64_t add(bulk* b);
  void remove(bulk* b);
  /// Takes a reference to a handle of this process; null if it has been freed.
  bulk* find(uint64_t id);
  size_t handles() const;

  const std::shared_ptr<lane> network;
  const uint64_t process;  // random; identifies this process in serialized handles
  pool<transfer> transfers;

 private:
  mutable std::mutex lock_;
  std::unordered_map<uint64_t, bulk*> local_;
  uint64_t next_id_ = 1;
};

/// The state. Prints a line and returns null if HG_Bulk_init() has not been called.
bulk_runtime* current_bulk(const char* function);

}  // namespace mercury
