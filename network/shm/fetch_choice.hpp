// Whether a sender fetches the lines of its next message ahead, by how long earlier messages took.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/base/two_way_choice.hpp"

namespace lci::network::shm {

/// If the sender has polled in vain between two messages, it measures the time from one to the next, and compares times
/// with and without the fetch, for each power of two of the size. If a program computes between its messages, what it
/// chooses is arbitrary, and matters little. In a stream the sender always fetches: there the time between two messages
/// says nothing about that of the whole stream. Used by one thread at a time. `ticks` reads a clock.
template <uint64_t (*ticks)()>
class fetch_choice_by {
 public:
  /// Bytes: after a smaller message the sender always fetches. That gains up to a fifth, or nothing.
  static constexpr size_t fewest = 1024;

  /// Whether to fetch after this message of `room` bytes, at least `fewest`. `idle_polls`: number of the thread's empty
  /// polls.
  bool fetches(size_t room, uint32_t idle_polls) {
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

 private:
  /// `its`: the choice of the next message.
  void end_measurement(const two_way_choice* its) {
    if (measured_ == its)
      measured_->took(static_cast<float>(ticks() - since_));
    else
      measured_->took_unknown();
    measured_ = nullptr;
  }

  static constexpr unsigned smallest = std::bit_width(fewest), n_powers = 5;  // the last: 16 KiB and more
  std::array<two_way_choice, n_powers> each_;
  uint32_t idle_polls_before_ = 0;
  two_way_choice* measured_ = nullptr;  // that of the last message, if its time is wanted
  uint64_t since_ = 0;                  // when that message was sent
};

using fetch_choice = fetch_choice_by<cpu_ticks>;

}  // namespace lci::network::shm
