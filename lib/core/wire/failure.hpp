// Why an operation failed: in the operation, as a status code, and on the wire.
#pragma once

#include <cstdint>

#include "lci/types.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

enum class failure : uint8_t { none, fatal, cancelled, no_memory };

inline errorcode_t error_of(failure how) {
  return how == failure::cancelled   ? errorcode_t::cancelled
         : how == failure::no_memory ? errorcode_t::no_memory
                                     : errorcode_t::fatal;
}

/// Why an operation of this status failed.
inline failure failure_in(const status_t& status) {
  return status.error.errorcode == errorcode_t::cancelled   ? failure::cancelled
         : status.error.errorcode == errorcode_t::no_memory ? failure::no_memory
                                                            : failure::fatal;
}

/// The policy of a `fin` or `ack` that reports the failure to the peer. Any other value becomes `refused`.
inline uint8_t answer_of(failure how) {
  return how == failure::cancelled ? wire::cancelled : how == failure::no_memory ? wire::no_memory : wire::refused;
}

/// The failure that the policy of a `fin` or `ack` reports. (Not for a `fin` with not_found, which answers a withdraw.)
inline failure failure_said_by(uint8_t policy) {
  return policy == 0                 ? failure::none
         : policy == wire::cancelled ? failure::cancelled
         : policy == wire::no_memory ? failure::no_memory
                                     : failure::fatal;
}

}  // namespace lci::core
