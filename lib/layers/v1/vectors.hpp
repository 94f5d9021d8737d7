// Sends and puts of iovecs. A first message (a step) carries the lengths of the long buffers and the piggy-back data.
// The target posts a receive for each buffer and answers. Each buffer then follows as a send of the core.
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

/// Handles a step that has arrived for this endpoint. Throws if it is malformed or names no completion object.
void handle_step(LCI_endpoint_s& endpoint, const lci::status_t& status);

/// Ends, as failed, the operations that wait for an answer of a rank that has failed. Allocates nothing.
void end_vectors_of(int rank) noexcept;

}  // namespace v1
