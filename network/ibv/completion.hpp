// Completions of libibverbs, and the ids that connect them with their work requests.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace lci::network::ibv {

/// The id of a work request, which its completion carries. The opcode of a failed completion is undefined, so the id
/// says what the request was.
struct work_id {
  static constexpr int max_peers = 1 << 30;

  bool receive = false;
  int peer = 0;           ///< the target of a send, put or get
  uint32_t sequence = 0;  ///< of a send, put or get: its sequence number to this peer; of a receive: its slot

  uint64_t packed() const { return uint64_t{receive} << 63 | uint64_t{static_cast<uint32_t>(peer)} << 32 | sequence; }
  static work_id unpack(uint64_t bits) {
    return {bits >> 63 != 0, static_cast<int>(bits >> 32 & (max_peers - 1)), static_cast<uint32_t>(bits)};
  }
};

/// A decoded completion; no longer depends on the completion queue or the send queues.
struct completion {
  enum class kind : uint8_t {
    sent,          ///< a send, put or get is complete; `context`
    message,       ///< `slot`, `size`
    control,       ///< a control message of a device, `imm`; `slot`
    put_with_imm,  ///< `imm`; `slot`, whose buffer is unchanged
    not_sent,      ///< `status`, `context`
    not_received,  ///< `status`, `slot`
  };
  kind what;
  ibv_wc_status status;
  int peer;  // -1: unknown
  uint32_t size;
  uint32_t imm;
  uint32_t slot;
  void* context;  // null: no completion was requested
};

}  // namespace lci::network::ibv
