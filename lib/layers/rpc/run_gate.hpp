// Which threads in engine::run() an engine::stop() ends.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci::rpc::detail {

/// A stop() ends run() in all threads that are in it. If there are none, it ends the next run() as soon as that begins.
/// One word that is changed without a lock, so that signal handlers may call stop(). Thread-safe.
class run_gate {
 public:
  /// Called as run() begins. Returns false if run() is to end at once. Else is_ended(round) tells when it is to end.
  bool enter(uint32_t* round) {
    uint64_t s = state_.load(std::memory_order_relaxed);
    uint64_t after = 0;
    do {
      *round = round_of(s);
      after = (s & ends_next) != 0 ? s & ~ends_next : s + 1;
    } while (!state_.compare_exchange_weak(s, after, std::memory_order_acquire, std::memory_order_relaxed));
    return (s & ends_next) == 0;
  }
  bool is_ended(uint32_t round) const { return round_of(state_.load(std::memory_order_acquire)) != round; }
  /// Called when run() ends for another reason than a stop().
  void leave(uint32_t round) {
    uint64_t s = state_.load(std::memory_order_relaxed);
    do
      if (round_of(s) != round) return;  // a stop() has come meanwhile
    while (!state_.compare_exchange_weak(s, s - 1, std::memory_order_relaxed));
  }
  void stop() {
    uint64_t s = state_.load(std::memory_order_relaxed);
    uint64_t after = 0;
    do after = (s & threads) != 0 ? uint64_t{round_of(s) + 1} << 32 : s | ends_next;
    while (!state_.compare_exchange_weak(s, after, std::memory_order_release, std::memory_order_relaxed));
  }

 private:
  // Bits 0 to 30: the number of threads that are in run() and that no stop() has ended. Bit 31: the next run() is to
  // end at once. Bits 32 to 63: the number of the round, which each stop() that ends threads increments.
  static constexpr uint64_t threads = 0x7fffffff, ends_next = 0x80000000;
  static uint32_t round_of(uint64_t state) { return static_cast<uint32_t>(state >> 32); }

  std::atomic<uint64_t> state_{0};
};

}  // namespace lci::rpc::detail
