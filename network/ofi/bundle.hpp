// Layout of a bundle: several messages in a row, each preceded by its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lci::network::ofi::bundle {

/// Messages are aligned to this, as they are when they arrive alone.
constexpr size_t alignment = 16;

struct entry {
  alignas(alignment) uint64_t size;  ///< bytes of the message that follows, up to the next entry
};
static_assert(sizeof(entry) == alignment);

/// Bytes that a message occupies in a bundle.
constexpr size_t room_for(size_t message) { return sizeof(entry) + (message + alignment - 1) / alignment * alignment; }

/// Writes an entry at `to`; returns where to put its message.
inline std::byte* begin_entry(std::byte* to, size_t message) {
  const entry e{message};
  std::memcpy(to, &e, sizeof e);
  return to + sizeof e;
}

/// Returns the message at `offset` of a bundle of `size` bytes, and advances `offset` to the next one. False at the
/// end, or if the bytes are not a valid bundle.
inline bool next(const std::byte* begin, size_t size, size_t& offset, const std::byte*& message, size_t& message_size) {
  entry e;
  if (size < sizeof e || offset > size - sizeof e) return false;
  std::memcpy(&e, begin + offset, sizeof e);
  if (e.size > size - offset - sizeof e) return false;
  message = begin + offset + sizeof e;
  message_size = e.size;
  offset += room_for(e.size);
  return true;
}

}  // namespace lci::network::ofi::bundle
