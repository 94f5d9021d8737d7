#include "lib/layers/v1/checking.hpp"

#include <cstdarg>
#include <cstdio>

#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

namespace {

using handle_kind = handle_table::kind;

void add_handle(const void* p, handle_kind what) {
  if (detail::checks && detail::current != nullptr) detail::current->handles.add(p, what);
}
void remove_handle(const void* p) {
  if (detail::checks && detail::current != nullptr) detail::current->handles.remove(p);
}

[[noreturn, gnu::format(printf, 1, 2)]] void misuse(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw lci::invalid_argument_error(text);
}

void require(const char* name, const void* p, handle_kind what, const char* kind, const char* maker) {
  if (p == nullptr) misuse("%s is NULL, but must be %s: %s() makes one", name, kind, maker);
  if (!checking()) return;
  const handle_table::state now = the_world().handles.find(p, what);
  if (now == handle_table::state::live) return;
  if (now == handle_table::state::freed) misuse("%s = %p is %s that was freed: do not use it any more", name, p, kind);
  misuse("%s = %p is not %s: pass what %s() has made", name, p, kind, maker);
}

void require_device(LCI_device_t device) {
  require("device", device, handle_kind::device, "a device", "LCI_device_init");
}

void require_buffer(const char* name, const void* address, size_t length) {
  if (address == nullptr && length > 0)
    misuse("%s.address is NULL, but must be that of %zu bytes: pass a buffer, or length 0", name, length);
}

void require_registered(const char* name, const LCI_endpoint_s& ep, const LCI_lbuffer_t& b) {
  if (b.segment == nullptr || b.length == 0) return;
  require("segment", b.segment, handle_kind::segment, "a segment", "LCI_memory_register");
  if (b.segment->mr.is_empty())
    misuse(
        "%s.segment = %p is memory of another rank (LCI_segment_deserialize): pass one of LCI_memory_register(), or "
        "LCI_SEGMENT_ALL",
        name, static_cast<void*>(b.segment));
  if (b.segment->device != ep.device)
    misuse(
        "%s.segment = %p is registered with another device than the endpoint's: register the memory with that, or "
        "pass LCI_SEGMENT_ALL",
        name, static_cast<void*>(b.segment));
  const auto from = reinterpret_cast<uintptr_t>(b.address);
  const lci::rmr_t& r = b.segment->rmr;
  if (from < r.base || from - r.base > r.size() || b.length > r.size() - (from - r.base))
    misuse(
        "%s has %zu bytes at %p, which are not all in its segment of %llu bytes at %p: register more, or pass "
        "LCI_SEGMENT_ALL",
        name, b.length, b.address, static_cast<unsigned long long>(r.size()), reinterpret_cast<void*>(r.base));
}

}  // namespace

void record_created(LCI_device_t device) { add_handle(device, handle_kind::device); }
void record_created(LCI_endpoint_t endpoint) { add_handle(endpoint, handle_kind::endpoint); }
void record_created(LCI_plist_t plist) { add_handle(plist, handle_kind::plist); }
void record_created(LCI_segment_t segment) { add_handle(segment, handle_kind::segment); }
void record_created(LCIX_collective_t collective) { add_handle(collective, handle_kind::collective); }
void record_freed(LCI_device_t device) { remove_handle(device); }
void record_freed(LCI_endpoint_t endpoint) { remove_handle(endpoint); }
void record_freed(LCI_plist_t plist) { remove_handle(plist); }
void record_freed(LCI_segment_t segment) { remove_handle(segment); }
void record_freed(LCIX_collective_t collective) { remove_handle(collective); }
void record_allocated(const void* memory) {
  if (memory != nullptr) add_handle(memory, handle_kind::memory);
}
void record_returned(const void* memory) { remove_handle(memory); }

void check_device_to_free(const LCI_device_t* device) {
  (void)the_world();
  if (device == nullptr) misuse("device is NULL, but must be the address of a device's handle");
  require_device(*device);
  if (*device == LCI_UR_DEVICE) misuse("device is LCI_UR_DEVICE: LCI_finalize() frees it");
}

