// Addresses of contexts as text, and the memory of processes outside of the job.
#pragma once

#include <string>

#include "network/shm/connection_area.hpp"

namespace lci::network::shm {

std::string to_text(const external_address& a);
/// Throws invalid_argument_error.
external_address parse_address(const std::string& text);
inline bool is_same(const external_address& a, const external_address& b) { return to_text(a) == to_text(b); }

/// peer_failure_error (rank -1): the process has ended, or its context has.
[[noreturn]] void throw_gone(const external_address& a);

/// What of a external peer's memory is mapped here.
struct external_memory {
  mapping segment;
  mapping connection_area;
};
/// Looked at before it is used. Throws as throw_gone() does, or resource_error if it can't be reached or isn't
/// what it should be.
external_memory map_external(const external_address& a);

}  // namespace lci::network::shm
