// Which of two ways of copying is faster here, by how long earlier copies took.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lci {

/// How the bytes of a large copy move.
enum class copy_way : uint8_t {
  pieces,   // by memcpy(), a piece at a time
  vectors,  // by vector_copy
};

/// What decides how repeated large copies move. The values are those of the attribute `copy_way`.
enum class copy_rule : uint8_t { measured, always_pieces, always_vectors };

/// Chooses how a thread copies, for copies of about the same size. From time to time it makes a trial: it copies `run`
/// times in the present way, then `run` times in the other way, compares the times of these two runs, and repeats this.
/// If the other way is faster in `needed` comparisons, it becomes the present way; if it is slower in `most_lost`
/// comparisons before that, the trial ends. So one copy that is interrupted can't decide a trial, a way that is always
/// slower is used for 12 of `longest_cycle` copies, and later trials notice when conditions change, e.g. when the
/// thread moves to another core. Not thread-safe.
class copy_choice {
 public:
  /// Copies of a run, and how many of them, the first ones, are not timed: they still find the data in the caches that
  /// the other way has left there.
  static constexpr uint32_t run = 4, uncounted = 2;
  static constexpr uint8_t needed = 6, most_lost = 3;
  /// Copies from the begin of a trial to the begin of the next one: at first, and at most later.
  static constexpr uint32_t first_cycle = 256, longest_cycle = 4096;

  /// The way of the next copy.
  copy_way next() {
    if (n_ == (first_cycle << (2 * cycle_))) begin_cycle();
    ++n_;
    return is_over_ || (n_ - 1) / run % 2 == 0 ? best_ : other();
  }
  /// Whether took() expects the time of the copy for which next() was called last.
  bool is_measured() const { return !is_over_ && (n_ - 1) % run >= uncounted; }
  /// That copy took this time for each of its bytes, in any unit.
  void took(float time) {
    const bool of_other = (n_ - 1) / run % 2 != 0;
    (of_other ? times_of_other_ : times_) += time;
    if (of_other && n_ % run == 0) compare();
  }

 private:
  copy_way other() const { return best_ == copy_way::pieces ? copy_way::vectors : copy_way::pieces; }
  void begin_cycle() {
    n_ = 0;
    if ((first_cycle << (2 * cycle_)) < longest_cycle) ++cycle_;
    won_ = lost_ = 0;
    is_over_ = false;
  }
  void compare() {
    ++(times_of_other_ < times_ ? won_ : lost_);
    times_ = times_of_other_ = 0;
    is_over_ = won_ == needed || lost_ == most_lost;
    if (won_ == needed) best_ = other();
  }

  uint32_t n_ = 0;  // copies of this cycle
  float times_ = 0, times_of_other_ = 0;
  copy_way best_ = copy_way::pieces;
  uint8_t cycle_ = 0, won_ = 0, lost_ = 0;  // comparisons won and lost by the other way
  bool is_over_ = false;                    // the trial of this cycle
};

/// The choices of a thread, by the power of two of the size.
class copy_choices {
 public:
  copy_choice& of(size_t size) {
    const auto power = static_cast<unsigned>(std::bit_width(size));
    return each_[std::clamp(power, smallest, largest) - smallest];
  }

 private:
  static constexpr unsigned smallest = 15, largest = 23;  // 16 to 32 KiB, and from 4 MiB on
  std::array<copy_choice, largest - smallest + 1> each_;
};

}  // namespace lci
