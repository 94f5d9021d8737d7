// Sends and receives of short, medium and long messages.
#include <lci.h>

#include <cstring>

#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/direct.hpp"
#include "lib/layers/v1/messages.hpp"
#include "lib/layers/v1/record.hpp"

using namespace v1;

void v1::throw_tag(LCI_tag_t tag) {
  throw lci::invalid_argument_error("tag = " + std::to_string(tag) +
                                    ", but must be at most LCI_MAX_TAG = " + std::to_string(LCI_MAX_TAG));
}
void v1::throw_medium_size(size_t size) {
  throw lci::invalid_argument_error("buffer.length = " + std::to_string(size) +
                                    ", but must be at most LCI_MEDIUM_SIZE = " + std::to_string(LCI_MEDIUM_SIZE) +
                                    ": send it as a long message");
}
void v1::throw_no_rank() {
  throw lci::invalid_argument_error(
      "rank is negative, but the endpoint matches by rank and tag: name the source, or create the endpoint with "
      "LCI_MATCH_TAG");
}
void v1::throw_no_completion() {
  throw lci::invalid_argument_error(
      "completion is NULL, but the library allocates the buffer, which nobody would get: pass a queue, a synchronizer "
      "or a handler");
}

namespace {

[[gnu::noinline]] LCI_error_t sends_otherwise(LCI_endpoint_t ep, const LCI_short_t& src, int rank, LCI_tag_t tag) {
  return guarded("LCI_sends", [&] {
    if (checking()) check_post(ep, rank, tag);
    return sent(*ep,
                lci::post_send_x(rank, &src, short_size(src), send_tag(*ep, space::shorts, tag), lci::COMP_NULL_RETRY)
                    .device(device_of(*ep))
                    .matching_policy(ep->policy)());
  });
}

[[gnu::noinline]] LCI_error_t sendm_otherwise(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag) {
  return guarded("LCI_sendm", [&] {
    if (checking()) check_medium(ep, rank, tag, buffer);
    require_medium(buffer.length);
    const lci::tag_t core_tag = send_tag(*ep, space::mediums, tag);
    const auto post = [&](const void* address) {
      return sent(*ep, lci::post_send_x(rank, address, buffer.length, core_tag, lci::COMP_NULL_RETRY)
                           .device(device_of(*ep))
                           .matching_policy(ep->policy)());
    };
    // The core would take over a packet, which is the caller's here.
    return LCI_UNLIKELY(may_be_packet(*ep, buffer.address)) ? post_copy(buffer, post) : post(buffer.address);
  });
}

}  // namespace

LCI_error_t LCI_sends(LCI_endpoint_t ep, LCI_short_t src, int rank, LCI_tag_t tag) {
  if (!is_usual(tag) || !is_word(src)) return sends_otherwise(ep, src, rank, tag);
  kept_short kept{ep, rank, tag};
  lci::keep_in_memory(kept);
  try {
    if (send_word_directly(*ep, rank, &src, space::shorts, tag)) {
      count_direct(*kept.ep);
      return LCI_OK;
    }
  } catch (...) {
    return fail_by_exception("LCI_sends");
  }
  return sends_otherwise(kept.ep, src, kept.rank, kept.tag);
}

LCI_error_t LCI_sendm(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag) {
  if (!is_usual(tag) || LCI_UNLIKELY(buffer.length > static_cast<size_t>(LCI_MEDIUM_SIZE)))
    return sendm_otherwise(ep, buffer, rank, tag);
  kept_medium kept{{ep, rank, tag}, buffer};
  lci::keep_in_memory(kept);
  try {
    if (send_directly(*ep, rank, buffer.address, buffer.length, space::mediums, tag)) {
      count_direct(*kept.ep);
      return LCI_OK;
    }
  } catch (...) {
    return fail_by_exception("LCI_sendm");
  }
  return sendm_otherwise(kept.ep, kept.buffer, kept.rank, kept.tag);
}

LCI_error_t LCI_sendmn(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag) {
  return guarded("LCI_sendmn", [&] {
    if (checking()) {
      check_medium(ep, rank, tag, buffer);
      check_medium_to_give(buffer.address);
    }
    require_medium(buffer.length);
    const lci::tag_t core_tag = send_tag(*ep, space::mediums, tag);
    return post_handed_over(buffer.address, [&] {
      return sent(*ep, lci::post_send_x(rank, buffer.address, buffer.length, core_tag, lci::COMP_NULL_RETRY)
                           .device(device_of(*ep))
                           .matching_policy(ep->policy)());
    });
  });
}

LCI_error_t LCI_sendmc(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, LCI_comp_t completion,
                       void* user_context) {
  return guarded("LCI_sendmc", [&] {
    comp& to = completion_of(completion);
    const LCI_error_t code = LCI_sendm(ep, buffer, rank, tag);
    if (code == LCI_OK) deliver_sent(to, buffer, rank, tag, user_context);
    return code;
  });
}

