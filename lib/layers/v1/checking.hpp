// Checks of the arguments of LCI v1.7's functions. Most of them are made only in the checking mode (LCI_V1_CHECK=1). A
// check throws invalid_argument_error before the function has had any effect; the function reports the error.
// Thread-safe.
#pragma once

#include <lci.h>

#include <cstddef>

#include "lib/layers/v1/comp.hpp"

namespace v1 {

/// Record that an object has been created, or that it will be freed now. No effect without the checking mode.
void record_created(LCI_device_t device);
void record_created(LCI_endpoint_t endpoint);
void record_created(LCI_plist_t plist);
void record_created(LCI_segment_t segment);
void record_created(LCIX_collective_t collective);
void record_freed(LCI_device_t device);
void record_freed(LCI_endpoint_t endpoint);
void record_freed(LCI_plist_t plist);
void record_freed(LCI_segment_t segment);
void record_freed(LCIX_collective_t collective);
/// Record memory that the library allocates for the program, or gets back. It may be null.
void record_allocated(const void* memory);
void record_returned(const void* memory);

// These checks are made in every mode, by functions that are called rarely. Functions of the message path call those of
// endpoints, buffers and results in the checking mode only.
void check_device_to_free(const LCI_device_t* device);
void check_endpoint_to_free(const LCI_endpoint_t* endpoint);
void check_plist(LCI_plist_t plist);
void check_endpoint(LCI_endpoint_t endpoint);
void check_endpoint_to_make(const LCI_endpoint_t* endpoint, LCI_device_t device, LCI_plist_t plist);
void check_comp_to_make(LCI_device_t device, const LCI_comp_t* out);
void check_buffer_call(LCI_device_t device, const void* out);
void check_result(const char* name, const void* out);
/// Throws an error which says that `handle` names an object of this kind, where `wanted` is needed, and that the
/// function `maker` creates such an object.
[[noreturn, gnu::cold]] void throw_wrong_kind(const void* handle, comp::kind kind, const char* wanted,
                                              const char* maker);

// These checks are made in the checking mode only.
void check_segment(LCI_segment_t segment);
void check_collective(LCIX_collective_t collective);
void check_comp_to_free(LCI_comp_t comp);
void check_default_comp(LCI_comp_t comp);
/// For a medium buffer that the program gives to the library: a packet, or ordinary memory in place of one.
void check_medium_to_give(const void* address);
void check_memory_to_free(const void* address);
void check_post(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag);
void check_receive(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag);
void check_medium(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_mbuffer_t& buffer);
/// `remote`: memory of the target.
void check_placed(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_mbuffer_t& buffer,
                  const LCI_mbuffer_t& remote);
void check_long(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_lbuffer_t& buffer);
void check_long_receive(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_lbuffer_t& buffer);
void check_vector_receive(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_iovec_t& iovec);
void check_vector(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_iovec_t& iovec);

/// Exists during a call of LCI_progress(). The constructor throws if another thread is in that function for the device.
class checked_progress {
 public:
  explicit checked_progress(LCI_device_t device);
  ~checked_progress();
  checked_progress(const checked_progress&) = delete;
  checked_progress& operator=(const checked_progress&) = delete;

 private:
  const LCI_device_t device_;
};

}  // namespace v1
