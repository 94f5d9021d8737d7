// Which of two ways of doing something is faster here, by how long it took before.
#pragma once

#include <cstdint>

namespace lci {

/// Chooses between two ways for actions that take about the same time. From time to time it makes a trial: `run` actions
/// go the present way, then `run` go the other way, it compares the times of these two runs, and repeats this. If the
/// other way is faster in `needed` comparisons, it becomes the present way; if it is slower in `most_lost` comparisons
/// before that, the trial ends. So one action that is interrupted can't decide a trial, a way that is always slower is
/// used for 12 of `longest_cycle` actions, and later trials notice when conditions change, e.g. when the thread moves to
/// another core. Not thread-safe.
class two_way_choice {
 public:
  /// Actions of a run, and how many of them, the first ones, are not timed: they still find the caches as the other way
  /// has left them.
  static constexpr uint32_t run = 4, uncounted = 2;
  static constexpr uint8_t needed = 6, most_lost = 3;
  /// Times of a trial that may be unknown.
  static constexpr uint8_t most_unknown = 16;
  /// Actions from the begin of a trial to the begin of the next one: at first, and at most later.
  static constexpr uint32_t first_cycle = 256, longest_cycle = 4096;

  /// Whether the next action goes the second way. Without a trial that has decided otherwise it goes the first one.
  bool next() {
    if (n_ == (first_cycle << (2 * cycle_))) begin_cycle();
    ++n_;
    const bool other = !is_over_ && (n_ - 1) / run % 2 != 0;
    return best_ != other;
  }
  /// Whether took() expects the time of the action for which next() was called last.
  bool is_measured() const { return !is_over_ && (n_ - 1) % run >= uncounted; }
  /// That action took this time, in any unit.
  void took(float time) {
    const bool of_other = (n_ - 1) / run % 2 != 0;
    (of_other ? times_of_other_ : times_) += time;
    if (of_other && n_ % run == 0) compare();
  }
  /// The time of that action is unknown: the next one takes its place. If that happens often, the trial ends.
  void took_unknown() {
    --n_;
    if (++unknown_ == most_unknown) end_trial();
  }

 private:
  void begin_cycle() {
    n_ = 0;
    if ((first_cycle << (2 * cycle_)) < longest_cycle) ++cycle_;
    won_ = lost_ = unknown_ = 0;
    is_over_ = false;
  }
  void compare() {
    ++(times_of_other_ < times_ ? won_ : lost_);
    times_ = times_of_other_ = 0;
    if (won_ == needed) best_ = !best_;
    if (won_ == needed || lost_ == most_lost) end_trial();
  }
  void end_trial() {
    times_ = times_of_other_ = 0;
    is_over_ = true;
  }

  uint32_t n_ = 0;  // actions of this cycle
  float times_ = 0, times_of_other_ = 0;
  bool best_ = false;                       // the second way
  uint8_t cycle_ = 0, won_ = 0, lost_ = 0;  // comparisons won and lost by the other way
  uint8_t unknown_ = 0;                     // times of the trial that were unknown
  bool is_over_ = false;                    // the trial of this cycle has ended
};

}  // namespace lci