void check_endpoint_to_free(const LCI_endpoint_t* endpoint) {
  (void)the_world();
  if (endpoint == nullptr) misuse("endpoint is NULL, but must be the address of an endpoint's handle");
  check_endpoint(*endpoint);
  if (*endpoint == LCI_UR_ENDPOINT) misuse("endpoint is LCI_UR_ENDPOINT: LCI_finalize() frees it");
  if (!checking()) return;
  if ((*endpoint)->issued.has_any())
    misuse("endpoint = %p has communication that is not complete: call LCI_fence_wait() first",
           static_cast<void*>(*endpoint));
  const int receives = (*endpoint)->checked_receives.load(std::memory_order_relaxed);
  if (receives > 0)
    misuse("endpoint = %p has %d receives that no message has matched: wait for their completion first",
           static_cast<void*>(*endpoint), receives);
}

void check_plist(LCI_plist_t plist) {
  require("plist", plist, handle_kind::plist, "a property list", "LCI_plist_create");
}

void throw_wrong_kind(const void* handle, comp::kind kind, const char* wanted, const char* maker) {
  const char* is = "";
  switch (kind) {
    case comp::kind::none:
      misuse("the handle is NULL, but must be %s: %s() makes one", wanted, maker);
    case comp::kind::queue:
      is = "a queue";
      break;
    case comp::kind::sync:
      is = "a synchronizer";
      break;
    case comp::kind::handler:
      is = "a handler";
      break;
    case comp::kind::freed:
      is = "a completion object that was freed, or none at all";
      break;
  }
  misuse("%p is %s, but must be %s: %s() makes one", handle, is, wanted, maker);
}

void check_endpoint(LCI_endpoint_t endpoint) {
  require("ep", endpoint, handle_kind::endpoint, "an endpoint", "LCI_endpoint_init");
}

void check_endpoint_to_make(const LCI_endpoint_t* endpoint, LCI_device_t device, LCI_plist_t plist) {
  (void)the_world();
  if (endpoint == nullptr) misuse("ep_ptr is NULL, but must be the address of a handle");
  require_device(device);
  if (!checking()) return;
  check_plist(plist);
  const comp& c = the_world().comps.find(plist->default_comp);
  const bool fits = (plist->message == LCI_COMPLETION_QUEUE && c.what == comp::kind::queue) ||
                    (plist->message == LCI_COMPLETION_HANDLER && c.what == comp::kind::handler) ||
                    (plist->message == LCI_COMPLETION_SYNC && c.what == comp::kind::sync);
  // The list's own default, LCI_UR_CQ, is for programs that never put to this endpoint.
  if (plist->message != LCI_COMPLETION_NONE && !fits && plist->default_comp != LCI_UR_CQ)
    misuse(
        "plist has a default completion object of another kind than its message port: call "
        "LCI_plist_set_comp_type() with LCI_PORT_MESSAGE and the kind of the object");
}

void check_comp_to_make(LCI_device_t device, const LCI_comp_t* out) {
  (void)the_world();
  if (out == nullptr) misuse("the result's address is NULL, but must be that of an LCI_comp_t");
  if (device != nullptr) require_device(device);
}

void check_buffer_call(LCI_device_t device, const void* out) {
  (void)the_world();
  if (out == nullptr) misuse("the result's address is NULL, but must not be");
  require_device(device);
}

void check_result(const char* name, const void* out) {
  if (out == nullptr) misuse("%s is NULL, but must be the address of one", name);
}

void check_segment(LCI_segment_t segment) {
  require("segment", segment, handle_kind::segment, "a segment", "LCI_memory_register");
}

void check_collective(LCIX_collective_t collective) {
  require("*collective", collective, handle_kind::collective, "a collective operation", "LCIX_barrier");
}

void check_comp_to_free(LCI_comp_t comp) {
  if (comp != nullptr && comp == LCI_UR_CQ) misuse("cq is LCI_UR_CQ: LCI_finalize() frees it");
}

