// Decides by measurement whether a receiver writes to the ring memory that it has read (in_lane::write_lines()).
#pragma once

#include <cstdint>

#include "lci/attributes.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/two_way_choice.hpp"
#include "network/shm/byte_time.hpp"

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
    lap_.add(size);
    if (LCI_UNLIKELY(lap_.bytes() >= ring_size)) end_lap();
  }

 private:
  void end_lap() {
    if (lap_.is_measured()) choice_.took(lap_.ticks_per_byte());
    begin_lap();
  }
  void begin_lap() {
    const bool is_chosen_here = rule_ == attr_choice_t::auto_select;
    writes_ = is_chosen_here ? !choice_.next() : rule_ == attr_choice_t::always;
    lap_.begin(is_chosen_here && choice_.is_measured());
  }

  two_way_choice choice_;
  bool writes_ = true;
  const attr_choice_t rule_;
  byte_time<ticks> lap_;
};

using write_choice = write_choice_by<cpu_ticks>;

}  // namespace lci::network::shm
