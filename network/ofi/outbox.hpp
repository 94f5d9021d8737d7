// What is sent to one peer, in the order in which threads post it: one call at a time, and small messages in close
// succession bundled.
#pragma once

#include <cstdint>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/common/message_series.hpp"
#include "network/ofi/request.hpp"

namespace lci::network::ofi {

/// A thread that posts takes the turn, sends, and releases the turn. While another thread has the turn, or messages
/// wait, a small message is appended to the waiting ones. The next holder of the turn sends them: at the latest the
/// next poll, or the flusher.
struct outbox {
  /// This many messages go alone however closely they follow each other, so that a few messages posted together are not
  /// delayed.
  static constexpr int few = 3;

  spinlock lock;
  bool sending = false;        // under lock: a thread has the turn
  bool listed = false;         // under lock: the device knows that messages may wait
  request* ready = nullptr;    // a full bundle, sent first; set under lock, taken by the holder of the turn
  request* filling = nullptr;  // under lock
  message_series series;       // under lock

  /// Returns whether the next message goes alone; if so, counts it as sent. Under lock.
  bool goes_alone(uint64_t now) {
    return !sending && ready == nullptr && filling == nullptr && series.goes_alone(now, few);
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
    outbox_.series.last = cpu_ticks();
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  bool failed() const { return LCI_UNLIKELY(!taken_); }

 private:
  outbox& outbox_;
  bool taken_;
};

}  // namespace lci::network::ofi
