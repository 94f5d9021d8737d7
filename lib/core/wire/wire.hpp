// Every bit that travels: one header of 16 bytes, then a body that depends on the kind, then the
// payload. Decoders sit beside encoders; whatever they don't accept is counted and dropped.
//
// Byte order is the host's: the library serves homogeneous machines.
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
  am,            // eager active message: payload
  send,          // eager send: payload
  rts_am,        // request to send: rts_body
  rts_send,      //
  rtr,           // ready to receive: rtr_body; answer to an RTS that is not read
  fin,           // the transfer is finished; `tag` is the addressee's operation handle
  fragment,      // a piece of a transfer by copies: fragment_body, payload
  signal,        // a put or get with signal has touched this memory: signal_body
  put_data,      // a put by messages: put_body, payload
  ack,           // of put_data, or of a message that wants one; `tag` is the origin's handle
  get_request,   // a get by messages: get_body; answered with fragments
  atomic_request,  // atomic_body; `engine` says which operation on which type; `tag` as put_data
  atomic_reply,  // atomic_result; `tag` is the origin's operation handle
  am_acked,      // as am and send, with ack_body before the payload: an ack follows once it has been
  send_acked,    // delivered
  am_ordered,    // of stream `engine`: payload, after an ack_body if `policy` says so
  rts_ordered,   // its large ones: rts_body
  stream_credit,  // of stream `engine`: messages before `word`, `tag` bytes in all, were delivered
  withdraw,      // as the rts_send that it takes back, with ack_body: if nothing has met that, a fin
  device_end,    // the sender frees the device that it sends this through; `policy` says how far that is
  send_pause,    // the addressee's sends are to pause, or to go on, as `policy` says; `word` numbers these. Or
                 // a search for a circle: number `word` of those of rank `tag`
  last = send_pause,
};

/// What precedes every message. `word` and `tag` mean what `kind` says.
struct header {
  kind what = kind::none;
  uint8_t policy = 0;   // matching_policy_t of send, rts_send; rtr: transfer
  uint16_t engine = 0;  // matching engine of send, rts_send
  uint32_t word = 0;    // rcomp of am, rts_am, signal
  uint64_t tag = 0;
};
static_assert(sizeof(header) == 16);

/// A header as the two words that travel in registers. A header in memory is written field by field
/// and would have to be read as words: the processor waits for small stores to come together.
inline network::message_head pack(kind what, uint8_t policy, uint16_t engine, uint32_t word,
                                  uint64_t tag) {
  static_assert(std::endian::native == std::endian::little);
  return {{static_cast<uint64_t>(what) | uint64_t{policy} << 8 | uint64_t{engine} << 16 |
               uint64_t{word} << 32,
           tag}};
}
/// Of a send: the engine and, in the lowest 8 bits, the policy.
inline network::message_head pack_send(uint32_t engine_and_policy, uint64_t tag) {
  return {{static_cast<uint64_t>(kind::send) | uint64_t{engine_and_policy} << 8, tag}};
}
/// Whether it is an active message's. (A policy means nothing to those: it must be 0.)
inline bool is_am(network::message_head head) {
  return static_cast<uint16_t>(head.words[0]) == static_cast<uint16_t>(kind::am);
}
inline bool is_signal(network::message_head head) {
  return static_cast<uint8_t>(head.words[0]) == static_cast<uint8_t>(kind::signal);
}
/// Whether it is an eager send's, with a policy that exists.
inline bool is_send(network::message_head head) {
  return (head.words[0] & 0xfcff) == static_cast<uint64_t>(kind::send);
}
static_assert(static_cast<int>(matching_policy_t::max) == 4);
inline matching_policy_t policy_of(network::message_head head) {
  return static_cast<matching_policy_t>(head.words[0] >> 8 & 0xff);
}
inline uint16_t engine_of(network::message_head head) {
  return static_cast<uint16_t>(head.words[0] >> 16);
}
inline uint32_t word_of(network::message_head head) {
  return static_cast<uint32_t>(head.words[0] >> 32);
}
/// Of a user's message. Above it stands the number that a sender which takes a trace has given the message: see
/// may_have_number().
inline uint64_t tag_of(network::message_head head) { return static_cast<uint32_t>(head.words[1]); }
inline uint64_t tag_of(const header& head) { return static_cast<uint32_t>(head.tag); }
inline header unpack(network::message_head head) { return std::bit_cast<header>(head); }
inline network::message_head pack(const header& head) {
  return std::bit_cast<network::message_head>(head);
}

