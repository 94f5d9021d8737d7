// The wire format: a header of 16 bytes, then a body that depends on the kind, then the
// payload. Decoders are beside encoders; messages that they reject are counted and dropped.
//
// Byte order is the host's: the library supports homogeneous machines only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lci/attributes.hpp"
#include "lci/types.hpp"
#include "network/fabric.hpp"

namespace lci::core::wire {

enum class kind : uint8_t {
  none = 0,
  am,              // eager active message: payload
  send,            // eager send: payload
  rts_am,          // request to send (RTS) an active message: rts_body
  rts_send,        // request to send (RTS) a send: rts_body
  rtr,             // ready to receive: rtr_body; answer to an RTS that is not read
  fin,             // the transfer has ended; `tag` is the addressee's operation handle
  fragment,        // a piece of a transfer by copies: fragment_body, payload
  signal,          // a put or get with signal has accessed this memory: signal_body
  put_data,        // a put by messages: put_body, payload; `tag` is the origin's operation handle
  ack,             // of put_data, or of a message that asked for one; `tag` is the origin's handle
  get_request,     // a get by messages: get_body; answered with fragments
  atomic_request,  // atomic_body; `engine` is the operation and type; `tag` is the origin's operation handle
  atomic_reply,    // atomic_result; `tag` is the origin's operation handle
  am_acked,        // as am, with ack_body before the payload: acknowledged after delivery
  send_acked,      // as send, with ack_body before the payload: acknowledged after delivery
  am_ordered,      // active message of stream `engine`: payload, after an ack_body if `policy` has ack_follows
  rts_ordered,     // large active message of a stream: rts_body
  stream_credit,   // of stream `engine`: messages before number `word`, `tag` bytes in all, were delivered
  withdraw,        // cancels an rts_send, whose header it has, with ack_body; answered with a fin
  device_end,      // the sender frees the device that it sends this through; `policy` is the stage
  send_pause,      // the addressee's sends are to pause or to resume, by `policy`; `word` numbers these messages.
                   // Or a search for a circle of paused ranks: number `word` of the searches of rank `tag`
  last = send_pause,
};

/// Precedes every message. The meaning of `word` and `tag` depends on the kind.
struct header {
  kind what = kind::none;
  uint8_t policy = 0;   // matching_policy_t of send, rts_send; rtr: transfer
  uint16_t engine = 0;  // matching engine of send, rts_send
  uint32_t word = 0;    // rcomp of am, rts_am, signal
  uint64_t tag = 0;
};
static_assert(sizeof(header) == 16);

/// A header as two words, which are passed in registers. A header in memory would be written field by field and read as
/// words, and such a load stalls until all the small stores have retired.
inline network::message_head pack(kind what, uint8_t policy, uint16_t engine, uint32_t word, uint64_t tag) {
  static_assert(std::endian::native == std::endian::little);
  return {{static_cast<uint64_t>(what) | uint64_t{policy} << 8 | uint64_t{engine} << 16 | uint64_t{word} << 32, tag}};
}
/// The header of a send. `engine_and_policy`: the policy in the lowest 8 bits, the engine above.
inline network::message_head pack_send(uint32_t engine_and_policy, uint64_t tag) {
  return {{static_cast<uint64_t>(kind::send) | uint64_t{engine_and_policy} << 8, tag}};
}
/// Returns whether it is the header of an active message, whose policy must be 0.
inline bool is_am(network::message_head head) {
  return static_cast<uint16_t>(head.words[0]) == static_cast<uint16_t>(kind::am);
}
inline bool is_signal(network::message_head head) {
  return static_cast<uint8_t>(head.words[0]) == static_cast<uint8_t>(kind::signal);
}
/// Returns whether it is the header of an eager send with a valid policy.
inline bool is_send(network::message_head head) {
  return (head.words[0] & 0xfcff) == static_cast<uint64_t>(kind::send);
}
static_assert(static_cast<int>(matching_policy_t::max) == 4);
/// Returns whether it is the header of an eager active message of a stream that waits for no ack: its policy is 0 or
/// asks_credit.
inline bool is_ordered_am(network::message_head head) {
  return (head.words[0] & 0xfeff) == static_cast<uint64_t>(kind::am_ordered);
}
inline matching_policy_t policy_of(network::message_head head) {
  return static_cast<matching_policy_t>(head.words[0] >> 8 & 0xff);
}
inline uint16_t engine_of(network::message_head head) { return static_cast<uint16_t>(head.words[0] >> 16); }
inline uint32_t word_of(network::message_head head) { return static_cast<uint32_t>(head.words[0] >> 32); }
/// The tag of a user's message: the lower half of the header's `tag`. The upper half is the message's trace number, see
/// may_have_number().
inline uint64_t tag_of(network::message_head head) { return static_cast<uint32_t>(head.words[1]); }
inline uint64_t tag_of(const header& head) { return static_cast<uint32_t>(head.tag); }
inline header unpack(network::message_head head) { return std::bit_cast<header>(head); }
inline network::message_head pack(const header& head) { return std::bit_cast<network::message_head>(head); }

/// Returns whether messages of that kind, those of the user's operations, have a trace number in the upper half of
/// their `tag`. 0 if the sender takes no trace. Receivers use it for traces only.
inline bool may_have_number(kind k) {
  return k == kind::am || k == kind::send || k == kind::signal || k == kind::rts_am || k == kind::rts_send ||
         k == kind::am_acked || k == kind::send_acked;
}

/// How the data of a rendezvous is transferred, chosen by the receiver.
/// split: the sender writes the first part, whose size the RTR gives, with an immediate; meanwhile the receiver reads
/// the second part. The sender keeps its buffer until the receiver's ack. If the receiver may not read the sender's
/// memory, it waits until the first part has arrived, and sends a second RTR that asks for a copy; its size is that of
/// the whole message. Then the sender sends the second part in fragments.
enum class transfer : uint8_t { write, write_imm, copy, split, last = split };

struct rts_body {
  uint64_t size;       // of the whole message
  uint64_t addr;       // of the sender's buffer
  uint64_t rkey;       // 0: can't be read
  uint64_t operation;  // the sender's handle, with wants_ack
};
/// Set beside an operation's handle if its owner waits for an ack. The 31 bits above distinguish requests that
/// can be withdrawn.
constexpr uint64_t wants_ack = uint64_t{1} << 32;
struct rtr_body {
  uint64_t size;  // bytes of the message that the receiver accepts
  uint64_t addr;
  uint64_t rkey;       // 0: can't be written
  uint64_t operation;  // the receiver's handle; the header's tag is the sender's
};
struct fin_body {   // may be missing: then no data was sent
  uint64_t unsent;  // bytes of the transfer that will not arrive
};
struct fragment_body {  // the header's tag is the receiver's handle
  uint64_t offset;
};
struct ack_body {
  uint64_t operation;  // the sender's handle, with wants_ack
};
struct signal_body {
  uint64_t addr;
  uint64_t size;
};
struct put_body {  // the header's tag is the origin's handle
  uint64_t addr;
  uint64_t rkey;
};
struct get_body {  // the header's tag is the origin's handle
  uint64_t addr;
  uint64_t rkey;
  uint64_t size;
};

struct atomic_body {  // the header's tag is the origin's handle
  uint64_t addr;
  uint64_t rkey;
  uint64_t operand;
  uint64_t compare;
};
struct atomic_result {
  uint64_t value;  // before the operation
};
/// An atomic operation and its type as the header's `engine`.
inline uint16_t pack_atomic(atomic_op_t op, atomic_type_t type) {
  return static_cast<uint16_t>(static_cast<unsigned>(op) | static_cast<unsigned>(type) << 8);
}
inline atomic_op_t atomic_op_of(const header& head) { return static_cast<atomic_op_t>(head.engine & 0xff); }
inline atomic_type_t atomic_type_of(const header& head) { return static_cast<atomic_type_t>(head.engine >> 8); }

/// Policy of a `fin`, `ack` or `atomic_reply`: the target could not perform the operation, or one side cancelled it.
constexpr uint8_t refused = 1;
constexpr uint8_t cancelled = 2;
/// Policy of a `fin` or `ack`: the target had no memory for the message.
constexpr uint8_t no_memory = 4;
/// Policy of a `fin` that answers a `withdraw`: the RTS has been matched, or has not arrived yet.
constexpr uint8_t not_found = 3;

/// Policy of a `send_pause`.
constexpr uint8_t go_on = 0;
constexpr uint8_t pause = 1;
constexpr uint8_t search = 2;  // the addressee has paused the sender

/// Policy of a `device_end`: the addressee must answer the sender's outstanding messages (`ends`); or the sender has
/// sent its last message through this device (`has_ended`).
constexpr uint8_t ends = 0;
constexpr uint8_t has_ended = 1;

/// Policy of am_ordered and rts_ordered: the target sends a stream_credit after delivery.
constexpr uint8_t asks_credit = 1;
inline bool asks_for_credit(network::message_head head) { return (head.words[0] >> 8 & asks_credit) != 0; }
/// Policy of am_ordered: the sender waits for an ack, and the message begins with an ack_body.
constexpr uint8_t ack_follows = 2;
/// A message's number in its stream is the upper half of its header's `tag`.
inline uint64_t pack_number(uint32_t number, uint64_t tag) { return tag | uint64_t{number} << 32; }
inline uint32_t number_of(const header& head) { return static_cast<uint32_t>(head.tag >> 32); }
inline uint32_t number_of(network::message_head head) { return static_cast<uint32_t>(head.words[1] >> 32); }

/// Reserved ids of matching engines: the one for raw messages, which each receiving device has.
constexpr uint16_t raw_engine = 0xffff;
constexpr uint16_t check_engine = 0xfffe;  // for the comparison of collective calls
/// Reserved remote completion handles (index 0 is never allocated): the signal of a raw put.
constexpr uint32_t raw_signal = 1u << 24;
/// The rounds of a device's barriers.
constexpr uint32_t barrier_round = 2u << 24;

/// A header and its body, contiguous, ready to be sent.
template <class Body>
struct framed {
  header head;
  Body body;
};

/// A decoded message. `data` points behind the header.
struct message {
  header head;
  const std::byte* data;
  size_t size;
};

/// The largest valid policy of a message of this kind.
inline uint8_t largest_policy(kind what) {
  return what == kind::fin || what == kind::ack ? no_memory : static_cast<uint8_t>(matching_policy_t::max) - 1;
}

/// Returns false if it is not a valid message: too short, or of unknown kind or policy.
inline bool decode(const std::byte* bytes, size_t size, message& out) {
  if (size < sizeof(header)) return false;
  std::memcpy(&out.head, bytes, sizeof(header));
  out.data = bytes + sizeof(header);
  out.size = size - sizeof(header);
  return out.head.what > kind::none && out.head.what <= kind::last && out.head.policy <= largest_policy(out.head.what);
}

/// Removes the body from the front of `m.data`. Returns false if the message is too short.
template <class Body>
bool take_body(message& m, Body& out) {
  static_assert(std::is_trivially_copyable_v<Body>);
  if (m.size < sizeof(Body)) return false;
  std::memcpy(&out, m.data, sizeof(Body));
  m.data += sizeof(Body);
  m.size -= sizeof(Body);
  return true;
}

}  // namespace lci::core::wire
