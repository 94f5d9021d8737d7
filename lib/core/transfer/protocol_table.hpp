// The choice between the eager and the rendezvous protocol for messages whose size permits both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "lib/base/ticks.hpp"
#include "lib/core/transfer/per_rank.hpp"
#include "lib/core/transfer/way_estimates.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// How a message whose size permits both is sent.
enum class protocol : uint8_t { eager, rendezvous };
constexpr size_t n_protocols = 2;

/// Of protocols. The operations of a window of rendezvous may all complete in one poll of their sender, so that one of
/// them seems to have taken the time of all: a round is longer than most windows.
struct rounds_of_protocols {
  static constexpr uint32_t round = 512, uncounted = 64, fewest_counted = 64;
  static constexpr float longest = 256;
};
using protocol_estimates = estimates<protocol, n_protocols, rounds_of_protocols>;

/// An eager message needs no handshake, but is copied twice, one copy after the other. A rendezvous may need one copy
/// only, or both processes copy at the same time. Which is faster depends on the machine, on the size, and on how the
/// program sends, so the sender measures both: for each rank and each power of two of the size, the time from the end of
/// one message to the end of the next. An eager message ends when the network has taken it, a rendezvous when the
/// sender's operation completes. An interval counts only if both messages were sent by the same protocol.
///
/// Owned by a device. Thread-safe. The state of a rank is allocated when the first such message is sent to it; if that
/// fails, the messages go by rendezvous.
class protocol_table {
 public:
  /// Bytes of the largest message that may be eager: what a second cache holds, and half of a default ring.
  static constexpr size_t largest = size_t{128} << 10;

  /// `clock`: units of 16 ticks; tests replace it.
  explicit protocol_table(int n_ranks, uint32_t (*clock)() = short_ticks) : clock_(clock), peers_(n_ranks) {}

  /// From now on, messages of `first` bytes and more are measured. Without this call, none are. Call it before the device
  /// is used.
  void begin_at(size_t first) { first_ = first; }
  /// Whether messages of that size are measured.
  bool covers(size_t size) const { return size >= first_ && size <= largest; }

  /// For sizes that covers() accepts. Whether the next message of this size to `rank`, through `net`, is to be eager.
  bool is_eager(const network::device& net, int rank, size_t size);
  /// Such an eager message was sent.
  void sent_eager(int rank, size_t size);
  /// Such a message will be sent by rendezvous. Returns whether rendezvous_ended() is to be called when it has completed.
  bool begins_rendezvous(int rank, size_t size);
  void rendezvous_ended(int rank, size_t size);

 private:
  static constexpr int smallest_bits = 15, n_sizes = 3;  // the first class: up to 32 KiB

  struct peer {
    std::atomic<size_t> largest{0};     // bytes of a message that the network can inject; 0: not known yet
    std::atomic<uint32_t> last_end{0};  // by the clock: when the latest message ended
    std::atomic<protocol> last{protocol::eager};
    protocol_estimates of[n_sizes];
  };

  static protocol_estimates& of(peer& p, size_t size);
  void ended(peer& p, size_t size, protocol used) const;

  uint32_t (*const clock_)();
  size_t first_ = std::numeric_limits<size_t>::max();
  per_rank<peer> peers_;
};

}  // namespace lci::core
