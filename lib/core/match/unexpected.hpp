// A message that arrived before its receive was posted.
#pragma once

#include <cstddef>

#include "lci/types.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

/// An entry of a matching engine. Followed in memory by the payload of an eager message. Owned by the engine; by the
/// thread that removes it afterwards, which frees it with free_unexpected(). Written only under the bucket's lock while
/// the engine has it.
struct unexpected {
  int peer;
  tag_t tag;
  size_t size;  // of the whole message
  bool rendezvous;
  bool cancelled;      // of an RTS: no data will follow, since the sender's device or `device_uid` was freed
  int device_uid;      // the device that has received it, and sends the answer to an RTS
  wire::rts_body rts;  // of an eager one: `operation` only
  std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
  size_t memory() const { return sizeof(unexpected) + (rendezvous ? 0 : size); }
};

}  // namespace lci::core
