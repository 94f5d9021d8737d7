// How the receiver of a rendezvous wants its data to move.
#pragma once

#include <cstdint>

#include "lib/core/operation/operation.hpp"

namespace lci::core {

class device;

enum class choice : uint8_t { read, write, write_imm, copy, split };

/// Chooses how the data of a rendezvous moves to the receiver `op`, whose buffer and size are known. The attribute
/// rdv_protocol decides. If it is `auto_select`, three things do: what the network can do, whether the sender polls
/// now, and how long earlier messages took. May admit the message to the window of large active messages. `readable`:
/// the receiver can read the sender's memory.
choice choose_transfer(device& d, operation* op, bool readable);

/// Records how long a rendezvous took. Call it when an operation whose `timed` is true has ended. A receiver's time
/// goes into the device's way_table, a sender's into its protocol_table.
void note_end_of_timed(device& d, const operation* op);

}  // namespace lci::core
