// Long puts to and gets from registered memory of a peer, and fences.
#include <lci.h>

#include <thread>

#include "lib/layers/v1/agreement.hpp"
#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/messages.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/rma.hpp"
#include "lib/layers/v1/wait.hpp"

using namespace v1;

remote_range v1::range_of(const LCI_lbuffer_t& remote) {
  if (LCI_UNLIKELY(remote.segment == nullptr))
    throw lci::invalid_argument_error(
        "the remote buffer's segment is LCI_SEGMENT_ALL, but a peer's memory must be registered there: pass what "
        "LCI_segment_deserialize() makes of the peer's registration");
  const lci::rmr_t& key = remote.segment->rmr;
  const auto address = reinterpret_cast<uintptr_t>(remote.address);
  if (LCI_UNLIKELY(address < key.base || address - key.base > key.size() ||
                   remote.length > key.size() - (address - key.base)))
    throw lci::invalid_argument_error("the remote buffer has " + std::to_string(remote.length) + " bytes at address " +
                                      std::to_string(address) + ", but its segment has " + std::to_string(key.size()) +
                                      " at " + std::to_string(key.base));
  return {key, address - key.base};
}

lci::rcomp_t v1::notified(const LCI_endpoint_s& ep, uintptr_t remote_completion) {
  if (remote_completion == LCI_NO_COMP_REMOTE) return 0;
  return remote_completion == LCI_DEFAULT_COMP_REMOTE ? ep.in_place : remote_handle(remote_completion);
}

namespace {

/// Posts a transfer between `local` and `remote`. `make` returns the core's put or get, which lacks only its options.
template <class Make>
LCI_ALWAYS_INLINE inline LCI_error_t post_transfer(LCI_endpoint_t ep, const LCI_lbuffer_t& local,
                                                   LCI_comp_t local_completion, int rank, LCI_tag_t tag,
                                                   const LCI_lbuffer_t& remote, uintptr_t remote_completion,
                                                   void* user_context, const Make& make) {
  const remote_range there = range_of(remote);
  const lci::rcomp_t notify = notified(*ep, remote_completion);
  const lci::tag_t core_tag = arrival_tag(*ep, arrival::signal, tag);
  record* r = take_record(ep, notify != 0 ? record::role::notifying : record::role::issued,
                          completion_of(local_completion), rank, tag, user_context);
  r->request.type = LCI_LONG;
  r->request.data.lbuffer = local;
  const unsigned id = ep->id;  // read now: a handler may free the endpoint within the post
  const LCI_error_t code = post_issued(r, [&] {
    return make(lci::comp_t(r), there)
        .device(ep->core)
        .mr(registration_of(local.segment))
        .remote_comp(notify)
        .tag(core_tag)();
  });
  if (code == LCI_OK && notify != 0) count_sent(id);
  return code;
}

}  // namespace

LCI_error_t LCI_putl(LCI_endpoint_t ep, LCI_lbuffer_t local, LCI_comp_t local_completion, int rank, LCI_tag_t tag,
                     LCI_lbuffer_t remote, uintptr_t remote_completion, void* user_context) {
  return guarded("LCI_putl", [&] {
    if (checking()) check_long(ep, rank, tag, local);
    if (remote.length < local.length)
      throw lci::invalid_argument_error("remote.length = " + std::to_string(remote.length) +
                                        ", but must be at least local.length = " + std::to_string(local.length));
    return post_transfer(ep, local, local_completion, rank, tag, remote, remote_completion, user_context,
                         [&](lci::comp_t done, const remote_range& there) {
                           return lci::post_put_x(rank, local.address, local.length, done, there.offset, there.key);
                         });
  });
}

LCI_error_t LCI_getl(LCI_endpoint_t ep, LCI_lbuffer_t* local, size_t length, LCI_comp_t local_completion, int rank,
                     LCI_tag_t tag, LCI_lbuffer_t remote, uintptr_t remote_completion, void* user_context) {
  return guarded("LCI_getl", [&] {
    if (local == nullptr) return fail("LCI_getl", "local_buffer is NULL, but must be the address of a buffer");
    if (checking()) check_long(ep, rank, tag, *local);
    if (length > remote.length || length > local->length)
      throw lci::invalid_argument_error("length = " + std::to_string(length) + ", but the local buffer has " +
                                        std::to_string(local->length) + " bytes and the remote one " +
                                        std::to_string(remote.length));
    const LCI_lbuffer_t into{local->segment, local->address, length};
    return post_transfer(ep, into, local_completion, rank, tag, remote, remote_completion, user_context,
                         [&](lci::comp_t done, const remote_range& there) {
                           return lci::post_get_x(rank, into.address, length, done, there.offset, there.key);
                         });
  });
}

namespace {

void wait_for_issued(LCI_endpoint_s& ep) {
  issued_operations::fence fence(ep.issued);
  wait_until(
      ep.device, [&] { return fence.is_passed(); },
      [](int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns / 20)); });
}

}  // namespace

LCI_error_t LCI_fence_wait(LCI_endpoint_t endpoint) {
  return guarded("LCI_fence_wait", [&] {
    if (checking()) check_endpoint(endpoint);
    wait_for_issued(*endpoint);
    return LCI_OK;
  });
}

LCI_error_t LCI_gfence_wait(LCI_endpoint_t endpoint) {
  return guarded("LCI_gfence_wait", [&] {
    if (checking()) check_endpoint(endpoint);
    wait_for_issued(*endpoint);
    await_quiet(*endpoint);
    return LCI_OK;
  });
}
