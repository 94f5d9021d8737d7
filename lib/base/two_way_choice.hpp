// Chooses the faster of two ways of doing something repeatedly, by measuring both.
#pragma once

#include <cstdint>

namespace lci {

/// Chooses between two ways of doing similar actions, such as copies of about the same size. One of them is the present
/// way. From time to time there is a trial: the caller does `run` actions the present way, then `run` the other way,
/// and this class compares the total times of the two runs. That is repeated until the other way has been faster
/// `needed` times, and becomes the present way, or slower `most_lost` times, and is not used until the next trial. So a
/// single interrupted action can't decide a trial, a way that is always slower costs 12 of `longest_cycle` actions, and
/// later trials notice when conditions change, for example when the thread moves to another core. Not thread-safe.
class two_way_choice {
 public:
  /// `run`: actions of a run. `uncounted`: the first ones of them, which are not timed, as the caches still are in the
  /// state in which the other way left them.
  static constexpr uint32_t run = 4, uncounted = 2;
  static constexpr uint8_t needed = 6, most_lost = 3;
  /// A trial is abandoned after this many calls of took_unknown().
  static constexpr uint8_t most_unknown = 16;
  /// Number of actions between the starts of two trials: `first_cycle` after the first trial, then four times as many
  /// each time, up to `longest_cycle`.
  static constexpr uint32_t first_cycle = 256, longest_cycle = 4096;

  /// Call before each action. Returns true if the caller should do it the second way, false for the first way, which is
  /// the present way until a trial decides otherwise.
  bool next() {
    if (n_ == (first_cycle << (2 * cycle_))) begin_cycle();
    ++n_;
    const bool other = !is_over_ && (n_ - 1) / run % 2 != 0;
    return best_ != other;
  }
  /// Returns whether took() expects the time of the action for which next() was called last.
  bool is_measured() const { return !is_over_ && (n_ - 1) % run >= uncounted; }
  /// Returns whether that action belongs to a trial.
  bool is_trial() const { return !is_over_; }
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