/// Whether a message of that kind has room for a number, in the upper half of its `tag`: those that users know of.
/// Receivers do not look at it, but for a trace. 0: its sender takes none.
inline bool may_have_number(kind k) {
  return k == kind::am || k == kind::send || k == kind::signal || k == kind::rts_am || k == kind::rts_send ||
         k == kind::am_acked || k == kind::send_acked;
}

/// How the data of a rendezvous comes, as the receiver has chosen.
enum class transfer : uint8_t { write, write_imm, copy, last = copy };

struct rts_body {
  uint64_t size;       // of the whole message
  uint64_t addr;       // where it lies at the sender
  uint64_t rkey;       // 0: can't be read
  uint64_t operation;  // the sender's handle, with wants_ack
};
/// Beside an operation's handle: its owner waits for an ack. The 31 bits above tell requests apart that
/// can be withdrawn.
constexpr uint64_t wants_ack = uint64_t{1} << 32;
struct rtr_body {
  uint64_t size;  // how much of the message the receiver takes
  uint64_t addr;
  uint64_t rkey;  // 0: can't be written
  uint64_t operation;  // the receiver's handle; the header's tag is the sender's
};
struct fin_body {  // may be missing: then nothing has been sent
  uint64_t unsent;  // bytes that the receiver waits for in vain
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
inline atomic_op_t atomic_op_of(const header& head) {
  return static_cast<atomic_op_t>(head.engine & 0xff);
}
inline atomic_type_t atomic_type_of(const header& head) {
  return static_cast<atomic_type_t>(head.engine >> 8);
}

/// Policy of a `fin`, `ack` or `atomic_reply`: the target could not do it, or one end has cancelled it.
constexpr uint8_t refused = 1;
constexpr uint8_t cancelled = 2;
/// Policy of a `fin` or `ack`: the target had no memory for the message.
constexpr uint8_t no_memory = 4;
/// Policy of a `fin` that answers a `withdraw`: there is no such request, or not yet.
constexpr uint8_t not_found = 3;

/// Policy of a `send_pause`.
constexpr uint8_t go_on = 0;
constexpr uint8_t pause = 1;
constexpr uint8_t search = 2;  // the sender is paused by the addressee

/// Policy of a `device_end`: the addressee is to answer what waits for it; or nothing will come any more.
constexpr uint8_t ends = 0;
constexpr uint8_t has_ended = 1;

/// Policy of am_ordered and rts_ordered: a stream_credit is to follow the delivery.
constexpr uint8_t asks_credit = 1;
/// Policy of am_ordered: its sender waits for an ack, and the message begins with an ack_body.
constexpr uint8_t ack_follows = 2;
/// The number that a message has in its stream is the upper half of its header's `tag`.
inline uint64_t pack_number(uint32_t number, uint64_t tag) { return tag | uint64_t{number} << 32; }
inline uint32_t number_of(const header& head) { return static_cast<uint32_t>(head.tag >> 32); }

/// Instead of a matching engine's id: the one for raw messages of the device that they come to.
constexpr uint16_t raw_engine = 0xffff;
constexpr uint16_t check_engine = 0xfffe;  // in which ranks compare their collective calls
/// Instead of a remote completion handle (index 0 is none's): the signal of a raw put.
constexpr uint32_t raw_signal = 1u << 24;
/// The same for the rounds of the barriers on a device.
constexpr uint32_t barrier_round = 2u << 24;

/// A header and its body, contiguous, ready to be sent.
template <class Body>
struct framed {
  header head;
  Body body;
};

/// A received message taken apart. `data` is what follows the header.
struct message {
  header head;
  const std::byte* data;
  size_t size;
};

/// The largest policy that a message of this kind can have.
inline uint8_t largest_policy(kind what) {
  return what == kind::fin || what == kind::ack ? no_memory
                                                : static_cast<uint8_t>(matching_policy_t::max) - 1;
}

/// False if it can't be one of ours: too short, or of unknown kind or policy.
inline bool decode(const std::byte* bytes, size_t size, message& out) {
  if (size < sizeof(header)) return false;
  std::memcpy(&out.head, bytes, sizeof(header));
  out.data = bytes + sizeof(header);
  out.size = size - sizeof(header);
  return out.head.what > kind::none && out.head.what <= kind::last &&
         out.head.policy <= largest_policy(out.head.what);
}

/// Takes the body off the front of `m.data`. False if the message is too short for it.
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
