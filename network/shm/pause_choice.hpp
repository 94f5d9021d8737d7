// Decides by measurement how long a receiver waits before it looks for the next messages of a stream.
#pragma once

#include <chrono>
#include <cstdint>

#include "lci/attributes.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/base/two_way_choice.hpp"

namespace lci::network::shm {

/// A receiver that is faster than its sender reads each slot before it is written, and so takes the cache line from the
/// sender, which must get it back to write the next message. So it pauses after messages in the byte ring. After a long
/// pause several messages have arrived, whose cache misses overlap. That is faster where lines take long from one core
/// to the other, and slower where the sender waits for the receiver. So a receiver tries short and long pauses, and
/// compares the times that a byte takes. It makes long ones only if that is clearly faster, since each pause delays the
/// last message of a stream.
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
    read_ += size;
    if (LCI_UNLIKELY(is_measured_)) add_time();
    if (LCI_UNLIKELY(read_ >= period)) end_period(is_comparable);
  }

  static constexpr uint64_t period = 65536;  // bytes that are read with pauses of one length

 private:
  // Longer times between two polls with messages are the program's, and are not counted.
  static inline const uint64_t longest_wait = ticks_in(std::chrono::microseconds(50));
  /// A byte must take so much less time with long pauses.
  static constexpr float advantage = 0.95F;

  void add_time() {
    const uint64_t now = ticks();
    const uint64_t passed = now - since_;
    if (passed < longest_wait) time_ += passed;
    since_ = now;
  }
  void end_period(bool is_comparable) {
    if (is_measured_) {
      const float time = static_cast<float>(time_) / static_cast<float>(read_);
      is_comparable ? choice_.took(is_long_ ? time : time * advantage) : choice_.took_unknown();
    }
    begin_period();
  }
  void begin_period() {
    read_ = time_ = 0;
    if (rule_ != attr_choice_t::auto_select) {
      is_long_ = rule_ == attr_choice_t::always;
      return;
    }
    is_long_ = choice_.next();
    is_measured_ = choice_.is_measured();
    if (is_measured_) since_ = ticks();
  }

  two_way_choice choice_;
  bool is_long_ = false, is_measured_ = false;
  const attr_choice_t rule_;
  uint64_t read_ = 0;   // bytes in this period
  uint64_t time_ = 0;   // ticks in this period, if it is measured
  uint64_t since_ = 0;  // when the latest poll with messages ended, if this period is measured
};

using pause_choice = pause_choice_by<cpu_ticks>;

}  // namespace lci::network::shm
