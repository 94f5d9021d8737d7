// Iovecs: a first step carries the lengths and the piggy-back data, the target answers when it has room, and each long
// buffer follows as a send of its own, by whatever protocol the core chooses for it.
#pragma once

#include <lci.h>

#include <lci.hpp>

#include "lib/layers/v1/comp.hpp"

struct LCI_endpoint_s;

namespace v1 {

/// Puts an iovec into memory that the target allocates; `type` is LCI_IOVEC, or LCI_LONG for its only buffer.
/// `receiver`: the target's completion object; 0: the default one.
LCI_error_t put_vector(LCI_endpoint_s& ep, const LCI_iovec_t& iovec, LCI_data_type_t type, comp& to, int rank,
                       LCI_tag_t tag, lci::rcomp_t receiver, void* user_context);

/// A step of a peer has arrived for this endpoint.
void take_step(LCI_endpoint_s& endpoint, const lci::status_t& status);

/// Ends as failed what waits for the answer of a rank that has died. Allocates nothing.
void end_vectors_of(int rank) noexcept;

}  // namespace v1
