// Delivery of received messages to completion objects.
#pragma once

#include <cstddef>

#include "lci/errors.hpp"
#include "lib/base/cpu.hpp"
#include "lib/core/operation/make_status.hpp"
#include "lib/core/runtime/rcomp_table.hpp"

namespace lci::core {

class device;

/// The status of a message that has arrived.
inline status_t arrived_status(int peer, const void* buffer, size_t size, tag_t tag) {
  return make_status(errorcode_t::done, peer, buffer, size, tag, nullptr);
}

/// Signals an active message with a copy of its payload; the program owns the copy. Returns false if there is no memory
/// for it, and the caller must handle the failure.
[[nodiscard]] LCI_NOINLINE bool deliver_copy(device& d, rcomp_table::target to, int peer, tag_t tag,
                                             const std::byte* data, size_t size);

/// Counts a message that makes no sense, and is dropped.
LCI_COLD void count_rejected(device& d);
/// Signals the program's object for messages to handles that are not registered, if it has one. The caller counts and
/// drops the message, or refuses it.
LCI_COLD void report_undelivered(device& d, rcomp_t handle, int peer, tag_t tag, size_t size);
/// Counts a received message that can't be delivered because there is no memory for it.
LCI_COLD void count_undelivered(device& d, int peer, size_t size);
/// The same. Returns the exception to throw here if the sender does not learn of the loss.
LCI_COLD resource_error count_lost(device& d, const char* what, int peer, size_t size);

/// Says that an active message is lost, because there is no memory for it. It is thrown where the device is not known:
/// the device's progress counts the message.
class uncounted_loss final : public resource_error {
 public:
  uncounted_loss(int peer, size_t size);
  const int peer;
  const size_t size;
};

}  // namespace lci::core
