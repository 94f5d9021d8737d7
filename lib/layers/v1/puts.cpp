// Puts of short and medium messages, and of long ones into memory that the target allocates.
#include <lci.h>

#include <cstring>

#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/direct.hpp"
#include "lib/layers/v1/messages.hpp"
#include "lib/layers/v1/record.hpp"
#include "lib/layers/v1/vectors.hpp"

using namespace v1;

namespace {

[[noreturn, gnu::cold]] void throw_no_remote() {
  throw lci::invalid_argument_error(
      "remote_completion is LCI_NO_COMP_REMOTE, but the data would reach nobody: name a completion object, or pass "
      "LCI_DEFAULT_COMP_REMOTE");
}

/// The core's handle for a message that the target's completion object gets.
LCI_ALWAYS_INLINE inline lci::rcomp_t receiver_of(uintptr_t remote_completion, lci::rcomp_t usual) {
  if (LCI_LIKELY(remote_completion == LCI_DEFAULT_COMP_REMOTE)) {
    if (usual == 0) __builtin_unreachable();  // as posts compare it with 0 again
    return usual;
  }
  if (remote_completion == LCI_NO_COMP_REMOTE) throw_no_remote();
  return remote_handle(remote_completion);
}

LCI_ALWAYS_INLINE inline lci::status_t post_message(const LCI_endpoint_s& ep, int rank, const void* buffer, size_t size,
                                                    lci::rcomp_t to, lci::tag_t tag) {
  return lci::post_am_x(rank, buffer, size, lci::COMP_NULL_RETRY, to).device(device_of(ep)).tag(tag)();
}

/// `handed_over`: see post_handed_over().
LCI_error_t put_allocated(const LCI_endpoint_s& ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag,
                          uintptr_t remote_completion, bool handed_over) {
  require_medium(buffer.length);
  const lci::rcomp_t to = receiver_of(remote_completion, ep.ports->packets);
  const lci::tag_t core_tag = arrival_tag(ep, arrival::medium, tag);
  const auto post = [&](const void* address) {
    return sent(ep, post_message(ep, rank, address, buffer.length, to, core_tag));
  };
  // The core would take over a packet, which is the caller's here.
  if (LCI_LIKELY(!handed_over))
    return LCI_UNLIKELY(may_be_packet(ep, buffer.address)) ? post_copy(buffer, post) : post(buffer.address);
  if (checking()) check_medium_to_give(buffer.address);
  return post_handed_over(buffer.address, [&] { return post(buffer.address); });
}

[[gnu::noinline]] LCI_error_t puts_otherwise(LCI_endpoint_t ep, const LCI_short_t& src, int rank, LCI_tag_t tag,
                                             uintptr_t remote_completion) {
  return guarded("LCI_puts", [&] {
    if (checking()) check_post(ep, rank, tag);
    return sent(*ep, post_message(*ep, rank, &src, short_size(src), receiver_of(remote_completion, ep->in_place),
                                  arrival_tag(*ep, arrival::immediate, tag)));
  });
}

[[gnu::noinline]] LCI_error_t putma_otherwise(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag,
                                              uintptr_t remote_completion) {
  return guarded("LCI_putma", [&] {
    if (checking()) check_medium(ep, rank, tag, buffer);
    return put_allocated(*ep, buffer, rank, tag, remote_completion, false);
  });
}

/// Sends a packet with the data and, behind it, the address to which the target copies the data.
LCI_error_t put_placed(const LCI_endpoint_s& ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, LCI_mbuffer_t remote,
                       uintptr_t remote_completion, bool handed_over) {
  require_medium(buffer.length);
  if (LCI_UNLIKELY(remote.length < buffer.length))
    throw lci::invalid_argument_error("remote.length = " + std::to_string(remote.length) +
                                      ", but must be at least buffer.length = " + std::to_string(buffer.length));
  const placement where{reinterpret_cast<uint64_t>(remote.address), remote_completion != LCI_NO_COMP_REMOTE};
  const lci::rcomp_t to = where.signals != 0 ? receiver_of(remote_completion, ep.in_place) : ep.in_place;
  const lci::tag_t core_tag = arrival_tag(ep, arrival::placed, tag);
  const size_t size = buffer.length + sizeof where;
  const auto post = [&](void* packet) {
    std::memcpy(static_cast<std::byte*>(packet) + buffer.length, &where, sizeof where);
    return sent(ep, post_message(ep, rank, packet, size, to, core_tag));
  };
  if (!handed_over) return post_copy(buffer, post);
  if (checking()) check_medium_to_give(buffer.address);
  return post_handed_over(buffer.address,
                          [&] { return is_packet(buffer.address) ? post(buffer.address) : post_copy(buffer, post); });
}

}  // namespace

