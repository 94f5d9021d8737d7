// The immediate data of each message: the sender, and the kind of message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci::network::ofi {

/// 32 bits, which fit in the smallest immediate data of any provider. Without immediate data they are appended to the
/// message, so that the payload keeps its alignment.
struct message_tag {
  enum class kind : uint8_t {
    message,
    close,      ///< close notification: nothing more will come from this device
    close_ack,  ///< the close notification, and all messages before it, have been read
    hello,      ///< puts or gets follow, which the target would not notice
    bundle,     ///< several messages: bundle.hpp
  };

  kind what = kind::message;
  int rank = 0;

  uint64_t packed() const { return uint64_t{static_cast<uint8_t>(what)} << 24 | static_cast<uint32_t>(rank); }
  /// Returns false if no device sends such bits.
  static bool unpack(uint64_t bits, int n_ranks, message_tag& tag) {
    tag.what = static_cast<kind>(bits >> 24 & 0xff);
    tag.rank = static_cast<int>(bits & (max_ranks - 1));
    return bits >> 32 == 0 && tag.what <= kind::bundle && tag.rank < n_ranks;
  }
  static constexpr int max_ranks = 1 << 24;
};
constexpr size_t trailer_size = 8;

/// The 64 bits of immediate data of a put that notifies its target.
inline uint64_t pack_put(int rank, uint32_t imm) { return uint64_t{static_cast<uint32_t>(rank)} << 32 | imm; }

}  // namespace lci::network::ofi
