// The checking mode (LCI_V1_CHECK=1): inspects arguments before anything is done. Each check throws
// invalid_argument_error, which the function that was called reports.
#pragma once

#include <lci.h>

#include <cstddef>

#include "lib/layers/v1/comp.hpp"

namespace v1 {

/// Remember an object that was created, or that it was freed. Without the mode they do nothing.
void know(LCI_device_t device);
void know(LCI_endpoint_t endpoint);
void know(LCI_plist_t plist);
void know(LCI_segment_t segment);
void forget(LCI_device_t device);
void forget(LCI_endpoint_t endpoint);
void forget(LCI_plist_t plist);
void forget(LCI_segment_t segment);

// Also without the mode: functions that are called rarely.
void check_device_to_free(const LCI_device_t* device);
void check_endpoint_to_free(const LCI_endpoint_t* endpoint);
void check_plist(LCI_plist_t plist);
/// For a handle that is none of the kind that the function takes.
[[noreturn, gnu::cold]] void throw_wrong_kind(const void* handle, comp::kind kind, const char* wanted,
                                              const char* maker);

// In the mode.
void check_endpoint(LCI_endpoint_t endpoint);
void check_endpoint_to_make(const LCI_endpoint_t* endpoint, LCI_device_t device, LCI_plist_t plist);
void check_comp_to_make(LCI_device_t device, const LCI_comp_t* out);
void check_buffer_call(LCI_device_t device, const void* out);
void check_result(const char* name, const void* out);
void check_segment(LCI_segment_t segment);
void check_post(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag);
void check_receive(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag);
void check_medium(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_mbuffer_t& buffer);
void check_long(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_lbuffer_t& buffer);
void check_long_receive(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_lbuffer_t& buffer);
void check_vector(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_iovec_t& iovec);

/// A call of LCI_progress(): throws if another thread is in one for the same device.
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
