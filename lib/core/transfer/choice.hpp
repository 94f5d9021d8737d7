// How the receiver of a rendezvous wants its data to move.
#pragma once

#include <cstdint>

#include "lib/core/operation/operation.hpp"
#include "lib/core/transfer/way_estimates.hpp"

namespace lci::core {

class device;

enum class choice : uint8_t { read, write, write_imm, copy, split };

/// Chooses how the data of a rendezvous moves to the receiver `op`, whose buffer and size are known. The attribute
/// rdv_protocol decides. If it is `auto_select`, three things do: what the network can do, whether the sender polls
/// now, and how long earlier messages took. May admit the message to the window of large active messages. `readable`:
/// the receiver can read the sender's memory.
choice choose_transfer(device& d, operation* op, bool readable);

/// How the data of a receive has moved. Call it when the receive has ended.
inline way way_of(const operation& op) {
  if (op.doing() == op_state::splitting) return way::split;
  return op.doing() == op_state::await_data && op.transfer == wire::transfer::copy ? way::fragments : way::read;
}

}  // namespace lci::core
