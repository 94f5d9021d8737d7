// Decides by measurement how long a receiver waits before it looks for the next messages of a stream.
#pragma once

#include <cstdint>

#include "lci/attributes.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/two_way_choice.hpp"
#include "network/shm/byte_time.hpp"

namespace lci::network::shm {

/// A receiver that is faster than its sender polls the next slot before the sender writes to it. Each poll takes the
/// slot's cache line from the sender, which must fetch it again. So the receiver pauses after messages in the byte
/// ring. In a long pause several messages arrive, whose cache misses overlap when they are read. Where cores are far
/// apart, a stream is faster with long pauses; where the sender waits for the receiver, it is slower. So a receiver
/// tries short and long pauses, and compares the times that a byte takes. It makes long ones only if that is clearly
/// faster, since each pause delays the last message of a stream.
///
/// Used by one thread at a time. `ticks` is the clock, which tests replace.
template <uint64_t (*ticks)()>
class pause_choice_by {
 public:
  explicit pause_choice_by(attr_choice_t rule) : rule_(rule) { begin_period(); }

  /// Returns whether the next pause is to be a long one.
  bool is_long() const { return is_long_; }

  /// Call after each poll that has read `size` bytes of the ring. `is_comparable`: false while something else that
  /// changes the speed of the sender is being tried.
  void has_read(uint64_t size, bool is_comparable) {
    time_.add(size);
    if (LCI_UNLIKELY(time_.bytes() >= period)) end_period(is_comparable);
  }

  static constexpr uint64_t period = 65536;  // bytes that are read with pauses of one length

 private:
  /// A byte must take so much less time with long pauses.
  static constexpr float advantage = 0.95F;

  void end_period(bool is_comparable) {
    if (time_.is_measured() && is_comparable)
      choice_.took(time_.ticks_per_byte() * (is_long_ ? 1 : advantage));
    else if (time_.is_measured())
      choice_.took_unknown();
    begin_period();
  }
  void begin_period() {
    const bool is_chosen_here = rule_ == attr_choice_t::auto_select;
    is_long_ = is_chosen_here ? choice_.next() : rule_ == attr_choice_t::always;
    time_.begin(is_chosen_here && choice_.is_measured());
  }

  two_way_choice choice_;
  bool is_long_ = false;
  const attr_choice_t rule_;
  byte_time<ticks> time_;  // of this period
};

using pause_choice = pause_choice_by<cpu_ticks>;

}  // namespace lci::network::shm
