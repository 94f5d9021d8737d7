// Posts whose buffers are not in one piece.
#pragma once

#include "generated/core_operations.hpp"

namespace lci::core {

status_t post_send_layout(post_send_args& a);
status_t post_recv_layout(post_recv_args& a);
status_t post_put_layout(post_put_args& a);
status_t post_get_layout(post_get_args& a);

/// Pieces of a put or get, of which observers see the whole.
status_t post_put_piece(post_put_args& a);
status_t post_get_piece(post_get_args& a);

/// Throws unless the layout makes sense and has `size` bytes. Null is fine. Bytes it reaches to.
size_t check_layout(const char* operation, const char* argument, const layout_t* layout, size_t size);

}  // namespace lci::core
