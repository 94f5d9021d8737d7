// What goes beside each message: who has sent it, and whether it is the core's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci::network::ofi {

/// 32 bits, which the smallest of the providers' data has; where there is none they stand behind the
/// message: a packet's payload must stay at its place.
struct message_tag {
  enum class kind : uint8_t {
    message,
    goodbye,  ///< nothing more will come from this device
    noted,    ///< a goodbye has been read, and all that came before it
    hello,    ///< puts or gets follow, that nothing tells of
    bundle,   ///< several messages: bundle.hpp
  };

  kind what = kind::message;
  int rank = 0;

  uint64_t packed() const { return uint64_t{static_cast<uint8_t>(what)} << 24 | static_cast<uint32_t>(rank); }
  /// False if no device packs such bits.
  static bool unpack(uint64_t bits, int n_ranks, message_tag& tag) {
    tag.what = static_cast<kind>(bits >> 24 & 0xff);
    tag.rank = static_cast<int>(bits & (max_ranks - 1));
    return bits >> 32 == 0 && tag.what <= kind::bundle && tag.rank < n_ranks;
  }
  static constexpr int max_ranks = 1 << 24;
};
constexpr size_t trailer_size = 8;

/// The 64 bits of a put that tells its target.
inline uint64_t pack_put(int rank, uint32_t imm) { return uint64_t{static_cast<uint32_t>(rank)} << 32 | imm; }

}  // namespace lci::network::ofi
