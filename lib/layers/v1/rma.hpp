// Memory of peers.
#pragma once

#include <lci.h>

#include <lci.hpp>

#include "lib/layers/v1/world.hpp"

namespace v1 {

struct remote_range {
  lci::rmr_t key;
  uint64_t offset;
};
/// Throws if the buffer is not in its segment, or has none.
remote_range range_of(const LCI_lbuffer_t& remote);

/// The core's handle of what a put or a get signals at the target; 0: nothing.
lci::rcomp_t notified(const LCI_endpoint_s& ep, uintptr_t remote_completion);

}  // namespace v1
