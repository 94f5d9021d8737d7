// The tags of the layer's messages in the core. A tag encodes the kind of message, the target's device and endpoint,
// and the program's tag.
#pragma once

#include <cstdint>

#include "lci/types.hpp"

namespace v1 {

// From the highest bit: 2 bits kind, 7 bits device, 7 bits endpoint of the device, 16 bits the program's tag. With
// devices and endpoints in the tag, all endpoints share one matching engine and one set of remote completion handles,
// and small messages use the core's fastest path.
constexpr unsigned tag_bits = 16;
constexpr uint32_t max_tag = (1u << tag_bits) - 1;
constexpr unsigned endpoint_bits = 7, device_bits = 7;
constexpr unsigned max_endpoints_of_device = 1u << endpoint_bits;
constexpr unsigned max_devices = 1u << device_bits;
/// Number of endpoint ids in a process. An id consists of device and endpoint.
constexpr unsigned max_ids = 1u << (endpoint_bits + device_bits);

/// The kind of a send or receive. Those of different kinds do not match.
enum class space : uint32_t { shorts, mediums, longs, vectors };
/// The kind of an active message or a signal.
enum class arrival : uint32_t {
  immediate,  ///< a short message
  medium,     ///< delivered in a packet
  placed,     ///< data for an address of the target; a `placement` follows the data
  signal,     ///< the signal of a put or get, which has written or read the target's memory
};

constexpr uint32_t tag_of(space s) { return static_cast<uint32_t>(s) << 30; }
constexpr uint32_t tag_of(arrival a) { return static_cast<uint32_t>(a) << 30; }
constexpr uint32_t tag_of_id(unsigned id) { return id << tag_bits; }

constexpr arrival arrival_of(lci::tag_t tag) { return static_cast<arrival>((tag >> 30) & 3); }
constexpr unsigned id_of(lci::tag_t tag) { return static_cast<unsigned>(tag >> tag_bits) & (max_ids - 1); }
constexpr uint32_t user_tag_of(lci::tag_t tag) { return static_cast<uint32_t>(tag & max_tag); }

/// Follows the data of a `placed` message.
struct placement {
  uint64_t address;  ///< destination at the target
  uint64_t signals;  ///< 1: signal the target's completion object
};

}  // namespace v1
