// Flow control of sends without a posted receive: a device asks peers whose unexpected messages fill its memory to
// pause, and pauses its own sends to peers that ask for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/match/unexpected_flow.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;

/// Part of a device, which sends its messages. Thread-safe. While any peer has asked for a pause, the bit
/// device::peer_pauses of `not_plain` is set.
class flow_control {
 public:
  /// `bytes`: unexpected messages of one peer beyond which it is asked to pause; 0: no bound.
  flow_control(device& d, int n_peers, size_t bytes) : device_(d), window_(n_peers, bytes) {}

  /// Counts an unexpected message of so many bytes that is stored here; discount(): that is gone.
  void count(int peer, size_t size) {
    if (const auto m = window_.add(peer, size); LCI_UNLIKELY(m.number != 0)) send_pause(peer, m);
  }
  void discount(int peer, size_t size) {
    if (const auto m = window_.remove(peer, size); LCI_UNLIKELY(m.number != 0)) send_pause(peer, m);
  }

  /// Returns whether the peer has asked for a pause. Called for a send that it stops: looks for circles of ranks that
  /// wait for each other, which get more room.
  LCI_COLD bool is_paused_by(int peer);
  /// Handles a message of kind send_pause. Returns false if it makes no sense.
  LCI_COLD bool receive(int peer, const wire::message& m);
  /// Forgets the pauses of a peer that has failed, left, or freed its device.
  LCI_COLD void forget(int peer);

  /// Returns whether send_waiting() has something to do.
  bool has_waiting() const { return waiting_.load(std::memory_order_relaxed); }
  /// Sends what could not be sent for want of memory. Returns false if there was nothing.
  LCI_COLD bool send_waiting();

 private:
  LCI_COLD void send_pause(int peer, unexpected_flow::pause_message m);
  void send_search(int peer, int begun_by, uint32_t number);
  bool receive_search(int peer, const wire::message& m);
  void count_pauses(int change);

  device& device_;
  unexpected_flow window_;
  std::atomic<bool> waiting_{false};  // window_ stores unsent messages; counted in the device's `attention`
  spinlock lock_;
  int pauses_ = 0;  // peers that have asked for a pause; under lock_, as is the bit of not_plain
};

}  // namespace lci::core
