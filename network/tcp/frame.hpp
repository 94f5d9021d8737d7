// What goes over a connection: frames, each a head and the bytes of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lci::network::sockets {

enum class frame_kind : uint32_t {
  message = 0x4c434900,  ///< the core's; not small numbers, so that a stream that has lost its step is noticed
  goodbye,               ///< nothing more will come from this device
  put,                   ///< a put_head, then bytes that belong where it says
  get,                   ///< a get_head: the bytes there are asked for
  // Answers, to what was asked for first of all that is not yet answered.
  data,                  ///< to a get
  refusal,               ///< to a get of memory that is not registered
  landed,                ///< to a put that wants to know
};

struct frame_head {
  uint32_t size;  ///< of the message that follows
  frame_kind kind;
};

/// What a put begins with.
struct put_head {
  uint64_t address, key;
  uint32_t imm;
  static constexpr uint32_t has_imm = 1, wants_answer = 2;
  uint32_t flags;
};
struct get_head {
  uint64_t address, key, size;
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

/// The longest of a put's bytes, or of a get's.
constexpr size_t largest_content = largest_message - 64;

/// Of a put and of a get's data the content is read where it belongs: this is what comes before it.
constexpr size_t content_begin(frame_kind kind) { return kind == frame_kind::put ? sizeof(put_head) : 0; }
constexpr bool has_content(frame_kind kind) { return kind == frame_kind::put || kind == frame_kind::data; }

enum class frame_state : uint8_t { whole, partial, garbage };
/// Of such a connection.
constexpr const char* no_frame = "what comes from it is no message";

/// A frame as it lies in memory: of one with content what comes before that.
struct frame_view {
  frame_kind kind;
  const std::byte* message;
  size_t size;
  size_t content;  ///< bytes of it that follow
  size_t padding;  ///< bytes that follow those
};

/// Whether a frame of that kind can be so long, without its head.
inline bool makes_sense(frame_kind kind, size_t size) {
  switch (kind) {
    case frame_kind::message:
    case frame_kind::data:
      return size <= largest_message;
    case frame_kind::put:
      return size >= sizeof(put_head) && size <= sizeof(put_head) + largest_content;
    case frame_kind::get:
      return size == sizeof(get_head);
    case frame_kind::goodbye:
    case frame_kind::refusal:
    case frame_kind::landed:
      return size == 0;
  }
  return false;
}

/// The frame that begins at `bytes`, of which `available` have come. `needed` is set to how many it has, as far as
/// is known; whole is one when these have come.
inline frame_state read_frame(const std::byte* bytes, size_t available, frame_view& frame, size_t& needed) {
  needed = frame_room(0);
  if (available < sizeof(frame_head)) return frame_state::partial;
  frame_head head;
  std::memcpy(&head, bytes, sizeof head);
  if (!makes_sense(head.kind, head.size)) return frame_state::garbage;
  frame = {head.kind, bytes + sizeof head, head.size, 0, 0};
  needed = frame_room(head.size);
  if (has_content(head.kind)) {
    frame.size = content_begin(head.kind);
    frame.content = head.size - frame.size;
    needed = sizeof head + frame.size;
    frame.padding = frame_room(head.size) - needed - frame.content;
  }
  return available < needed ? frame_state::partial : frame_state::whole;
}

}  // namespace lci::network::sockets
