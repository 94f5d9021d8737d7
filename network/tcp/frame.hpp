// What goes over a connection: frames, each a head and the bytes of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lci::network::sockets {

enum class frame_kind : uint32_t {
  message = 0x4c434900,  ///< the core's; not small numbers, so that a stream that has lost its step is noticed
  goodbye,               ///< nothing more will come from this device
};

struct frame_head {
  uint32_t size;  ///< of the message that follows
  frame_kind kind;
};

/// Frames begin this far before a multiple of `frame_alignment` in the memory they are received in, and take
/// multiples of it: so that each message begins at one.
constexpr size_t frame_alignment = 16;
constexpr size_t frame_begin = frame_alignment - sizeof(frame_head);
/// The longest message; a peer that speaks of a longer one makes no sense.
constexpr size_t largest_message = size_t{1} << 26;

/// Bytes that a message takes on its way.
constexpr size_t frame_room(size_t message) {
  return (sizeof(frame_head) + message + frame_alignment - 1) / frame_alignment * frame_alignment;
}

/// Writes a frame's head to `to`; returns where its message goes. What is left of its room may be anything.
inline std::byte* begin_frame(std::byte* to, frame_kind kind, size_t message) {
  const frame_head head{static_cast<uint32_t>(message), kind};
  std::memcpy(to, &head, sizeof head);
  return to + sizeof head;
}

enum class frame_state : uint8_t { whole, partial, garbage };

/// A frame as it lies in memory.
struct frame_view {
  frame_kind kind;
  const std::byte* message;
  size_t size;
};

/// The frame that begins at `bytes`, of which `available` have come. Partial: `needed` is set to how many it
/// has, as far as is known.
inline frame_state read_frame(const std::byte* bytes, size_t available, frame_view& frame, size_t& needed) {
  needed = frame_room(0);
  if (available < sizeof(frame_head)) return frame_state::partial;
  frame_head head;
  std::memcpy(&head, bytes, sizeof head);
  const bool known = head.kind == frame_kind::message || head.kind == frame_kind::goodbye;
  if (!known || head.size > largest_message) return frame_state::garbage;
  needed = frame_room(head.size);
  if (available < needed) return frame_state::partial;
  frame = {head.kind, bytes + sizeof head, head.size};
  return frame_state::whole;
}

}  // namespace lci::network::sockets
