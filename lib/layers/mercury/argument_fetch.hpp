// Fetching of arguments that do not fit in a request, from the caller's memory. For HG and for lci/rpc.hpp.
#pragma once

#include <mercury_types.h>
#include <na.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>

namespace mercury {

/// Bytes of arguments that calls of each peer have made this process fetch, and that are not freed. Thread-safe.
class fetch_budget {
 public:
  /// `most`: of one peer.
  explicit fetch_budget(uint64_t most) : most_(most) {}
  /// HG_SIZE_ERROR if no call of a peer may have so many bytes; HG_NOMEM_ERROR if this one must not now.
  hg_return_t take(na_addr_t source, uint64_t bytes);
  void give_back(na_addr_t source, uint64_t bytes);

 private:
  const uint64_t most_;
  std::mutex lock_;
  std::map<na_addr_t, uint64_t> used_;  // under lock_
};

/// The get of one call's arguments. Owned by the call, which also owns the buffer. Used by one thread at a time: the
/// one that starts it, then the one that runs NA's callback.
///
/// Invariants: from start() to the end of the callback, `operations` counts the get. From open() to free(), the budget
/// counts the arguments.
class argument_fetch {
 public:
  /// `operations`: the owner's count of operations of the network whose callbacks have not run.
  argument_fetch(std::atomic<uint32_t>& operations, fetch_budget& budget) : operations_(operations), budget_(budget) {}

  /// Reads the payload of the source's request: the size of the arguments, their checksum and the caller's serialized
  /// memory handle. Returns HG_PROTOCOL_ERROR if it is damaged, or what fetch_budget::take() returns.
  hg_return_t open(na_class_t* na, na_addr_t source, const char* payload, size_t size);
  /// Bytes of the arguments. After open().
  size_t arguments() const { return size_; }
  /// Starts to get the arguments into `buffer`; NA then calls `callback`.
  hg_return_t start(na_class_t* na, na_context_t* context, void* buffer, na_cb_t callback, void* arg);
  /// To be called first in the callback: the result of the get, after the checksum has been verified.
  hg_return_t result(const na_cb_info* info) const;
  /// Frees NA's handles. The owner frees the buffer before.
  void free(na_class_t* na) {
    if (__builtin_expect(remote_ != NA_MEM_HANDLE_NULL, 0)) free_handles(na);
  }

 private:
  void free_handles(na_class_t* na);

  std::atomic<uint32_t>& operations_;
  fetch_budget& budget_;
  na_addr_t source_ = NA_ADDR_NULL;
  const void* buffer_ = nullptr;
  size_t size_ = 0;
  uint32_t check_ = 0;
  na_mem_handle_t local_ = NA_MEM_HANDLE_NULL;
  na_mem_handle_t remote_ = NA_MEM_HANDLE_NULL;
};

}  // namespace mercury
