// Which way of moving large messages is faster on this machine, by how long earlier ones took.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lci::core {

/// How the data of a rendezvous moves.
enum class way : uint8_t {
  fragments,      // in messages: each process copies, in its own caches
  remote_access,  // by a get or puts: one copy
};

/// The estimated times of both ways for messages of one class, which later messages correct. Messages take the same way
/// for a round, since several at a time overlap. choose() returns the faster way and, now and then, for a round, the
/// other one, so that the estimates follow the machine: the system moves processes between cores, and other programs
/// use the memory, too.
///
/// A round by a way that takes r times as long costs r - 1 times the time of a round. So such trials are repeated after
/// (r - 1) / share_of_trials rounds: they cost at most that share of the time. The first messages of a program meet
/// cold caches, memory without pages, and peers that are still starting, and may take a hundred times as long as later
/// ones; so there are early trials, too, after each doubling of the number of rounds.
///
/// Thread-safe. Threads may overwrite each other's corrections: the estimates need not be exact.
class way_estimates {
 public:
  /// The share of the time that trials of the slower way may cost.
  static constexpr float share_of_trials = 0.01F;
  /// Messages in a round. After a change of the way, the first `uncounted` messages of the new way overlap with
  /// outstanding ones of the old way, so their times do not count.
  static constexpr uint32_t round = 64, uncounted = 32;
  /// Limits of the number of rounds between trials: of two ways that are nearly equal, and of very different ones.
  static constexpr float fewest_rounds = 16, most_rounds = 4096;
  /// Only a way that takes less than this part of the usual one's time replaces it. A round of trials, beside messages
  /// that still move by the other way, was seen to measure up to 15 % less or more than the same way does alone.
  static constexpr float clearly_faster = 0.8F;
  /// The last round with an early trial.
  static constexpr uint32_t last_early = 64;

  /// The way for the next message. `usual` is taken until both ways have been measured.
  way choose(way usual) {
    const uint32_t n = messages_.fetch_add(1, std::memory_order_relaxed);
    if (n % round != 0) return current_.load(std::memory_order_relaxed);
    const way before = current_.load(std::memory_order_relaxed), next = next_way(usual, n / round);
    if (n == 0 || next != before) of(next).begin();
    current_.store(next, std::memory_order_relaxed);
    return next;
  }

  /// A message took this long: ticks for each KiB.
  void took(way w, float ticks) { of(w).add(ticks); }

  /// Ticks for a KiB; 0: not measured yet.
  float estimate(way w) const { return of(w).time.load(std::memory_order_relaxed); }

 private:
  struct one {
    std::atomic<float> time{0};  // the estimate: ticks for a KiB; 0: none yet
    std::atomic<float> sum{0};   // of the messages of this round
    std::atomic<uint32_t> n{0};  // messages of this round, with uncounted ones

    void begin() {
      n.store(0, std::memory_order_relaxed);
      sum.store(0, std::memory_order_relaxed);
    }
    /// A thread that was interrupted, or waited for its peer, measures that: a message counts as four times the mean
    /// at most.
    void add(float ticks) {
      const uint32_t before = n.load(std::memory_order_relaxed);
      const float sum_before = sum.load(std::memory_order_relaxed), old = time.load(std::memory_order_relaxed);
      if (before < uncounted) return n.store(before + 1, std::memory_order_relaxed);
      const float mean = old != 0 || before == uncounted ? old : sum_before / static_cast<float>(before - uncounted);
      const float total = sum_before + (mean == 0 ? ticks : std::min(ticks, 4 * mean));
      n.store(before + 1, std::memory_order_relaxed);
      sum.store(total, std::memory_order_relaxed);
      if (before + 1 < round) return;
      // Disturbances only make times longer, so shorter ones count more.
      const float sample = total / float{round - uncounted}, weight = sample < old ? 0.5F : 0.25F;
      time.store(old == 0 ? sample : old + weight * (sample - old), std::memory_order_relaxed);
      n.store(uncounted, std::memory_order_relaxed);  // the next round of the same way counts from its first message
      sum.store(0, std::memory_order_relaxed);
    }
  };

  way next_way(way usual, uint32_t now) {
    const way other = usual == way::fragments ? way::remote_access : way::fragments;
    const float a = estimate(usual), b = estimate(other);
    if (a == 0) return usual;
    if (b == 0) return other;
    const bool is_better = b < clearly_faster * a;
    const float least = is_better ? b : a, second = is_better ? a : b;
    const float interval = std::clamp((second / least - 1) / share_of_trials, fewest_rounds, most_rounds);
    const bool is_early = now <= last_early && (now & (now - 1)) == 0;
    if (!is_early && now - tried_.load(std::memory_order_relaxed) < static_cast<uint32_t>(interval))
      return is_better ? other : usual;
    tried_.store(now, std::memory_order_relaxed);
    return is_better ? usual : other;
  }

  const one& of(way w) const { return both_[static_cast<size_t>(w)]; }
  one& of(way w) { return both_[static_cast<size_t>(w)]; }

  std::atomic<uint32_t> messages_{0};
  std::atomic<uint32_t> tried_{0};  // the round of the latest trial
  std::atomic<way> current_{way::fragments};
  std::array<one, 2> both_;
};

}  // namespace lci::core
