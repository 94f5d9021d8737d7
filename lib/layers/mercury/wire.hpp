// What HG sends: a header and the encoded arguments or result. Integers are in little-endian order, which processor.hpp
// asserts.
#pragma once

#include <mercury_types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/layers/mercury/crc.hpp"

namespace mercury {

constexpr uint8_t wire_version = 1;
constexpr uint32_t request_magic = 0x71524748;   // "HGRq"
constexpr uint32_t response_magic = 0x73524748;  // "HGRs"

enum request_flags : uint8_t {
  arguments_are_elsewhere = 1,  // the payload is a serialized memory handle of the caller
  takes_parts = 2,              // the caller takes a result in several responses; HG does not
};

struct request_header {
  uint32_t magic = request_magic;
  uint8_t version = wire_version;
  uint8_t flags = 0;
  uint16_t unused = 0;
  uint32_t id = 0;             // of the function
  uint32_t name_hash = 0;      // of its name, by another function, so that two names with one id are told apart
  uint64_t cookie = 0;         // which the response repeats
  uint64_t arguments = 0;      // bytes of encoded arguments
  uint64_t elsewhere_crc = 0;  // of the encoded arguments, if they are elsewhere
  uint32_t payload = 0;        // bytes that follow
  uint32_t signature = 0;      // a hash of the types of arguments and result; 0: unknown, as from HG
  uint64_t crc = 0;            // of header and payload, this being 0
};
static_assert(sizeof(request_header) == 56);

enum response_flags : uint8_t {
  explains = 1,  // of a failure: the payload describes it
  is_part = 2,   // the payload is a part_header, and a part of the result
};

struct response_header {
  uint32_t magic = response_magic;
  uint8_t version = wire_version;
  uint8_t flags = 0;
  uint8_t unused[2] = {};
  int32_t result = 0;  // an hg_return_t
  uint32_t payload = 0;
  uint64_t cookie = 0;  // 0 if the request could not be read
  uint64_t crc = 0;
};
static_assert(sizeof(response_header) == 32);

/// Of a result in parts, which may arrive in any order.
struct part_header {
  uint64_t total = 0;   // bytes of the result
  uint64_t offset = 0;  // of this part
};

/// The checksum of a message whose header's last member is the checksum.
template <class Header>
uint64_t message_crc(const void* message, size_t payload) {
  constexpr size_t before = sizeof(Header) - sizeof(uint64_t);
  const uint64_t value = crc64(crc64_start, message, before);
  return payload > 0 ? crc64(value, static_cast<const char*>(message) + sizeof(Header), payload) : value;
}

/// Writes the header, with its checksum, before a payload that is in place.
template <class Header>
void seal(Header h, void* message) {
  std::memcpy(message, &h, sizeof h);
  h.crc = message_crc<Header>(message, h.payload);
  std::memcpy(message, &h, sizeof h);
}

/// Reads the header of a message of `size` bytes; the reason if the message is damaged or none of ours. No member is
/// used before the checksum has been verified, but `payload`, which is compared with the size.
template <class Header>
hg_return_t open(const void* message, size_t size, bool is_exact, Header& h) {
  const Header ours;
  if (size < sizeof h) return HG_PROTOCOL_ERROR;
  std::memcpy(&h, message, sizeof h);
  if (h.magic != ours.magic || h.version != ours.version) return HG_PROTOCOL_ERROR;
  const size_t room = size - sizeof h;
  if (h.payload > room || (is_exact && h.payload != room)) return HG_PROTOCOL_ERROR;
  return message_crc<Header>(message, h.payload) == h.crc ? HG_SUCCESS : HG_CHECKSUM_ERROR;
}

}  // namespace mercury
