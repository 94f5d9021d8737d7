// The messages of CCS: tags and bodies. All processes run on machines of one kind, so structs are sent without
// conversion.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci.hpp"

namespace ccs::wire {

/// Messages to the program's handlers. Body: the arguments, one word each, padded to 16 bytes if there is data; then
/// the data. Body of a large message: large_head, then the arguments.
enum class purpose : uint32_t { request, reply, large };
struct address {
  purpose what;
  unsigned context, handler, num_args;
};
constexpr lci::tag_t pack(const address& a) {
  return static_cast<uint32_t>(a.what) << 24 | a.num_args << 16 | a.handler << 8 | a.context;
}
constexpr address unpack(lci::tag_t tag) {
  return {static_cast<purpose>(tag >> 24 & 0xff), static_cast<unsigned>(tag & 0xff),
          static_cast<unsigned>(tag >> 8 & 0xff), static_cast<unsigned>(tag >> 16 & 0xff)};
}
/// Returns whether the tag is that of a request or reply with a possible number of arguments.
constexpr bool is_short(lci::tag_t tag) {
  static_assert(static_cast<unsigned>(purpose::request) == 0 && static_cast<unsigned>(purpose::reply) == 1);
  return (tag >> 16 & 0xfeff) <= CCS_MAX_HANDLER_ARGS;
}
/// Bytes of the arguments, including the padding that aligns the data after them.
constexpr size_t size_of_arguments(unsigned n, bool data) {
  const size_t bytes = n * sizeof(CCS_handler_arg_t);
  return data ? (bytes + 15) / 16 * 16 : bytes;
}
struct large_head {
  uint64_t operation;  ///< number of the sender's operation
  uint64_t size;
};

/// The layer's own messages. They run no handlers of the program, only its callbacks.
enum class kind : uint32_t {
  key_request,   ///< key_request
  key_reply,     ///< key_reply
  key_ended,     ///< key_name: the owner revokes the key; answered with key_released
  key_released,  ///< key_name
  shape,         ///< shape_head, then a shape, to which later messages refer by its number
  shape_ended,   ///< shape_name
  data_in,       ///< data_head, then data to write to, or accumulate into, the receiver's memory
  data_request,  ///< data_head: requests data of the receiver's memory
  data_reply,    ///< reply_head, then data for an operation of the receiver
  done,          ///< result: an operation of the receiver has completed at the sender
  indexed,       ///< indexed_head, then data
  large_answer,  ///< large_answer
  last = large_answer
};

struct key_request {
  uint64_t address;
};
struct key_reply {
  uint64_t address;  ///< from the request
  uint64_t region;   ///< number of the registration; 0: the address is not registered
  uint64_t begin, end;
  lci::rmr_t rmr;
};
struct key_name {
  uint64_t region;
};
struct shape_head {
  uint64_t id;
  int64_t extent;
};
struct shape_name {
  uint64_t id;
};
/// A number of elements of a shape in the receiver's memory, or one run of bytes.
struct remote_layout {
  uint64_t address;
  uint64_t count;
  uint64_t shape;  ///< 0: `count` bytes
};
struct data_head {
  uint64_t operation;  ///< number of the sender's operation
  remote_layout at;
  uint64_t total, offset;
  uint32_t combine, number;  ///< operation and type of an accumulate; combine = plain: a put
  uint64_t unused;
  static constexpr uint32_t plain = ~0u;
};
static_assert(sizeof(data_head) % 16 == 0, "data behind it stays aligned");
struct reply_head {
  uint64_t operation;  ///< number of the receiver's operation
  uint64_t offset;
};
struct result {
  uint64_t operation;
  uint64_t address;  ///< if refused: an address that is not registered
  uint64_t refused;
};
struct indexed_head {
  uint64_t operation;
  uint64_t pointer;
};
struct large_answer {
  uint64_t operation;  ///< number of the receiver's operation
  uint64_t receiver;   ///< number of the sender's operation that awaits the data
  uint64_t refused;
};

/// Reads a body. Returns false if the message is too short.
template <class T>
bool take(const std::byte*& data, size_t& size, T& body) {
  if (size < sizeof body) return false;
  std::memcpy(&body, data, sizeof body);
  data += sizeof body;
  size -= sizeof body;
  return true;
}

}  // namespace ccs::wire
