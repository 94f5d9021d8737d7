// Finds out which of several ways to send or move large messages is the fastest on this machine, by how long earlier
// messages took. Used by way_table for the data of a rendezvous, and by protocol_table for eager or rendezvous.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lci::core {

/// How the data of a rendezvous moves.
enum class way : uint8_t {
  fragments,  // in messages: each process copies, in its own caches
  read,       // remote access by one process: one copy, usually by the receiver's get
  split,      // remote access by both: the receiver reads one part while the sender writes the other
};
constexpr size_t n_ways = 3;

/// A set of values of `Way`, an enumeration whose values are 0 to n - 1.
template <class Way, size_t n>
struct set_of_ways {
  uint8_t bits = 0;

  static constexpr set_of_ways of(Way w) { return {static_cast<uint8_t>(1U << static_cast<unsigned>(w))}; }
  static constexpr set_of_ways all() { return {(1U << n) - 1}; }
  constexpr bool has(Way w) const { return (bits & of(w).bits) != 0; }
  constexpr void add(Way w) { bits |= of(w).bits; }
};
using way_set = set_of_ways<way, n_ways>;

/// Messages are measured in classes, one for each power of two of the size. Returns the number of the class, 0 to n -
/// 1: class 0 has messages of up to 2^smallest_bits bytes, the last class all that are larger than the others'.
inline size_t class_of_size(uint64_t size, int smallest_bits, int n) {
  return static_cast<size_t>(std::clamp(static_cast<int>(std::bit_width(size - 1)) - smallest_bits, 0, n - 1));
}

/// Converts the time that a message of `size` bytes took, as a difference of short_ticks(), to the unit of
/// estimates::took().
inline float ticks_per_kib(uint32_t short_ticks, uint64_t size) {
  return static_cast<float>(short_ticks) * 16.0F * 1024.0F / static_cast<float>(size);
}

/// The estimated times of the ways for messages of one class, which later messages correct. Messages take the same way
/// for a round, since several at a time overlap. choose() returns the fastest way and, now and then, for a round,
/// another one, so that the estimates follow the machine: the system moves processes between cores, and other programs
/// use the memory, too.
///
/// A round by a way that takes r times as long costs r - 1 times the time of a round. So such trials are repeated after
/// (r - 1) / share_of_trials rounds, and end early if the way is hopeless: they cost at most that share of the time for
/// each way. The first messages of a program may take a hundred times as long as later ones, because of cold caches,
/// page faults, and peers that are still starting. So there are also early trials, whenever the number of rounds has
/// grown by a factor of four.
///
/// `Way` is an enumeration of `count` ways; `Rounds` has the constants that rounds_of_ways has. Thread-safe. Threads
/// may overwrite each other's corrections: the estimates need not be exact.
template <class Way, size_t count, class Rounds>
class estimates {
 public:
  using set = set_of_ways<Way, count>;
  static constexpr uint32_t round = Rounds::round, uncounted = Rounds::uncounted,
                            fewest_counted = Rounds::fewest_counted;

  /// The share of the time that trials of each slower way may cost.
  static constexpr float share_of_trials = 0.005F;
  /// Limits of the number of rounds between trials: of two ways that are nearly equal, and of very different ones.
  static constexpr float fewest_rounds = 16, most_rounds = 4096;
  /// Only a way that takes less than this part of the present one's time replaces it. If a trial measured wrong, beside
  /// messages that still moved by the other way, the next rounds find that out.
  static constexpr float clearly_faster = 0.92F;
  /// A ratio of times. A trial ends early if its messages take longer than this times those of the fastest way.
  static constexpr float hopeless = 1.5F;
  /// A ratio of times. A round counts as this times the estimate at most: one in which the system ran other programs
  /// must not make the way look slow for many rounds, and one that has become slow shows it in each round.
  static constexpr float most_growth = 1.5F;
  /// The last round with an early trial.
  static constexpr uint32_t last_early = 128;

  /// The way for the next message, one of `possible`. `usual`, which is possible, is the first one.
  Way choose(Way usual, set possible = set::all()) {
    // Not a fetch_add, which would wait until the stores of the message just copied have completed. Threads may lose
    // each other's counts, which only makes a round longer.
    uint32_t n = messages_.load(std::memory_order_relaxed);
    messages_.store(n + 1, std::memory_order_relaxed);
    const Way before = current_.load(std::memory_order_relaxed);
    if (n % round != 0) {
      if (possible.has(before) && !may_end_early(before)) return before;
      const uint32_t next = n - n % round + round;  // the next round begins with this message
      messages_.store(next + 1, std::memory_order_relaxed);
      n = next;
    }
    if (n != 0) of(before).end_round();
    const Way next = next_way(n == 0 ? usual : best_.load(std::memory_order_relaxed), usual, possible, n / round);
    if (n == 0 || next != before) of(next).begin();
    current_.store(next, std::memory_order_relaxed);
    return next;
  }