void check_default_comp(LCI_comp_t comp) {
  const v1::comp::kind is = the_world().comps.find(comp).what;
  if (is == v1::comp::kind::freed) throw_wrong_kind(comp, is, "a completion object", "LCI_queue_create");
}

void check_medium_to_give(const void* address) {
  if (address == nullptr || is_packet(address)) return;
  require("buffer.address", address, handle_kind::memory, "a medium buffer of the library", "LCI_mbuffer_alloc");
}

void check_memory_to_free(const void* address) {
  if (address == nullptr) return;
  require("lbuffer.address", address, handle_kind::memory, "a long buffer of the library", "LCI_lbuffer_alloc");
}

void check_post(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag) {
  check_endpoint(endpoint);
  if (rank < 0 || rank >= LCI_NUM_PROCESSES) misuse("rank = %d, but must be 0 to %d", rank, LCI_NUM_PROCESSES - 1);
  if (tag > max_tag) misuse("tag = %u, but must be at most LCI_MAX_TAG = %d", tag, LCI_MAX_TAG);
}

void check_receive(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag) {
  check_endpoint(endpoint);
  const bool any = endpoint->policy == lci::matching_policy_t::tag_only;
  check_post(endpoint, any ? 0 : rank, tag);
}

void check_medium(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_mbuffer_t& buffer) {
  check_post(endpoint, rank, tag);
  require_buffer("buffer", buffer.address, buffer.length);
}

void check_placed(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_mbuffer_t& buffer,
                  const LCI_mbuffer_t& remote) {
  check_medium(endpoint, rank, tag, buffer);
  require_buffer("remote", remote.address, remote.length);
}

void check_long(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_lbuffer_t& buffer) {
  check_post(endpoint, rank, tag);
  require_buffer("buffer", buffer.address, buffer.length);
  require_registered("buffer", *endpoint, buffer);
}

void check_long_receive(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_lbuffer_t& buffer) {
  check_receive(endpoint, rank, tag);
  if (buffer.address != nullptr) require_registered("buffer", *endpoint, buffer);
}

void check_vector_receive(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_iovec_t& iovec) {
  check_receive(endpoint, rank, tag);
  if (iovec.lbuffers == nullptr) return;
  if (iovec.count < 0 || iovec.count > LCI_IOVEC_SIZE)
    misuse("iovec.count = %d, but must be 0 to LCI_IOVEC_SIZE = %d", iovec.count, LCI_IOVEC_SIZE);
  require_buffer("iovec.piggy_back", iovec.piggy_back.address, iovec.piggy_back.length);
  for (int i = 0; i < iovec.count; ++i) {
    require_buffer("iovec.lbuffers[]", iovec.lbuffers[i].address, iovec.lbuffers[i].length);
    require_registered("iovec.lbuffers[]", *endpoint, iovec.lbuffers[i]);
  }
}

void check_vector(LCI_endpoint_t endpoint, int rank, LCI_tag_t tag, const LCI_iovec_t& iovec) {
  check_post(endpoint, rank, tag);
  require_buffer("iovec.piggy_back", iovec.piggy_back.address, iovec.piggy_back.length);
  if (iovec.count > 0 && iovec.lbuffers == nullptr) misuse("iovec.lbuffers is NULL, but iovec.count = %d", iovec.count);
  for (int i = 0; i < iovec.count; ++i) {
    require_buffer("iovec.lbuffers[]", iovec.lbuffers[i].address, iovec.lbuffers[i].length);
    require_registered("iovec.lbuffers[]", *endpoint, iovec.lbuffers[i]);
  }
}

checked_progress::checked_progress(LCI_device_t device) : device_(device) {
  require_device(device);
  if (device->in_progress.fetch_add(1, std::memory_order_relaxed) != 0) {
    device->in_progress.fetch_sub(1, std::memory_order_relaxed);
    misuse(
        "device = %p: two threads make progress on it at once, or a handler does: let one thread at a time call "
        "LCI_progress() for a device, and none inside a handler",
        static_cast<void*>(device));
  }
}

checked_progress::~checked_progress() { device_->in_progress.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace v1
