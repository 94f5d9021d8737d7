// Sums over the ranks of an endpoint's group.
#pragma once

#include "lib/layers/v1/world.hpp"

namespace v1 {

/// Collective. Waits until each message that was sent on the endpoint, by any rank, has ended at its target.
void await_quiet(LCI_endpoint_s& endpoint);

}  // namespace v1
