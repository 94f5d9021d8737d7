// How the receiver of a rendezvous wants its data to move.
#pragma once

#include <cstdint>

#include "lib/core/operation/operation.hpp"
#include "lib/core/transfer/way_estimates.hpp"

namespace lci::core {

class device;

enum class choice : uint8_t { read, write, write_imm, copy, split };

/// Chooses for a receive whose buffer and size are known, by the attribute rdv_protocol; for `auto_select`, by what the
/// network can do, by what the sender does now, and by how long earlier messages took. May admit the message to the
/// window of large active messages. `readable`: the sender's memory can be read.
choice choose_transfer(device& d, operation* op, bool readable);

/// The way that a receive has taken which has ended.
inline way way_of(const operation& op) {
  if (op.doing() == op_state::splitting) return way::split;
  return op.doing() == op_state::await_data && op.transfer == wire::transfer::copy ? way::fragments : way::read;
}

}  // namespace lci::core
