// Addresses of contexts as text, and mapping the memory of processes outside of the job.
#pragma once

#include <string>

#include "network/shm/connection_area.hpp"

namespace lci::network::shm {

std::string to_text(const external_address& a);
/// Throws invalid_argument_error.
external_address parse_address(const std::string& text);
inline bool is_same(const external_address& a, const external_address& b) { return to_text(a) == to_text(b); }

/// Throws peer_failure_error (rank -1): the process or its context has ended.
[[noreturn]] void throw_gone(const external_address& a);

/// The mapped memory of an external peer.
struct external_memory {
  peer_segment segment;
  mapping area_map;
  uint32_t capacity = 0;  // of the connection area, as it was validated
  connection_area_view connection_area() const { return {area_map.base(), capacity}; }
};
/// Maps it and validates it. Throws as throw_gone() does, or resource_error if it can't be mapped or is invalid.
external_memory map_external(const external_address& a);

}  // namespace lci::network::shm
