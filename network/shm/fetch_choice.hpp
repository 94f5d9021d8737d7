// Decides by measurement whether a sender prefetches the ring memory of its next message (out_lane::fetch_room()).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lci/attributes.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/base/two_way_choice.hpp"

namespace lci::network::shm {

/// Prefetching saves time on some processors and costs time on others, so a sender tries both. It does so where it
/// waits for answers: where it has polled at least once without finding a message since its previous send. There it
/// measures the time from one send to the next, with and without prefetching, separately for each power of two of the
/// message size. If the program computes between sends, the result is arbitrary, but prefetching matters little then. A
/// sender that does not wait (a stream) always prefetches: the time between its sends does not show how fast the stream
/// is as a whole.
///
/// Used by one thread at a time. `ticks` is the clock, which tests replace.
template <uint64_t (*ticks)()>
class fetch_choice_by {
 public:
  explicit fetch_choice_by(attr_choice_t rule) : rule_(rule) {}

  /// Bytes of the smallest message for which this is measured. For smaller ones prefetching was never slower, so the
  /// sender always prefetches.
  static constexpr size_t fewest = 1024;

  /// Call after each send of a message that takes `room` bytes of the ring. `idle_polls`: how many polls of the
  /// sender's device have found nothing so far. Returns whether to prefetch for the next message.
  bool fetches(size_t room, uint32_t idle_polls) {
    if (LCI_UNLIKELY(rule_ != attr_choice_t::auto_select)) return rule_ == attr_choice_t::always;
    return room < fewest || is_faster(room, idle_polls);
  }

 private:
  bool is_faster(size_t room, uint32_t idle_polls) {
    const bool streams = idle_polls == idle_polls_before_;
    idle_polls_before_ = idle_polls;
    const auto power = static_cast<unsigned>(std::bit_width(room));
    two_way_choice* const its = streams ? nullptr : &each_[std::min(power - smallest, n_powers - 1)];
    if (LCI_UNLIKELY(measured_ != nullptr)) end_measurement(its);
    if (its == nullptr) return true;
    const bool skips = its->next();
    if (LCI_UNLIKELY(its->is_measured())) {
      measured_ = its;
      since_ = ticks();
    }
    return !skips;
  }
  /// Called at the send after the measured one. `its`: the choice for that later send; null in a stream. The time
  /// counts only if both sends use the same choice.
  void end_measurement(const two_way_choice* its) {
    if (measured_ == its)
      measured_->took(static_cast<float>(ticks() - since_));
    else
      measured_->took_unknown();
    measured_ = nullptr;
  }

  static constexpr unsigned smallest = std::bit_width(fewest), n_powers = 5;  // the last: 16 KiB and more
  const attr_choice_t rule_;
  std::array<two_way_choice, n_powers> each_;
  uint32_t idle_polls_before_ = 0;
  two_way_choice* measured_ = nullptr;  // used by the previous send, if the time since then is to be measured
  uint64_t since_ = 0;                  // when that send ended
};

using fetch_choice = fetch_choice_by<cpu_ticks>;

}  // namespace lci::network::shm
