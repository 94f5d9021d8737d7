// What libibverbs says of a work request: by which number it does, and what that means for us.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

namespace lci::network::ibv {

/// The number of a work request, which its completion has. The opcode of a completion that has failed
/// says nothing: so the number tells what it was.
struct work_id {
  static constexpr int max_peers = 1 << 30;

  bool receive = false;
  int peer = 0;           ///< of what was sent
  uint32_t sequence = 0;  ///< of what was sent: the how manieth to this peer; else the receive's slot

  uint64_t packed() const {
    return uint64_t{receive} << 63 | uint64_t{static_cast<uint32_t>(peer)} << 32 | sequence;
  }
  static work_id unpack(uint64_t bits) {
    return {bits >> 63 != 0, static_cast<int>(bits >> 32 & (max_peers - 1)), static_cast<uint32_t>(bits)};
  }
};

/// Taken from the completion queue, and independent of it and of the send queues.
struct completion {
  enum class kind : uint8_t {
    sent,         ///< or put, or got; `context`
    message,      ///< `slot`, `size`
    control,      ///< a message of the devices' own, `imm`; `slot`
    put_with_imm, ///< `imm`; `slot`, whose buffer is as it was
    not_sent,     ///< `status`, `context`
    not_received, ///< `status`, `slot`
  };
  kind what;
  ibv_wc_status status;
  int peer;  // -1: of none that is known
  uint32_t size;
  uint32_t imm;
  uint32_t slot;
  void* context;  // null: nobody asked
};

}  // namespace lci::network::ibv
