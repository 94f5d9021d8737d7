// What is sent to one peer, in the order in which threads post it: one call at a time, and small messages in close
// succession bundled.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/ofi/request.hpp"

namespace lci::network::ofi {

/// A thread that posts takes the turn, sends, and releases the turn. While another thread has the turn, or messages
/// wait, a small message is appended to the waiting ones. The next holder of the turn sends them: at the latest the
/// next poll, or the flusher.
struct outbox {
  /// A message posted later than this (in ticks; 2.5 us) after the previous one goes alone. A call takes longer than
  /// joining a bundle, so a thread that posts many messages at once finishes before this time is over.
  static inline const uint64_t closely = ticks_in(std::chrono::nanoseconds(2500));
  /// This many messages go alone however closely they follow each other, so that a few messages posted together are not
  /// delayed.
  static constexpr int few = 3;

  spinlock lock;
  bool sending = false;         // under lock: a thread has the turn
  bool listed = false;          // under lock: the device knows that messages may wait
  request* ready = nullptr;     // a full bundle, sent first; set under lock, taken by the holder of the turn
  request* filling = nullptr;   // under lock
  uint64_t last = 0;            // under lock: ticks of the last post
  int row = 0;                  // under lock: consecutive messages that went alone in close succession

  /// Whether the next message goes alone; if so, counts it as sent. Under lock.
  bool goes_alone(uint64_t now) {
    if (sending || ready != nullptr || filling != nullptr) return false;
    if (now - last > closely) row = 0;
    if (row == few) return false;
    ++row;
    return true;
  }
};

/// The exclusive right to make calls that send to a peer.
class turn {
 public:
  explicit turn(outbox& o) : outbox_(o) {
    std::lock_guard guard(o.lock);
    taken_ = !o.sending;
    o.sending = true;
  }
  ~turn() {
    if (!taken_) return;
    std::lock_guard guard(outbox_.lock);
    outbox_.sending = false;
    outbox_.last = cpu_ticks();
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  bool failed() const { return LCI_UNLIKELY(!taken_); }

 private:
  outbox& outbox_;
  bool taken_;
};

}  // namespace lci::network::ofi
