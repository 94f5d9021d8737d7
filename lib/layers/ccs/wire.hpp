// What CCS's processes send each other: the tags of messages, and their bodies. All processes are of one kind of
// machine, so structs are sent as they are.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci.hpp"

namespace ccs::wire {

/// Messages to the program's handlers. Body: the arguments, a word each; if there is data, padded to 16 bytes; the data.
/// A large message: large_head, then the arguments.
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
/// Bytes of the arguments, so that data behind them is as aligned as they are.
constexpr size_t size_of_arguments(unsigned n, bool data) {
  const size_t bytes = n * sizeof(CCS_handler_arg_t);
  return data ? (bytes + 15) / 16 * 16 : bytes;
}
struct large_head {
  uint64_t operation;  ///< the sender's
  uint64_t size;
};

/// Messages between the processes' CCS, which run no code of the program but callbacks.
enum class kind : uint32_t {
  key_request,   ///< key_request
  key_reply,     ///< key_reply
  key_ended,     ///< key_name: its registration will end; answered with key_released
  key_released,  ///< key_name
  shape,         ///< shape_head, and the shape: what later messages name by its number
  shape_ended,   ///< shape_name
  data_in,       ///< data_head, and data: for this process's memory
  data_request,  ///< data_head: for data of this process's memory
  data_reply,    ///< reply_head, and data: for an operation of this process
  done,          ///< result: an operation of the addressee has completed here
  indexed,       ///< indexed_head, and data
  large_answer,  ///< large_answer
  last = large_answer
};

struct key_request {
  uint64_t address;
};
struct key_reply {
  uint64_t address;  ///< that was asked for
  uint64_t region;   ///< 0: it is not registered
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
/// A number of elements of a shape in the addressee's memory, or one run of bytes.
struct remote_layout {
  uint64_t address;
  uint64_t count;
  uint64_t shape;  ///< 0: `count` bytes
};
struct data_head {
  uint64_t operation;  ///< the sender's
  remote_layout at;
  uint64_t total, offset;
  uint32_t combine, number;  ///< of an accumulate; combine = plain: the data replaces what is there
  uint64_t unused;
  static constexpr uint32_t plain = ~0u;
};
static_assert(sizeof(data_head) % 16 == 0, "data behind it stays aligned");
struct reply_head {
  uint64_t operation;  ///< the addressee's
  uint64_t offset;
};
struct result {
  uint64_t operation;
  uint64_t address;  ///< that is not registered, if it was refused
  uint64_t refused;
};
struct indexed_head {
  uint64_t operation;
  uint64_t pointer;
};
struct large_answer {
  uint64_t operation;  ///< the addressee's
  uint64_t receiver;   ///< the sender's operation, to which the data is to be sent
  uint64_t refused;
};

/// Reads a body; false if the message is too short.
template <class T>
bool take(const std::byte*& data, size_t& size, T& body) {
  if (size < sizeof body) return false;
  std::memcpy(&body, data, sizeof body);
  data += sizeof body;
  size -= sizeof body;
  return true;
}

}  // namespace ccs::wire