LCI_error_t LCI_puts(LCI_endpoint_t ep, LCI_short_t src, int rank, LCI_tag_t tag, uintptr_t remote_completion) {
  if (!is_usual(tag) || LCI_UNLIKELY(remote_completion != LCI_DEFAULT_COMP_REMOTE) || !is_word(src))
    return puts_otherwise(ep, src, rank, tag, remote_completion);
  kept_short kept{ep, rank, tag};
  lci::keep_in_memory(kept);
  try {
    if (word_directly(*ep, rank, &src, tag)) {
      count_direct(*kept.ep);
      return LCI_OK;
    }
  } catch (...) {
    return fail_by_exception("LCI_puts");
  }
  return puts_otherwise(kept.ep, src, kept.rank, kept.tag, LCI_DEFAULT_COMP_REMOTE);
}

LCI_error_t LCI_putm(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, LCI_mbuffer_t remote,
                     uintptr_t remote_completion) {
  return guarded("LCI_putm", [&] {
    if (checking()) check_placed(ep, rank, tag, buffer, remote);
    return put_placed(*ep, buffer, rank, tag, remote, remote_completion, false);
  });
}

LCI_error_t LCI_putmn(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, LCI_mbuffer_t remote,
                      uintptr_t remote_completion) {
  return guarded("LCI_putmn", [&] {
    if (checking()) check_placed(ep, rank, tag, buffer, remote);
    return put_placed(*ep, buffer, rank, tag, remote, remote_completion, true);
  });
}

LCI_error_t LCI_putma(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, uintptr_t remote_completion) {
  if (!is_usual(tag) || LCI_UNLIKELY(remote_completion != LCI_DEFAULT_COMP_REMOTE) ||
      LCI_UNLIKELY(buffer.length > static_cast<size_t>(LCI_MEDIUM_SIZE)))
    return putma_otherwise(ep, buffer, rank, tag, remote_completion);
  try {
    if (am_directly(*ep, rank, buffer.address, buffer.length, ep->ports->packets, arrival::medium, tag)) {
      count_direct(*ep);
      return LCI_OK;
    }
  } catch (...) {
    return fail_by_exception("LCI_putma");
  }
  return putma_otherwise(ep, buffer, rank, tag, LCI_DEFAULT_COMP_REMOTE);
}

LCI_error_t LCI_putmna(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, uintptr_t remote_completion) {
  return guarded("LCI_putmna", [&] {
    if (checking()) check_medium(ep, rank, tag, buffer);
    return put_allocated(*ep, buffer, rank, tag, remote_completion, true);
  });
}

LCI_error_t LCI_putmac(LCI_endpoint_t ep, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, uintptr_t remote_completion,
                       LCI_comp_t local_completion, void* user_context) {
  return guarded("LCI_putmac", [&] {
    comp& to = completion_of(local_completion);
    const LCI_error_t code = LCI_putma(ep, buffer, rank, tag, remote_completion);
    if (code == LCI_OK) deliver_sent(to, buffer, rank, tag, user_context);
    return code;
  });
}

LCI_error_t LCI_putla(LCI_endpoint_t ep, LCI_lbuffer_t buffer, LCI_comp_t completion, int rank, LCI_tag_t tag,
                      uintptr_t remote_completion, void* user_context) {
  return guarded("LCI_putla", [&] {
    if (checking()) check_long(ep, rank, tag, buffer);
    const lci::tag_t core_tag = arrival_tag(*ep, arrival::signal, tag);
    comp& to = completion_of(completion);
    // An object of the target's own choice gets it as the only buffer of an iovec, whose steps name the object.
    if (remote_completion != LCI_DEFAULT_COMP_REMOTE)
      return put_vector(*ep, {{nullptr, 0}, &buffer, 1}, LCI_LONG, to, rank, tag, receiver_of(remote_completion, 0),
                        user_context);
    record* r = take_record(ep, record::role::notifying, to, rank, tag, user_context);
    r->request.type = LCI_LONG;
    r->request.data.lbuffer = buffer;
    const owned_buffer owned(*ep, buffer.address, buffer.length);
    const unsigned id = ep->id;  // read now: a handler may free the endpoint within the post
    const LCI_error_t code = post_issued(r, [&] {
      // A small message would be complete before the target has allocated its buffer.
      return lci::post_am_x(rank, buffer.address, buffer.length, lci::comp_t(r), ep->ports->memory)
          .device(device_of(*ep))
          .mr(registration_of(buffer.segment))
          .layout(owned.layout())
          .comp_semantic(lci::comp_semantic_t::remote)
          .tag(core_tag)();
    });
    if (code == LCI_OK) count_sent(id);
    return code;
  });
}
