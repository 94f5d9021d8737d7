// Posts whose buffers are not in one piece.
#pragma once

#include <memory>

#include "generated/core_operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/core/operation/operation.hpp"

namespace lci::core {

status_t post_send_layout(post_send_args& a);
status_t post_am_layout(post_am_args& a);
status_t post_recv_layout(post_recv_args& a);
status_t post_put_layout(post_put_args& a);
status_t post_get_layout(post_get_args& a);

/// A send or active message without an eager protocol, a receive: of a layout that was checked.
status_t post_send_pieces(post_send_args& a);
status_t post_am_pieces(post_am_args& a);
status_t post_recv_pieces(post_recv_args& a);

/// Pieces of a put or get, of which observers see the whole.
status_t post_put_piece(post_put_args& a);
status_t post_get_piece(post_get_args& a);

inline bool has_layout(const layout_t* layout) {
  return layout != nullptr && (!layout->is_contiguous() || layout->n() > 0);
}
/// What is in several pieces nobody can read or write but its owner: it goes in fragments.
/// If there is no memory for that, the operation never was.
LCI_COLD inline void give_shape(operation_table& operations, operation* op, const layout_t& layout) {
  try {
    op->shape = std::make_unique<kept_layout>(&layout);
  } catch (...) {
    operations.release(op);
    throw;
  }
  op->shaped = true;
}
/// For checks of the other arguments: a list of segments needs no buffer's address.
template <class Args>
Args with_some_buffer(Args a) {
  static char some;
  if (a.local_buffer == nullptr) a.local_buffer = &some;
  return a;
}

/// Throws unless the layout makes sense and has `size` bytes. Null is fine. Bytes it reaches to.
size_t check_layout(const char* operation, const char* argument, const layout_t* layout, size_t size);
/// The same of the local buffer, of which no piece may lie at a null pointer.
void check_local_layout(const char* operation, const layout_t* layout, size_t size, const void* buffer);

}  // namespace lci::core