void v1::deliver_sent(comp& to, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, void* user_context) {
  LCI_request_t r;
  r.flag = LCI_OK;
  r.rank = rank;
  r.tag = tag;
  r.type = LCI_MEDIUM;
  r.data.mbuffer = buffer;
  r.user_context = user_context;
  to.deliver(r);
}

LCI_error_t LCI_sendl(LCI_endpoint_t ep, LCI_lbuffer_t buffer, int rank, LCI_tag_t tag, LCI_comp_t completion,
                      void* user_context) {
  return guarded("LCI_sendl", [&] {
    if (checking()) check_long(ep, rank, tag, buffer);
    const lci::tag_t core_tag = send_tag(*ep, space::longs, tag);
    record* r = take_record(ep, record::role::issued, completion_of(completion), rank, tag, user_context);
    r->request.type = LCI_LONG;
    r->request.data.lbuffer = buffer;
    const owned_buffer owned(*ep, buffer.address, buffer.length);
    const unsigned id = ep->id;  // read now: a handler may free the endpoint within the post
    const LCI_error_t code = post_issued(r, [&] {
      return lci::post_send_x(rank, buffer.address, buffer.length, core_tag, lci::comp_t(r))
          .device(device_of(*ep))
          .mr(registration_of(buffer.segment))
          .layout(owned.layout())
          .matching_policy(ep->policy)();
    });
    if (code == LCI_OK) count_sent(id);
    return code;
  });
}

namespace {

/// All cases of LCI_recvs() but the direct path.
[[gnu::noinline]] LCI_error_t recvs_otherwise(record* r, int rank, LCI_tag_t tag) {
  return guarded("LCI_recvs", [=] {
    const LCI_endpoint_s& ep = *r->endpoint;
    return post_recorded(r, [&] {
      return lci::post_recv_x(source_of(ep, rank), &r->request.data.immediate, sizeof(LCI_short_t),
                              send_tag(ep, space::shorts, tag), lci::comp_t(r))
          .device(device_of(ep))
          .matching_policy(ep.policy)();
    });
  });
}
[[gnu::noinline]] LCI_error_t recvs_checked(LCI_endpoint_t ep, int rank, LCI_tag_t tag, LCI_comp_t completion,
                                            void* user_context) {
  return guarded("LCI_recvs", [&] {
    if (checking()) check_receive(ep, rank, tag);
    comp& to = completion_of(completion);
    require_completion(to);
    const auto role = checking() ? record::role::checked_short_receive : record::role::short_receive;
    record* r = take_record(ep, role, to, rank, tag, user_context);
    begin_checked_receive(*ep);
    return recvs_otherwise(r, rank, tag);
  });
}
/// Completes a receive whose message had already arrived.
[[gnu::noinline]] LCI_error_t end_at_once(const char* function, lci::comp_impl_t& comp, const lci::status_t* s) {
  return guarded(function, [&] {
    comp.signal(lci::status_t(*s));
    return LCI_OK;
  });
}
[[gnu::noinline]] LCI_error_t recvm_at_once(lci::comp_impl_t& comp, const lci::status_t* s) {
  return s->is_retry() ? LCI_ERR_RETRY : end_at_once("LCI_recvm", comp, s);
}
/// The same for a record. If nothing was posted, frees the record.
[[gnu::noinline]] LCI_error_t recvs_at_once(record* r, const lci::status_t* s) {
  if (!s->is_retry()) return end_at_once("LCI_recvs", *r, s);
  undo(r);
  return LCI_ERR_RETRY;
}

}  // namespace

LCI_error_t LCI_recvs(LCI_endpoint_t ep, int rank, LCI_tag_t tag, LCI_comp_t completion, void* user_context) {
  if (!is_usual(tag)) return recvs_checked(ep, rank, tag, completion, user_context);
  thread_state* const mine = detail::tls_state;
  comp* const to = detail::current->comps.find_live(completion);
  if (LCI_UNLIKELY(to == nullptr) || LCI_UNLIKELY(mine == nullptr) || LCI_UNLIKELY(mine->free_records == nullptr))
    return recvs_checked(ep, rank, tag, completion, user_context);
  record* const r = take_record(*mine, ep, record::role::short_receive, *to, user_context);
  if (!can_receive_directly(*ep, rank)) return recvs_otherwise(r, rank, tag);
  const lci::status_t* s;
  try {
    s = receive_directly(*ep, rank, &r->request.data.immediate, sizeof(LCI_short_t), space::shorts, tag, r, nullptr);
  } catch (...) {
    undo(r);
    return fail_by_exception("LCI_recvs");
  }
  if (LCI_UNLIKELY(s != nullptr)) return recvs_at_once(r, s);
  return LCI_OK;
}

