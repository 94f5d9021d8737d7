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

/// The rounds in which protocol_table measures; see rounds_of_ways for the constants. A sender with many rendezvous
/// under way may learn in one poll that all of them have completed: then one of them seems to have taken the time of
/// all. So a round has more messages than most programs have under way.
struct rounds_of_protocols {
  static constexpr uint32_t round = 512, uncounted = 64, fewest_counted = 64;
  static constexpr float longest = 256;
};
using protocol_estimates = estimates<protocol, n_protocols, rounds_of_protocols>;

/// An eager message needs no handshake, but is copied twice, one copy after the other. A rendezvous may need one copy
/// only, or both processes copy at the same time. Which is faster depends on the machine, on the size, and on how the
/// program sends, so the sender measures both: for each rank and each power of two of the size, the time from the end
/// of one message to the end of the next. An eager message ends when the network has taken it, a rendezvous when the
/// sender's operation completes. An interval counts only if both messages were sent by the same protocol.
///
/// Owned by a device. Thread-safe. The state of a rank is allocated when the first such message is sent to it. Messages
/// are not measured if that allocation fails, for peers outside of the job, and as long as the network can't inject
/// larger messages to the rank than to all others, as before its ring is mapped.
class protocol_table {
 public:
  /// Bytes of the largest message that is measured. It takes half of a shared-memory ring of the default size, so the
  /// sender can write one message while the receiver reads another, and a second-level cache usually holds it.
  static constexpr size_t largest = size_t{128} << 10;

  /// `clock` returns the time in the unit of short_ticks(). Tests pass a simulated one.
  explicit protocol_table(int n_ranks, uint32_t (*clock)() = short_ticks) : clock_(clock), peers_(n_ranks) {}

  /// Starts to measure messages of `first` bytes and more; before this call, none are measured. Those of up to
  /// `injected` bytes, which the network can inject to any peer, are eager to peers that are not measured. Not
  /// thread-safe: call it before the device is used.
  void begin_at(size_t first, size_t injected) { first_ = first, injected_ = injected; }
  /// Returns whether messages of this size are measured. The functions below are for these sizes only.
  bool covers(size_t size) const { return size >= first_ && size <= largest; }

  /// Returns whether the next message of `size` bytes to `rank` is to be eager. `net` is asked how large a message it
  /// can inject to that rank.
  bool is_eager(const network::device& net, int rank, size_t size);
  /// Call after an eager message was sent.
  void sent_eager(int rank, size_t size);
  /// Call before a message is sent by rendezvous. If it returns true, call rendezvous_ended() when the sender's
  /// operation has completed without an error.
  bool begins_rendezvous(int rank, size_t size);
  void rendezvous_ended(int rank, size_t size);
  /// The estimate for messages of this size, in ticks for a KiB; 0: none.
  float estimate(int rank, size_t size, protocol used) const;

 private:
  static constexpr int smallest_bits = 14, n_sizes = 4;  // see class_of_size(): up to 16, 32, 64 and 128 KiB

  struct peer {
    std::atomic<size_t> largest{0};     // bytes of the largest message that the network can inject; 0: not known yet
    std::atomic<uint32_t> last_end{0};  // by the clock: when the latest message ended
    std::atomic<protocol> last{protocol::eager};
    protocol_estimates of[n_sizes];
  };

  static protocol_estimates& of(peer& p, size_t size);
  void ended(peer& p, size_t size, protocol used) const;

  uint32_t (*const clock_)();
  size_t first_ = std::numeric_limits<size_t>::max(), injected_ = 0;
  per_rank<peer> peers_;
};

}  // namespace lci::core
