// Copying a received message into a posted receive.
#pragma once

#include <cstring>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/copy_small.hpp"
#include "lib/core/operation/make_status.hpp"
#include "lib/core/operation/operation.hpp"

namespace lci::core {

/// Scatters the message into a buffer that has a layout.
LCI_COLD inline void fill_shaped(operation& op, const void* data, size_t size) {
  op.shape->scatter(op.status.buffer, 0, data, size);
  op.shape.reset();
}

/// Completes a receive with `allocate`: copies the message into memory that is allocated for it. If there is no memory,
/// the size in the status is 0.
status_t fill_allocated(device& d, const operation& op, int peer, tag_t tag, const void* data, size_t size);

/// Copies the message into the receive's buffer, truncated to its size; returns the status to report. `d` is the device
/// that the message came through: that of the receive may have been freed.
inline status_t fill_receive(device& d, operation& op, int peer, tag_t tag, const void* data, size_t size) {
  const status_t& wanted = op.status;
  auto code = errorcode_t::done;
  if (LCI_UNLIKELY(size > wanted.size)) {
    if (op.allocates) return fill_allocated(d, op, peer, tag, data, size);
    size = wanted.size;
    code = errorcode_t::done_truncated;
  }
  if (LCI_UNLIKELY(op.shaped))
    fill_shaped(op, data, size);
  else if (size < cache_line)
    copy_small(static_cast<std::byte*>(wanted.buffer), data, size);
  else
    copy_bytes(wanted.buffer, data, size);
  return make_status(code, peer, wanted.buffer, size, tag, wanted.user_context);
}

/// Ends a posted receive that has matched an eager message: fills its buffer, and signals. Returns how it has ended.
inline errorcode_t end_receive(device& d, operation_table& operations, operation* op, int peer, tag_t tag,
                               const std::byte* data, size_t size) {
  const status_t status = fill_receive(d, *op, peer, tag, data, size);
  comp_impl_t* comp = op->comp;
  operations.release(op);
  if (comp != nullptr) comp->signal(status);
  return status.error.errorcode;
}

}  // namespace lci::core
