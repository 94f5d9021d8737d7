// Registered memory of peers, as the target of puts and the source of gets.
#pragma once

#include <lci.h>

#include <lci.hpp>

#include "lib/layers/v1/world.hpp"

namespace v1 {

/// A range of registered memory of a peer: its key, and the offset from the beginning of the registration.
struct remote_range {
  lci::rmr_t key;
  uint64_t offset;
};
/// Throws if the buffer has no segment, or is not in it.
remote_range range_of(const LCI_lbuffer_t& remote);

/// The core's handle of the completion object that a put or a get signals at the target; 0: none.
lci::rcomp_t notified(const LCI_endpoint_s& ep, uintptr_t remote_completion);

}  // namespace v1
