// Sends, active messages and receives of layouts, and the checks of layouts that puts and gets share. A short message
// is packed on posting. A longer one is gathered fragment by fragment as it is sent (fragments.cpp), and scattered as
// it arrives: neither side allocates a buffer for the whole of it.
#include "lib/core/post/post_layout.hpp"

#include <array>
#include <cstring>
#include <memory>

#include "lib/core/memory/layout.hpp"
#include "lib/core/post/post_common.hpp"

namespace lci::core {

namespace {

/// Sums up size and extent. Returns false if they overflow.
bool add_up(const layout_t& l, size_t& size, size_t& extent) {
  size = extent = 0;
  size_t end;
  if (l.segments() != nullptr) {
    for (size_t i = 0; i < l.n(); ++i) {
      const layout_segment_t& s = l.segments()[i];
      if (__builtin_add_overflow(size, s.size, &size) || __builtin_add_overflow(s.offset, s.size, &end)) return false;
      if (s.size > 0) extent = std::max(extent, end);
    }
    return true;
  }
  if (l.remote_segments() != nullptr) {
    for (size_t i = 0; i < l.n(); ++i)
      if (__builtin_add_overflow(size, l.remote_segments()[i].size, &size)) return false;
    return true;
  }
  size = 1;
  for (size_t i = 0; i <= l.n(); ++i)
    if (__builtin_mul_overflow(size, l.counts()[i], &size)) return false;
  if (size == 0) return true;
  extent = l.counts()[0];
  for (size_t i = 0; i < l.n(); ++i)
    if (__builtin_mul_overflow(l.counts()[i + 1] - 1, l.strides()[i], &end) ||
        __builtin_add_overflow(extent, end, &extent))
      return false;
  return true;
}

/// Returns false if the size or extent exceeds the address space, as negative numbers do.
bool measure(const layout_t& l, size_t& size, size_t& extent) {
  return add_up(l, size, extent) && is_possible(size) && is_possible(extent);
}

// Bytes. Messages up to this size are packed on the stack; larger ones, of larger packets, on the heap.
constexpr size_t usual_size = 8192;

status_t post_packed(post_send_args& a) { return post_send(a); }
status_t post_packed(post_am_args& a) { return post_am(a); }
status_t post_in_pieces(post_send_args& a) { return post_send_pieces(a); }
status_t post_in_pieces(post_am_args& a) { return post_am_pieces(a); }

template <class Args>
status_t post_message_layout(const char* operation, Args& a) {
  check_local_layout(operation, a.layout, a.size, a.local_buffer);
  device& d = *a.device.p_impl;
  const bool eager = a.size <= std::min(d.eager_limit, a.packet_pool.p_impl->payload_size());
  if (!eager || a.comp_semantic != comp_semantic_t::memory) return post_in_pieces(a);
  std::array<std::byte, usual_size> small;
  std::unique_ptr<std::byte[]> large;
  if (a.size > small.size()) large = std::make_unique_for_overwrite<std::byte[]>(a.size);
  std::byte* const packed = large != nullptr ? large.get() : small.data();
  copy_layout(packed, layout_cursor(layout_t(), a.size), a.local_buffer, layout_cursor(*a.layout, a.size));
  Args inner = a;
  inner.layout = nullptr;
  inner.local_buffer = packed;
  inner.allow_done = true;
  const status_t status = post_packed(inner);  // copies `packed` before it returns
  if (!status.is_done()) return status;
  return answer_done(d, a, buffer_of(a), status.error.errorcode);
}

}  // namespace

size_t check_layout(const char* operation, const char* argument, const layout_t* layout, size_t size) {
  if (!has_layout(layout)) return size;
  if (layout->is_contiguous())
    throw_invalid(operation, argument, std::to_string(layout->n()) + " pieces or levels at a null pointer",
                  "a pointer to their array");
  if (layout->counts() != nullptr && layout->n() > layout_t::max_levels)
    throw_invalid(operation, argument, std::to_string(layout->n()) + " levels",
                  "0.." + std::to_string(layout_t::max_levels) + " levels");
  if (layout->counts() != nullptr && layout->strides() == nullptr && layout->n() > 0)
    throw_invalid(operation, argument, "without strides", std::to_string(layout->n()) + " strides");
  if (layout->remote_segments() != nullptr && std::strcmp(argument, "remote_layout") != 0)
    throw_invalid(operation, argument, "of remote segments", "of this rank's memory",
                  "those are for the remote_layout of puts and gets");
  size_t has, extent;
  if (!measure(*layout, has, extent))
    throw_invalid(operation, argument, "larger than the address space", "a layout of memory");
  if (has != size)
    throw_invalid(operation, argument, "of " + std::to_string(has) + " bytes",
                  "of size = " + std::to_string(size) + " bytes");
  return extent;
}

void check_local_layout(const char* operation, const layout_t* layout, size_t size, const void* buffer) {
  check_layout(operation, "layout", layout, size);
  if (!has_layout(layout) || size == 0) return;
  if (layout->segments() == nullptr && buffer == nullptr)
    throw_invalid(operation, "local_buffer", "nullptr", "an address",
                  "only a list of segments may have none, and their addresses as offsets");
  if (layout->segments() == nullptr) return;
  for (size_t i = 0; i < layout->n(); ++i)
    if (layout->segments()[i].size > 0 && reinterpret_cast<uintptr_t>(buffer) + layout->segments()[i].offset == 0)
      throw_invalid(operation, "layout", "segment " + std::to_string(i) + " at a null pointer", "an address");
}

status_t post_send_layout(post_send_args& a) { return post_message_layout("post_send", a); }
status_t post_am_layout(post_am_args& a) { return post_message_layout("post_am", a); }

status_t post_recv_layout(post_recv_args& a) {
  check_local_layout("post_recv", a.layout, a.size, a.local_buffer);
  if (has_layout(a.layout)) return post_recv_pieces(a);
  post_recv_args inner = a;
  inner.layout = nullptr;
  return post_recv(inner);
}

}  // namespace lci::core
