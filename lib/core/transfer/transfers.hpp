// Transfers: operations whose data moves in pieces (rendezvous, put, get), from their start to their completion.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/core/operation/operation.hpp"
#include "lib/core/transfer/receive_window.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;

// --- start ---

/// Called by the post of a put or get. Returns `done` or `fatal` (the caller still owns the operation), a retry (the
/// same, and nothing was posted), or `posted`: the operation may have ended already, and what its handler throws leaves
/// this function. If the network throws, frees the operation and rethrows.
/// `in_turn`: a put as messages has one message, and must not wait behind later posts: if that can't be sent now, the
/// result is a retry.
errorcode_t start_rma(device& d, operation* op, bool waits_for_turn, bool in_turn);
/// Answers an RTS: its data goes to the operation's buffer (a posted receive's, or one allocated for an active
/// message).
void start_receive(device& d, operation* op, int peer, tag_t tag, const wire::rts_body& rts);
/// Gives a receive without a buffer one for this message. Returns false if there is no memory.
LCI_COLD bool allocate_buffer(device& d, operation* op, int peer, const wire::rts_body& rts);
/// Of such a receive that fails after it has matched: ends the registration of its buffer, and frees that.
LCI_COLD void drop_buffer(device& d, operation* op);

// --- pieces ---

/// Posts the operation's remaining pieces. After a shortage of resources the progress engine continues.
void advance(device& d, operation* op);
/// The same, but returns false after a shortage: the caller must arrange for another call.
bool try_advance(device& d, operation* op);
/// Queues the operation in the backlog, so that the progress engine advances it later.
void resume_later(device& d, operation* op);
/// Most bytes of a piece that is posted to a network with puts and gets. `in_order`: by net_op::ordered.
inline size_t largest_rma(const network::limits& limits, size_t chunk_size, bool in_order) {
  return std::min(chunk_size, LCI_UNLIKELY(in_order) ? limits.max_ordered_put : limits.max_rma);
}
/// Posts one piece to the network.
errorcode_t post_piece(device& d, operation* op, size_t offset, size_t size);
/// One piece has ended, or no more are to be posted. After the last one the transfer is finished.
void end_piece(device& d, operation* op);

/// The bytes of a split message that its sender writes; the receiver reads the others meanwhile.
inline size_t senders_part(size_t total) {
  constexpr size_t page = 4096;  // the kernel looks up each page that a part touches
  return total < 2 * page ? total / 2 : total / 2 / page * page;
}

/// One of the two parts of a split message, of `size` bytes, has arrived at the receiver, which is an accessor.
inline void end_part(operation* op, uint64_t size) {
  if (op->take_from_left(size) <= size) (void)op->gate.close();
}

// --- transfers that the system denies: they go on as messages (denied.cpp) ---

/// Returns whether this transfer can: the caller owns it or is its accessor, and none of its pieces is outstanding.
LCI_COLD bool can_go_by_messages(const operation* op);
/// Goes on by messages. Returns as try_advance().
LCI_COLD bool advance_by_messages(device& d, operation* op);
/// Called at the sender of a split message for the second RTR, by which the receiver asks for the part that it can't
/// read. Returns false if the RTR is not valid.
LCI_COLD bool take_request_for_rest(operation* op, const wire::header& head, const wire::rtr_body& rtr);
/// Called at the sender of a split message when the gate is closed. If the second RTR has closed it, prepares the
/// operation to send that part in fragments, and returns true. Returns false if an ack has closed it.
LCI_COLD bool begin_rest(operation* op);

// --- pieces sent as messages (fragments.cpp) ---

/// Bytes of a buffer with a layout that are gathered at a time: few enough to stay in the cache until they are sent.
constexpr size_t largest_gathered = 8192;
/// Most payload bytes of a message that carries a piece of an operation. `shaped`: its buffer has a layout.
size_t piece_room(const device& d, bool shaped);
/// Number of messages that carry `size` bytes of the operation.
uint64_t pieces_of(const device& d, const operation* op, uint64_t size);
/// Sends the next `size` bytes.
errorcode_t send_piece(device& d, operation* op, size_t size);

// --- completion ---

/// For an operation whose pieces have all completed: sends the peer the message it waits for, and completes.
void finish_transfer(device& d, operation* op);
/// Signals the completion object and frees the operation.
void complete_operation(device& d, operation* op);
/// The same for one that has failed; a sender whose memory it was to read is notified.
void fail_operation(device& d, operation* op);
/// Undoes a post: frees the operation without a signal.
void forget_operation(device& d, operation* op);

// --- messages about operations ---

/// Sends a FIN: the transfer has ended; `policy` other than 0: how it failed.
void send_fin(device& d, int peer, uint64_t operation, uint8_t policy = 0);
/// Refuses a request, so that its origin does not wait for ever. Returns false.
LCI_COLD bool refuse(device& d, int peer, uint64_t operation, uint8_t policy = wire::refused);
/// Acknowledges an operation to its origin; `policy` other than 0: why it was refused or failed.
void send_ack(device& d, int peer, uint64_t operation, uint8_t policy = 0);
/// Signals a put or get at its target, with the memory that it accessed.
void send_signal(device& d, int peer, rcomp_t comp, tag_t tag, uint64_t address, uint64_t size);

// --- large active messages (large_am.cpp) ---

/// Starts the transfer of an active message, or has it wait for room in the window. Returns false if the request was
/// refused.
bool take_large_am(device& d, const receive_window::request& request);
/// Allocates a buffer and starts the transfer. Returns false if the request was refused.
bool start_large_am(device& d, const receive_window::request& request);
/// Starts the requests for which the window has room. Returns true if there were any.
LCI_NOINLINE bool start_waiting_requests(device& d);
/// Takes the oldest request to send (RTS) of `peer` that waits for room in the receive window, and answers its sender
/// that the message is cancelled. A negative `peer` stands for all peers. Returns false if no request waits.
LCI_COLD bool refuse_request(device& d, int peer, receive_window::request& refused);
/// Frees the payload of an active message that only its handler has read.
void free_payload(device& d, void* buffer, allocator_base_t* allocator);

}  // namespace lci::core
