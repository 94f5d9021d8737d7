// Several messages in one: behind each other, each with its size before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lci::network::ofi::bundle {

/// Messages begin where those that come alone do: at a multiple of this.
constexpr size_t alignment = 16;

struct entry {
  alignas(alignment) uint64_t size;  ///< of the message that follows, up to the next entry
};
static_assert(sizeof(entry) == alignment);

/// Bytes that a message takes in a bundle.
constexpr size_t room_for(size_t message) {
  return sizeof(entry) + (message + alignment - 1) / alignment * alignment;
}

/// Begins an entry at `to`; returns where its message goes.
inline std::byte* begin_entry(std::byte* to, size_t message) {
  const entry e{message};
  std::memcpy(to, &e, sizeof e);
  return to + sizeof e;
}

/// The message at `offset` of a bundle of `size` bytes, and where the next begins. False: there is none,
/// or what is there is no bundle.
inline bool next(const std::byte* begin, size_t size, size_t& offset, const std::byte*& message,
                 size_t& message_size) {
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
