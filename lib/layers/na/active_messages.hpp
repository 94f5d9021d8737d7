// Helpers of NA's active messages: introductions, direct messages and unexpected messages.
#pragma once

#include <new>

#include "lci.hpp"
#include "lib/layers/na/class.hpp"

namespace na {

/// The remote completion handles of a class. Each process registers them in this order, so all processes have the same
/// handles.
enum class channel : lci::rcomp_t { introductions = 1, direct_messages, unexpected_messages, reports };

/// Attributes of a completion object to which the core delivers messages in place, without a copy.
inline lci::comp_attr_t in_place() {
  lci::comp_attr_t a;
  a.am_in_place = true;
  return a;
}

/// Registers a completion object with the class's runtime. Throws exceptions of the core, and lci::resource_error if
/// the registrations are not in the order of `channel`.
inline void open_channel(na_class& c, channel expected, lci::comp_t to) {
  if (lci::register_rcomp_x(to).runtime(c.runtime)() != static_cast<lci::rcomp_t>(expected))
    throw lci::resource_error("the runtime of a class gives other numbers than NA expects");
}

/// Sends a message. Returns false if the core returns `retry`, or there is no memory: the caller tries again later.
/// Throws lci::peer_failure_error.
inline bool post(na_class& c, addr to, channel by, const void* buffer, size_t size, na_tag_t tag = 0) {
  try {
    return c.with_peer(to, [&] {
      return !lci::post_am_x(static_cast<int>(to.rank), const_cast<void*>(buffer), size, lci::COMP_NULL_RETRY,
                             static_cast<lci::rcomp_t>(by))
                  .device(c.device)
                  .tag(tag)()
                  .is_retry();
    });
  } catch (const std::bad_alloc&) {
    return false;
  } catch (const lci::resource_error&) {
    return false;
  }
}

/// The address of the sender of a message. NA_ADDR_NULL if it has not introduced itself: the caller must then ignore
/// the message.
inline na_addr_t source_of(const na_class& c, int rank) {
  const auto id = static_cast<uint32_t>(rank);
  return LCI_LIKELY(id <= c.book->last()) ? c.book->of_peer(id) : NA_ADDR_NULL;
}
/// The address of the sender of a received message. NA_ADDR_NULL also if the receive has failed.
inline na_addr_t source_of(const na_class& c, const lci::status_t& status) {
  return status.is_done() ? source_of(c, status.rank) : NA_ADDR_NULL;
}

}  // namespace na
