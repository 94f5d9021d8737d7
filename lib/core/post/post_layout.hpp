// Posts whose buffers have a layout.
#pragma once

#include <cstdint>
#include <memory>

#include "generated/core_operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/operation/operation.hpp"
#include "lib/core/operation/ticket.hpp"

namespace lci::core {

status_t post_send_layout(post_send_args& a);
status_t post_am_layout(post_am_args& a);
status_t post_recv_layout(post_recv_args& a);
status_t post_put_layout(post_put_args& a);
status_t post_get_layout(post_get_args& a);

/// A send or active message by rendezvous, or a receive, with a layout that has been checked.
status_t post_send_pieces(post_send_args& a);
status_t post_am_pieces(post_am_args& a);
status_t post_recv_pieces(post_recv_args& a);

inline bool is_ordered(const post_put_args& a) { return a.ordered; }
inline bool is_ordered(const post_get_args&) { return false; }

/// How a put or get ends at its deadline although its target makes no progress: as the network carries it out, by
/// messages, or as a put of a copy of the data. The last one is for ordered puts that would overtake messages.
enum class way_in_time : uint8_t { usual, by_messages, from_copy };
template <class Args>
way_in_time way_to_end_in_time(const device& d, const Args& a) {
  if (!timers::has_end(a.deadline) || !d.net->rma_waits_for(a.rank)) return way_in_time::usual;
  return is_ordered(a) && !d.net->ordered_puts_follow_messages(a.rank) ? way_in_time::from_copy
                                                                       : way_in_time::by_messages;
}

/// One piece of a put or get. Not observed: observers see the whole operation.
status_t post_put_piece(post_put_args& a);
/// post_put_piece() for the oldest item of the backlog: it need not wait until the backlog is empty.
status_t post_put_in_turn(post_put_args& a);
status_t post_get_piece(post_get_args& a);

inline bool has_layout(const layout_t* layout) {
  return layout != nullptr && (!layout->is_contiguous() || layout->n() > 0);
}
/// Gives the operation a copy of the layout. A peer can't read or write such a buffer directly, so its data is sent in
/// fragments. Without memory it releases the operation and throws.
LCI_COLD inline void give_shape(operation_table& operations, operation* op, const layout_t& layout) {
  try {
    op->shape = std::make_unique<kept_layout>(&layout);
  } catch (...) {
    operations.release(op);
    throw;
  }
  op->shaped = true;
}
/// Arguments with a buffer that is not null, for common checks: a list of segments needs no buffer address.
template <class Args>
Args with_some_buffer(Args a) {
  static char some;
  if (a.local_buffer == nullptr) a.local_buffer = &some;
  return a;
}

/// Throws unless the layout is valid and has `size` bytes, or is null. Returns its extent, in bytes from the buffer's
/// address.
size_t check_layout(const char* operation, const char* argument, const layout_t* layout, size_t size);
/// The same for the local buffer, of which no piece may lie at a null pointer.
void check_local_layout(const char* operation, const layout_t* layout, size_t size, const void* buffer);

}  // namespace lci::core