  /// Returns what the latest call of choose() returned; before the first call, the way whose value is 0.
  Way current() const { return current_.load(std::memory_order_relaxed); }

  /// A message took this long: ticks for each KiB.
  void took(Way w, float ticks) { of(w).add(ticks); }

  /// Ticks for a KiB; 0: not measured yet.
  float estimate(Way w) const { return of(w).time.load(std::memory_order_relaxed); }

 private:
  struct one {
    std::atomic<float> time{0};         // the estimate: ticks for a KiB; 0: none yet
    std::atomic<float> sum{0};          // of the messages of this round
    std::atomic<uint32_t> n{0};         // messages of this round, with uncounted ones
    std::atomic<uint32_t> tried_in{0};  // the round of the latest trial; 0: none

    void begin() {
      n.store(0, std::memory_order_relaxed);
      sum.store(0, std::memory_order_relaxed);
    }
    /// The mean of the messages that counted in this round; 0: too few.
    float mean() const {
      const uint32_t so_far = n.load(std::memory_order_relaxed);
      if (so_far < uncounted + fewest_counted) return 0;
      return sum.load(std::memory_order_relaxed) / static_cast<float>(so_far - uncounted);
    }
    /// Adds the time of a message to this round. If the thread was interrupted or waited for its peer, the time says
    /// little about the way, so it counts as at most `longest` times the mean.
    void add(float ticks) {
      const uint32_t before = n.load(std::memory_order_relaxed);
      const float sum_before = sum.load(std::memory_order_relaxed), old = time.load(std::memory_order_relaxed);
      if (before < uncounted) return n.store(before + 1, std::memory_order_relaxed);
      const float usual = old != 0 || before == uncounted ? old : sum_before / static_cast<float>(before - uncounted);
      sum.store(sum_before + (usual == 0 ? ticks : std::min(ticks, Rounds::longest * usual)),
                std::memory_order_relaxed);
      n.store(before + 1, std::memory_order_relaxed);
      if (before + 1 >= round) end_round();
    }
    void end_round() {
      const float measured = mean(), old = time.load(std::memory_order_relaxed);
      if (measured == 0) return;
      const float sample = old == 0 ? measured : std::min(measured, most_growth * old);
      // Disturbances only make times longer, so shorter ones count more.
      const float weight = sample < 0.5F * old ? 1.0F : sample < old ? 0.5F : 0.25F;
      time.store(old == 0 ? sample : old + weight * (sample - old), std::memory_order_relaxed);
      n.store(uncounted, std::memory_order_relaxed);  // the next round of the same way counts from its first message
      sum.store(0, std::memory_order_relaxed);
    }
  };

  /// Returns whether the round is a trial that has found its way to be slow.
  bool may_end_early(Way now) const {
    const Way best = best_.load(std::memory_order_relaxed);
    return now != best && of(now).mean() > hopeless * estimate(best);
  }

  Way next_way(Way best, Way usual, set possible, uint32_t now) {
    if (!possible.has(best)) best = usual;
    for (size_t i = 0; i < count; ++i) {
      const auto w = static_cast<Way>(i);
      const float time = estimate(w);
      if (possible.has(w) && time != 0 && time < clearly_faster * estimate(best)) best = w;
    }
    best_.store(best, std::memory_order_relaxed);
    if (estimate(best) == 0) return best;
    for (size_t i = 0; i < count; ++i) {
      const auto w = static_cast<Way>(i);
      if (w == best || !possible.has(w)) continue;
      std::atomic<uint32_t>& tried_in = of(w).tried_in;
      const uint32_t tried = tried_in.load(std::memory_order_relaxed);
      const float slower = estimate(w) == 0 ? most_rounds : estimate(w) / estimate(best) - 1;
      const float interval = std::clamp(slower / share_of_trials, fewest_rounds, most_rounds);
      const bool is_early = now <= last_early && now >= 4 * tried;
      if (!is_early && now - tried < static_cast<uint32_t>(interval)) continue;
      tried_in.store(now, std::memory_order_relaxed);
      return w;
    }
    return best;
  }

  const one& of(Way w) const { return each_[static_cast<size_t>(w)]; }
  one& of(Way w) { return each_[static_cast<size_t>(w)]; }

  std::atomic<uint32_t> messages_{0};
  std::atomic<Way> current_{Way{}}, best_{Way{}};
  std::array<one, count> each_;
};

/// The rounds in which way_table measures. A receiver moves the data of few messages at a time, so they can be short.
struct rounds_of_ways {
  /// Messages in a round. After a change of the way, the first `uncounted` messages of the new way overlap with
  /// outstanding ones of the old way, so their times do not count.
  static constexpr uint32_t round = 32, uncounted = 8;
  /// Counted messages that make a sample if the round ends early, or if some of its messages could not be measured.
  static constexpr uint32_t fewest_counted = 6;
  /// A multiple of the mean time. An interrupted message counts as this at most.
  static constexpr float longest = 4;
};
using way_estimates = estimates<way, n_ways, rounds_of_ways>;

}  // namespace lci::core
