// Fetching of arguments that do not fit in a request, from the caller's memory. For HG and for lci/rpc.hpp.
#pragma once

#include <mercury_types.h>
#include <na.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mercury {

/// The get of one call's arguments. Owned by the call, which also owns the buffer. Used by one thread at a time: the
/// one that starts it, then the one that runs NA's callback.
///
/// Invariant: from start() to the end of the callback, `operations` counts the get.
class argument_fetch {
 public:
  /// `operations`: the owner's count of operations of the network whose callbacks have not run.
  explicit argument_fetch(std::atomic<uint32_t>& operations) : operations_(operations) {}

  /// Reads the payload of the request: the size of the arguments, their checksum and the caller's serialized memory
  /// handle. HG_PROTOCOL_ERROR if it is damaged.
  hg_return_t open(na_class_t* na, const char* payload, size_t size);
  /// Bytes of the arguments. After open().
  size_t arguments() const { return size_; }
  /// Starts to get the arguments into `buffer`; NA then calls `callback`.
  hg_return_t start(na_class_t* na, na_context_t* context, void* buffer, na_addr_t source, na_cb_t callback, void* arg);
  /// To be called first in the callback: the result of the get, after the checksum has been verified.
  hg_return_t result(const na_cb_info* info) const;
  /// Frees NA's handles.
  void free(na_class_t* na) {
    if (__builtin_expect(local_ != NA_MEM_HANDLE_NULL, 0)) NA_Mem_handle_free(na, local_);
    if (__builtin_expect(remote_ != NA_MEM_HANDLE_NULL, 0)) NA_Mem_handle_free(na, remote_);
    local_ = remote_ = NA_MEM_HANDLE_NULL;
  }

 private:
  std::atomic<uint32_t>& operations_;
  const void* buffer_ = nullptr;
  size_t size_ = 0;
  uint32_t check_ = 0;
  na_mem_handle_t local_ = NA_MEM_HANDLE_NULL;
  na_mem_handle_t remote_ = NA_MEM_HANDLE_NULL;
};

}  // namespace mercury
