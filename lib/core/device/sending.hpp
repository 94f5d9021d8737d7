// How messages reach the network when a post does not inject them itself: through packets, and through the backlog.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "lib/base/cpu.hpp"
#include "lib/core/operation/backlog.hpp"
#include "lib/core/operation/operation.hpp"

namespace lci::core {

class device;
class packet_pool;

/// Sends through a packet, for messages too large to inject. Unless it returns `done`, nothing was sent, and the caller
/// still owns the packet. Throws invalid_argument_error, with the same effect, if the network needs registered memory
/// and the packet's pool is not registered with the device.
/// `completes`, if given: an operation in state `send` with one piece; it completes when the packet has been sent.
errorcode_t send_packet(device& d, int peer, packet* p, size_t size, operation* completes = nullptr);

/// Returns whether a packet of this pool, which the device has sent, is still on its way. Looks at all operations.
LCI_COLD bool is_sending(device& d, const packet_pool& pool);

// --- the backlog ---

/// Submits an item of the backlog to the network. Returns false if it can't be submitted now.
bool submit(device& d, backlog::item& item);
/// Connects the post with its message in the trace. Call it before the message waits, in the backlog or in a stream.
void note_waiting(device& d, backlog::item& item);
/// For operations in flight, whose post can no longer return an error. Queues the item in the backlog; without
/// memory for that, submits it ahead of the backlog, except an ordered put. If both fail for a while, the item's
/// operation ends as `no_memory`.
void enqueue(device& d, backlog::item item);
/// submit(), but an item that can't be submitted now, or has others before it, is queued in the backlog.
void submit_or_enqueue(device& d, backlog::item item);
/// Ends the operation of an item that will not be sent.
LCI_COLD void end_unsent(device& d, backlog::item& item, failure how);
/// Sends what the backlog's reserve keeps. Returns false if nothing could be sent.
bool send_kept(device& d);
/// Ends the requests in the backlog to a peer that has failed or ended. `thrown`: the first exception of a handler.
LCI_COLD void end_queued(device& d, int peer, std::exception_ptr& thrown);

// --- the library's own messages ---

/// Injects, but a message that can't be sent now is queued in the backlog, or kept in its reserve without memory. Waits
/// for memory if the reserve is full, too. Returns false if the message is lost, as there was no memory for a while and
/// the device is being freed.
bool send_or_queue(device& d, int peer, const void* message, size_t size);
template <class Message>
bool send_or_queue(device& d, int peer, const Message& m) {
  return send_or_queue(d, peer, &m, sizeof m);
}
/// The same for a request whose operation already waits for the answer, a packet of the kind `awaited`. If the
/// request is lost, the operation ends as `no_memory`.
void send_request(device& d, int peer, uint32_t handle, awaited_packets awaited, const void* message, size_t size);
template <class Message>
void send_request(device& d, int peer, uint32_t handle, awaited_packets awaited, const Message& m) {
  send_request(d, peer, handle, awaited, &m, sizeof m);
}

}  // namespace lci::core
