// Addresses of contexts as text, and the memory of processes outside of the job.
#pragma once

#include <string>

#include "network/shm/lobby.hpp"

namespace lci::network::shm {

std::string to_text(const guest_address& a);
/// Throws invalid_argument_error.
guest_address parse_address(const std::string& text);
inline bool is_same(const guest_address& a, const guest_address& b) { return to_text(a) == to_text(b); }

/// peer_failure_error (rank -1): the process has ended, or its context has.
[[noreturn]] void throw_gone(const guest_address& a);

/// What of a guest's memory is mapped here.
struct guest_memory {
  mapping segment;
  mapping lobby;
};
/// Looked at before it is used. Throws as throw_gone() does, or resource_error if it can't be reached or isn't
/// what it should be.
guest_memory map_guest(const guest_address& a);

}  // namespace lci::network::shm
