// The messages of HG: a header, then encoded arguments or a result. Integers are little-endian.
#pragma once

#include <mercury_types.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/layers/mercury/message_check.hpp"

namespace mercury {

constexpr uint8_t wire_version = 4;
constexpr uint32_t request_magic = 0x71524748;   // "HGRq"
constexpr uint32_t response_magic = 0x73524748;  // "HGRs"

enum request_flags : uint8_t {
  arguments_are_elsewhere = 1,  // the payload is an elsewhere_header and a serialized memory handle of the caller
  takes_parts = 2,              // the caller accepts a result in several responses (lci/rpc.hpp does, HG does not)
};

template <class Header>
uint64_t first_word_of(const Header& h) {
  return uint64_t{h.payload} << 48 | uint64_t{h.flags} << 40 | uint64_t{h.version} << 32 | h.magic;
}

// Headers are small, so that a short call and its answer each take one line of the core's lanes in shared memory.
struct request_header {
  uint32_t magic = request_magic;
  uint8_t version = wire_version;
  uint8_t flags = 0;
  uint16_t payload = 0;    // bytes that follow the header: the encoded arguments, unless they are elsewhere
  uint32_t id = 0;         // of the function: a hash of its name
  uint32_t name_hash = 0;  // a second hash of its name, to detect two names with the same id
  uint64_t cookie = 0;     // identifies the call; the response repeats it
  uint32_t signature = 0;  // a hash of the types of arguments and result; 0: unknown, as from HG
  uint32_t check = 0;      // checksum of header and payload, without this member

  /// Its bytes, as words.
  std::array<uint64_t, 4> words() const {
    return {first_word_of(*this), uint64_t{name_hash} << 32 | id, cookie, uint64_t{check} << 32 | signature};
  }
};
static_assert(sizeof(request_header) == 32);

/// Precedes the memory handle of arguments that the caller keeps.
struct elsewhere_header {
  uint64_t arguments = 0;  // bytes of encoded arguments
  uint32_t check = 0;      // their checksum
  uint32_t unused = 0;
};

enum response_flags : uint8_t {
  explains = 1,  // the call has failed, and the payload describes why
  is_part = 2,   // the payload is a part_header and a part of the result
};

struct response_header {
  uint32_t magic = response_magic;
  uint8_t version = wire_version;
  uint8_t flags = 0;
  uint16_t payload = 0;
  uint64_t cookie = 0;  // the request's; 0 if the request could not be decoded
  int32_t result = 0;   // an hg_return_t
  uint32_t check = 0;

  std::array<uint64_t, 3> words() const {
    return {first_word_of(*this), cookie, uint64_t{check} << 32 | static_cast<uint32_t>(result)};
  }
};
static_assert(sizeof(response_header) == 24);

/// The largest message whose payload a header can describe.
constexpr size_t largest_message = UINT16_MAX;

/// Precedes each part of a result that is sent in parts. Parts may arrive in any order. Each but the last is as long as
/// fits in the largest response.
struct part_header {
  uint64_t total = 0;   // bytes of the result
  uint64_t offset = 0;  // of this part in the result
};

/// The checksum of a message. It covers header and payload, but not the header's last member, which stores it.
template <class Header>
uint32_t check_of(const void* message, size_t payload) {
  constexpr size_t before = sizeof(Header) - sizeof(uint32_t);
  const uint32_t value = message_check_of<before>(check_start, message);
  return payload > 0 ? message_check(value, static_cast<const char*>(message) + sizeof(Header), payload) : value;
}

/// Computes the checksum, and writes the header in front of a payload that is in the buffer already. Writes words: a
/// processor that reads a word which it has just written in parts waits until the parts are in its cache.
template <class Header>
void seal(const Header& h, void* message) {
  static_assert(std::endian::native == std::endian::little);
  auto words = h.words();
  static_assert(sizeof words == sizeof h);
  std::memcpy(message, words.data(), sizeof words);
  words.back() |= uint64_t{check_of<Header>(message, h.payload)} << 32;
  std::memcpy(static_cast<char*>(message) + sizeof h - sizeof(uint64_t), &words.back(), sizeof(uint64_t));
}

/// Reads the header of a message of `size` bytes. Returns an error code if the message is damaged or of another
/// protocol. Before the checksum has been verified, it trusts no member: it compares `payload` with the size first.
template <class Header>
hg_return_t open(const void* message, size_t size, Header& h) {
  const Header ours;
  if (size < sizeof h) return HG_PROTOCOL_ERROR;
  std::memcpy(&h, message, sizeof h);
  if (h.magic != ours.magic || h.version != ours.version) return HG_PROTOCOL_ERROR;
  if (h.payload != size - sizeof h) return HG_PROTOCOL_ERROR;
  return check_of<Header>(message, h.payload) == h.check ? HG_SUCCESS : HG_CHECKSUM_ERROR;
}

/// A response without a result to a call that has succeeded. With the core's header it takes half a line of a lane in
/// shared memory, where a response_header would take a whole one. Half of the cookie suffices: a late answer to another
/// call would have to come from the same connection, 2^32 calls later.
struct short_response {
  static uint64_t of(uint64_t cookie) {
    const auto half = static_cast<uint32_t>(cookie);
    const uint64_t covered = uint64_t{half} << 32 | (response_magic + wire_version);
    return uint64_t{message_check_of<sizeof covered>(check_start, &covered)} << 32 | half;
  }
};

/// Writes the header in front of a payload that is in the buffer already. Returns the size of the message.
inline size_t seal_response(const response_header& h, void* message) {
  if (h.payload == 0 && h.result == HG_SUCCESS && h.flags == 0) {
    const uint64_t whole = short_response::of(h.cookie);
    std::memcpy(message, &whole, sizeof whole);
    return sizeof whole;
  }
  seal(h, message);
  return sizeof h + h.payload;
}

/// open() for a response to a call with the cookie `awaited`, or to an earlier one; then h.cookie differs from
/// `awaited`.
inline hg_return_t open_response(const void* message, size_t size, uint64_t awaited, response_header& h) {
  uint64_t whole;
  if (size != sizeof whole) return open(message, size, h);
  std::memcpy(&whole, message, sizeof whole);
  const auto half = static_cast<uint32_t>(whole);
  if (whole != short_response::of(half)) return HG_CHECKSUM_ERROR;
  h.cookie = half == static_cast<uint32_t>(awaited) ? awaited : ~awaited;
  return HG_SUCCESS;
}

}  // namespace mercury
