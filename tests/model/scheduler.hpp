// A deterministic scheduler: it may switch fibers before and after each access to an atomic, in an order
// that a seed decides. It explores interleavings with sequentially consistent memory; weak memory orders
// are tested by ThreadSanitizer.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/testing.hpp"

namespace lci_model {

/// How many interleavings a test explores.
constexpr int schedules = 3000 / lci_test::time_scale;

/// One schedule. All fibers run in the calling thread.
class scheduler {
 public:
  explicit scheduler(uint64_t seed);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  void spawn(std::function<void()> body);
  /// Runs all fibers until they end. Returns an empty text or the failure: a failed check(), all fibers asleep,
  /// or more steps than any fair schedule needs.
  std::string run();

  // Called by fibers; without a running scheduler they have no effect.
  static void step();
  static void check(bool ok, const char* what);
  static void sleep(const void* word, uint32_t expected, bool may_time_out);
  static void wake(const void* word, int n);
  /// The number of the running fiber, in the order of spawn(); 0 if none runs.
  static unsigned number();

 private:
  struct fiber;
  static void enter(unsigned high, unsigned low);
  fiber* pick();
  void switch_to(fiber* next);
  void fail(const std::string& what);

  static scheduler* current_;
  std::mt19937_64 random_;
  uint32_t switch_one_in_;
  uint64_t steps_ = 0;
  std::string failure_;
  std::vector<std::unique_ptr<fiber>> fibers_;
  std::unique_ptr<fiber> main_;
  fiber* running_ = nullptr;
};

/// Runs `scenario(scheduler&)` with the seeds 1..n. The scenario spawns fibers, and may return a function that
/// checks the result and returns an empty text or a failure. Returns the first failure with its seed.
template <class Scenario>
std::string explore(int n, Scenario scenario) {
  for (int seed = 1; seed <= n; ++seed) {
    scheduler s(static_cast<uint64_t>(seed));
    const std::function<std::string()> verdict = scenario(s);
    std::string failure = s.run();
    if (failure.empty() && verdict) failure = verdict();
    if (!failure.empty()) return "seed " + std::to_string(seed) + ": " + failure;
  }
  return {};
}

/// Replaces std::atomic. The value is the first member, since futexes wait on the address of the atomic.
template <class T>
class atom {
 public:
  atom() = default;
  explicit atom(T v) : value_(v) {}
  atom(const atom&) = delete;
  atom& operator=(const atom&) = delete;
  // Detected by later accesses, for which the tests keep the memory.
  ~atom() { *const_cast<volatile uint32_t*>(&life_) = destroyed; }

  T load(std::memory_order = std::memory_order_seq_cst) const {
    return access([&] { return value_; });
  }
  void store(T v, std::memory_order = std::memory_order_seq_cst) {
    access([&] { return value_ = v; });
  }
  T exchange(T v, std::memory_order = std::memory_order_seq_cst) {
    return access([&] { return std::exchange(value_, v); });
  }
  T fetch_add(T v, std::memory_order = std::memory_order_seq_cst) {
    return access([&] { return std::exchange(value_, static_cast<T>(value_ + v)); });
  }
  T fetch_sub(T v, std::memory_order = std::memory_order_seq_cst) {
    return access([&] { return std::exchange(value_, static_cast<T>(value_ - v)); });
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order,
                               std::memory_order = std::memory_order_seq_cst) {
    return access([&] {
      if (value_ != expected) {
        expected = value_;
        return false;
      }
      value_ = desired;
      return true;
    });
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order o,
                             std::memory_order p = std::memory_order_seq_cst) {
    return compare_exchange_strong(expected, desired, o, p);
  }

 private:
  // Zeroed memory counts as constructed: bounded_queue relies on it.
  static constexpr uint32_t destroyed = 0xdead;

  template <class F>
  auto access(F f) const {
    scheduler::step();
    scheduler::check(life_ != destroyed, "access to a destroyed object");
    auto result = f();
    scheduler::step();
    return result;
  }

  T value_{};
  uint32_t life_ = 0;
};

/// Replaces os_futex. A wait with a time-out may end at any time.
struct futex {
  static void wait(const void* word, uint32_t expected, int64_t timeout_ns) {
    scheduler::sleep(word, expected, timeout_ns >= 0);
  }
  static void wake(const void* word, int n) { scheduler::wake(word, n); }
  static void wake_all(const void* word) { scheduler::wake(word, 1 << 30); }
};

}  // namespace lci_model
