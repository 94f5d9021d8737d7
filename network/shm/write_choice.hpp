// Decides by measurement whether a receiver writes to the ring memory that it has read (in_lane::write_lines()).
#pragma once

#include <chrono>
#include <cstdint>

#include "lci/attributes.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/base/two_way_choice.hpp"

namespace lci::network::shm {

/// On some processors these writes let the sender's next stores to the lines overlap; on others they only take time.
/// So a receiver tries both, each for two_way_choice::run laps of the ring, since what it does in one lap changes how
/// fast the sender is in the next one. It compares the times that a byte takes, whatever the sizes of the messages.
///
/// Used by one thread at a time. `ticks` is the clock, which tests replace.
template <uint64_t (*ticks)()>
class write_choice_by {
 public:
  explicit write_choice_by(attr_choice_t rule) : rule_(rule) { begin_lap(); }

  /// Returns whether the receiver is to write to the lines that it has read.
  bool writes() const { return writes_; }
  /// Returns whether this lap belongs to a comparison of both.
  bool is_trial() const { return rule_ == attr_choice_t::auto_select && choice_.is_trial(); }

  /// Call after each poll that has read `size` bytes of the ring, which has `ring_size` bytes.
  void has_read(uint64_t size, uint64_t ring_size) {
    read_ += size;
    if (LCI_UNLIKELY(is_measured_)) add_time();
    if (LCI_UNLIKELY(read_ >= ring_size)) end_lap();
  }

 private:
  // Longer times between two messages are the program's, and are not counted.
  static inline const uint64_t longest_wait = ticks_in(std::chrono::microseconds(50));

  void add_time() {
    const uint64_t now = ticks();
    const uint64_t passed = now - since_;
    if (passed < longest_wait) time_ += passed;
    since_ = now;
  }
  void end_lap() {
    if (is_measured_) choice_.took(static_cast<float>(time_) / static_cast<float>(read_));
    begin_lap();
  }
  void begin_lap() {
    read_ = time_ = 0;
    if (rule_ != attr_choice_t::auto_select) {
      writes_ = rule_ == attr_choice_t::always;
      return;
    }
    writes_ = !choice_.next();
    is_measured_ = choice_.is_measured();
    if (is_measured_) since_ = ticks();
  }

  two_way_choice choice_;
  bool writes_ = true, is_measured_ = false;
  const attr_choice_t rule_;
  uint64_t read_ = 0;   // bytes in this lap
  uint64_t time_ = 0;   // ticks in this lap, if it is measured
  uint64_t since_ = 0;  // when the latest poll of this lap ended, if it is measured
};

using write_choice = write_choice_by<cpu_ticks>;

}  // namespace lci::network::shm
