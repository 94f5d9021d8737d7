// Unexpected messages of a device: how they are stored in a matching engine, and end without a receive.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/match/unexpected.hpp"
#include "lib/core/operation/operation.hpp"

namespace lci::core {

class device;

/// Allocates one with room for the payload. Returns null if there is no memory for it, also after a while.
unexpected* allocate_unexpected(size_t payload);
/// Stores an eager message in the engine; `match` is the receive if one was posted meanwhile. `ack`: the sender's
/// operation, with wire::wants_ack; 0: none. Returns false if there is no memory for it.
[[nodiscard]] LCI_NOINLINE bool file_unexpected(device& d, matching_engine& engine, uint64_t key, int peer, tag_t tag,
                                                const std::byte* data, size_t size, uint64_t ack, void*& match);
/// The same for a message already allocated and counted; frees it if there is no memory to insert it.
[[nodiscard]] bool file_unexpected(device& d, matching_engine& engine, uint64_t key, unexpected* u, void*& match);

/// The outcome of storing a message whose matching engine this rank has not allocated.
enum class early {
  stored,     // until the engine is allocated
  allocated,  // not stored: another thread has allocated the engine meanwhile
  rejected,   // its engine number is out of range
  no_memory,
};
/// Stores an eager message; `ack` as above.
[[nodiscard]] LCI_COLD early store_early(device& d, int peer, const wire::header& head, const std::byte* data,
                                         size_t size, uint64_t ack);
/// Stores a message already allocated and counted; frees it if there is no memory. If the outcome is `allocated`,
/// `engine` is the new engine, and the caller still owns the message.
[[nodiscard]] LCI_COLD early store_early(device& d, const wire::header& head, unexpected* u, matching_engine*& engine);

/// Answers, as `cancelled`, the senders of unexpected messages that came through this device, if they wait for
/// an answer. `peer`: only that sender; negative: all.
LCI_COLD void answer_unexpected(device& d, int peer);
/// The same for one message, which is about to be discarded.
LCI_COLD void answer_discarded(device& d, const unexpected& u);
/// Cancels a receive that matched a message whose sender, or whose device here, has ended.
LCI_COLD void cancel_receive(device& d, operation* op, int peer, tag_t tag);

}  // namespace lci::core
