// What goes to one peer, in the order in which threads post it: one call at a time, and small messages
// that follow each other closely together.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/ofi/request.hpp"

namespace lci::network::ofi {

/// Who posts takes the turn, sends, and gives it back; while another thread has it, or messages wait, a small
/// message joins those that wait. They leave with whoever has the turn next: at the latest the next poll, or the
/// flusher.
struct outbox {
  /// Some microseconds: a message that comes later than this after the one before goes alone. A call takes
  /// longer than joining does, so who posts many at once is through before this is over.
  static inline const uint64_t closely = ticks_in(std::chrono::nanoseconds(2500));
  /// So many messages go alone however closely they follow each other: a few that a program posts at a time are
  /// not held back.
  static constexpr int few = 3;

  spinlock lock;
  bool sending = false;         // under lock: a thread has the turn
  bool listed = false;          // under lock: the device knows that something may wait
  request* ready = nullptr;     // a full bundle, goes first; set under lock, taken by who has the turn
  request* filling = nullptr;   // under lock
  uint64_t last = 0;            // under lock: when something was posted
  int row = 0;                  // under lock: messages that went alone, closely behind each other

  /// Whether the next message goes alone; then it counts as gone. Under lock.
  bool goes_alone(uint64_t now) {
    if (sending || ready != nullptr || filling != nullptr) return false;
    if (now - last > closely) row = 0;
    if (row == few) return false;
    ++row;
    return true;
  }
};

/// The right to make calls that send to a peer.
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
