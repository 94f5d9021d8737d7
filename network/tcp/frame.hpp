// The wire format of a connection: frames, each a head and the bytes of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lci::network::sockets {

enum class frame_kind : uint32_t {
  message = 0x4c434900,  ///< from the core; large numbers, to detect a stream out of step
  close,                 ///< close notification: nothing more will come from this device
  put,                   ///< a put_head, then the bytes to write
  get,                   ///< a get_head, which requests bytes
  // Answers, each to the oldest unanswered request.
  data,     ///< answers a get
  refusal,  ///< answers a get of memory that is not registered
  landed,   ///< answers a put with wants_answer
};

struct frame_head {
  uint32_t size;  ///< bytes of the message that follows
  frame_kind kind;
};

/// The head of a put's message.
struct put_head {
  uint64_t address, key;
  uint32_t imm;
  static constexpr uint32_t has_imm = 1, wants_answer = 2;
  uint32_t flags;
};
struct get_head {
  uint64_t address, key, size;
};

/// In the receive buffer a frame starts this many bytes before a multiple of `frame_alignment`, and its size is a
/// multiple of it, so that each message is aligned.
constexpr size_t frame_alignment = 16;
constexpr size_t frame_begin = frame_alignment - sizeof(frame_head);
/// Bytes of the longest message; a longer one is a protocol error.
constexpr size_t largest_message = size_t{1} << 26;

/// Bytes that a message takes in a connection.
constexpr size_t frame_room(size_t message) {
  return (sizeof(frame_head) + message + frame_alignment - 1) / frame_alignment * frame_alignment;
}

/// Writes a frame's head to `to`; returns what follows it.
inline std::byte* put_frame_head(std::byte* to, frame_kind kind, size_t message) {
  const frame_head head{static_cast<uint32_t>(message), kind};
  std::memcpy(to, &head, sizeof head);
  return to + sizeof head;
}

/// Writes a frame's head and padding to `to`, which has room for the whole frame; returns where its message goes. The
/// padding is 0, so that the peer gets nothing that was in that memory before.
inline std::byte* begin_frame(std::byte* to, frame_kind kind, size_t message) {
  // The last bytes of the frame, some of which the head and the message overwrite: a store of constant size.
  std::memset(to + frame_room(message) - frame_alignment, 0, frame_alignment);
  return put_frame_head(to, kind, message);
}

/// Maximum number of bytes of one put or get.
constexpr size_t largest_content = largest_message - 64;

/// Bytes of the message before the content. The content of a put and of a get's answer is read directly into its
/// destination.
constexpr size_t content_begin(frame_kind kind) { return kind == frame_kind::put ? sizeof(put_head) : 0; }
constexpr bool has_content(frame_kind kind) { return kind == frame_kind::put || kind == frame_kind::data; }

enum class frame_state : uint8_t { whole, partial, garbage };
/// The error text for a connection with invalid data.
constexpr const char* no_frame = "it sent data that is not a valid message";

/// A frame in memory; of a frame with content only the part before the content.
struct frame_view {
  frame_kind kind;
  const std::byte* message;
  size_t size;
  size_t content;  ///< bytes of content that follow
  size_t padding;  ///< bytes of padding after the content
};

/// Returns whether `size`, without the head, is valid for a frame of that kind.
inline bool makes_sense(frame_kind kind, size_t size) {
  switch (kind) {
    case frame_kind::message:
    case frame_kind::data:
      return size <= largest_message;
    case frame_kind::put:
      return size >= sizeof(put_head) && size <= sizeof(put_head) + largest_content;
    case frame_kind::get:
      return size == sizeof(get_head);
    case frame_kind::close:
    case frame_kind::refusal:
    case frame_kind::landed:
      return size == 0;
  }
  return false;
}

/// Parses the frame that begins at `bytes`, of which `available` have arrived. Sets `needed` to the bytes it requires
/// as far as known; when they have arrived, the frame is whole.
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
