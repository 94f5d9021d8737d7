// The tags of the core's messages: who they are for, and what they are.
#pragma once

#include <cstdint>

#include "lci/types.hpp"

namespace v1 {

// Two bits say what a message is, seven which device it belongs to, seven which of its endpoints, sixteen are the
// program's tag. So all endpoints share one matching engine and one set of remote completion handles, and a small
// message takes the core's shortest path.
constexpr unsigned tag_bits = 16;
constexpr uint32_t max_tag = (1u << tag_bits) - 1;
constexpr unsigned endpoint_bits = 7, device_bits = 7;
constexpr unsigned max_endpoints_of_device = 1u << endpoint_bits;
constexpr unsigned max_devices = 1u << device_bits;
/// Numbers of endpoints in their process: device and endpoint.
constexpr unsigned max_ids = 1u << (endpoint_bits + device_bits);

/// Key spaces of sends and receives, which do not match each other.
enum class space : uint32_t { shorts, mediums, longs, vectors };
/// What an active message or a signal is.
enum class arrival : uint32_t {
  immediate,  ///< a short message
  medium,     ///< goes into a packet
  placed,     ///< has been, or is to be, copied to an address of the target: a `placement` follows the data
  signal,     ///< memory of the target was written or read by a put or a get
};

constexpr uint32_t tag_of(space s) { return static_cast<uint32_t>(s) << 30; }
constexpr uint32_t tag_of(arrival a) { return static_cast<uint32_t>(a) << 30; }
constexpr uint32_t tag_of_id(unsigned id) { return id << tag_bits; }

constexpr arrival arrival_of(lci::tag_t tag) { return static_cast<arrival>((tag >> 30) & 3); }
constexpr unsigned id_of(lci::tag_t tag) { return static_cast<unsigned>(tag >> tag_bits) & (max_ids - 1); }
constexpr uint32_t user_tag_of(lci::tag_t tag) { return static_cast<uint32_t>(tag & max_tag); }

/// Behind the data of a `placed` message.
struct placement {
  uint64_t address;  ///< of the target
  uint64_t signals;  ///< whether a completion object is signalled
};

}  // namespace v1