namespace {

/// In the checking mode the end of each receive is counted, so each has a record.
[[gnu::noinline]] LCI_error_t receive_medium_checked(LCI_endpoint_s& ep, void* buffer, size_t size, int rank,
                                                     lci::tag_t tag, comp& to, void* user_context) {
  record* r = take_record(&ep, record::role::medium_receive, to, rank, user_tag_of(tag), user_context);
  begin_checked_receive(ep);
  return post_recorded(r, [&] {
    return lci::post_recv_x(rank, buffer, size, tag, lci::comp_t(r)).device(device_of(ep)).matching_policy(ep.policy)();
  });
}

/// A receive whose request needs nothing but the core's status. One that matches a message at once is signalled here.
LCI_ALWAYS_INLINE inline LCI_error_t receive_medium(LCI_endpoint_s& ep, void* buffer, size_t size, int rank,
                                                    lci::tag_t tag, comp& to, void* user_context) {
  if (LCI_UNLIKELY(detail::checks)) return receive_medium_checked(ep, buffer, size, rank, tag, to, user_context);
  const lci::status_t s = lci::post_recv_x(rank, buffer, size, tag, lci::comp_t(&to.local))
                              .device(device_of(ep))
                              .matching_policy(ep.policy)
                              .user_context(user_context)();
  if (LCI_LIKELY(s.is_posted())) return LCI_OK;
  if (s.is_retry()) return LCI_ERR_RETRY;
  to.local.signal(s);
  return LCI_OK;
}
[[gnu::noinline]] LCI_error_t recvm_otherwise(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag,
                                              LCI_comp_t completion, void* user_context) {
  return guarded("LCI_recvm", [&] {
    if (checking()) check_receive(ep, rank, tag);
    return receive_medium(*ep, buffer.address, buffer.length, source_of(*ep, rank), send_tag(*ep, space::mediums, tag),
                          completion_of(completion), user_context);
  });
}

}  // namespace

extern "C" LCI_error_t LCI_recvm(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag,
                                 LCI_comp_t completion, void* user_context) {
  if (!is_usual(tag) || !can_receive_directly(*ep, rank) || LCI_UNLIKELY(buffer.address == nullptr))
    return recvm_otherwise(ep, buffer, rank, tag, completion, user_context);
  comp* const to = detail::current->comps.find_live(completion);
  if (LCI_UNLIKELY(to == nullptr)) return recvm_otherwise(ep, buffer, rank, tag, completion, user_context);
  const lci::status_t* s;
  try {
    s = receive_directly(*ep, rank, buffer.address, buffer.length, space::mediums, tag, &to->local, user_context);
  } catch (...) {
    return fail_by_exception("LCI_recvm");
  }
  if (LCI_UNLIKELY(s != nullptr)) return recvm_at_once(to->local, s);
  return LCI_OK;
}

extern "C" LCI_error_t LCI_recvm_p(LCI_endpoint_t ep, LCI_mbuffer_t* buffer, int rank, LCI_tag_t tag,
                                   LCI_comp_t completion, void* user_context) {
  if (buffer == nullptr) return fail("LCI_recvm", "buffer is NULL, but must be the address of a buffer");
  return LCI_recvm(ep, *buffer, rank, tag, completion, user_context);
}

LCI_error_t LCI_recvmn(LCI_endpoint_t ep, int rank, LCI_tag_t tag, LCI_comp_t completion, void* user_context) {
  try {
    if (checking()) check_receive(ep, rank, tag);
    comp& to = completion_of(completion);
    require_completion(to);
    const lci::tag_t core_tag = send_tag(*ep, space::mediums, tag);
    const int source = source_of(*ep, rank);
    void* packet = take_packet_to_receive();
    // Programs may post more receives than there are packets before they take any message.
    if (LCI_UNLIKELY(packet == nullptr)) packet = ordinary_medium();
    LCI_error_t code;
    try {
      code = receive_medium(*ep, packet, static_cast<size_t>(LCI_MEDIUM_SIZE), source, core_tag, to, user_context);
    } catch (...) {
      give_back_medium(packet);
      throw;
    }
    if (LCI_UNLIKELY(code == LCI_ERR_RETRY)) give_back_medium(packet);
    return code;
  } catch (...) {
    return fail_by_exception("LCI_recvmn");
  }
}

LCI_error_t LCI_recvl(LCI_endpoint_t ep, LCI_lbuffer_t buffer, int rank, LCI_tag_t tag, LCI_comp_t completion,
                      void* user_context) {
  return guarded("LCI_recvl", [&] {
    if (checking()) check_long_receive(ep, rank, tag, buffer);
    const lci::tag_t core_tag = send_tag(*ep, space::longs, tag);
    const int source = source_of(*ep, rank);
    comp& to = completion_of(completion);
    const bool allocates = buffer.address == nullptr;
    if (allocates) {
      require_completion(to);
      buffer.segment = nullptr;
    }
    record* r = take_record(ep, record::role::long_receive, to, rank, tag, user_context);
    begin_checked_receive(*ep);
    r->request.type = LCI_LONG;
    r->request.data.lbuffer = buffer;
    return post_recorded(r, [&] {
      return lci::post_recv_x(source, buffer.address, allocates ? 0 : buffer.length, core_tag, lci::comp_t(r))
          .device(device_of(*ep))
          .mr(registration_of(buffer.segment))
          .allocate(allocates)
          .matching_policy(ep->policy)();
    });
  });
}
