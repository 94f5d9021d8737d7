// biased_lock with real threads; tests/model has its schedules.
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "lib/concurrent/biased_lock.hpp"
#include "tests/support/testing.hpp"

namespace lci_test {

/// Runs a function right after a chosen load: it does what other threads do while this one is preempted there.
struct interruption {
  int after = 0;  // loads
  std::function<void()> run;
  void count() {
    if (after == 0 || --after > 0) return;
    run();
  }
};
inline interruption next_interruption;

template <class T>
struct interruptible {
  interruptible() = default;
  explicit interruptible(T v) : value(v) {}
  T load(std::memory_order) const {
    const T seen = value;
    next_interruption.count();
    return seen;
  }
  void store(T v, std::memory_order) { value = v; }
  T exchange(T v, std::memory_order) { return std::exchange(value, v); }
  T value{};
};

}  // namespace lci_test

namespace {

using lci_test::interruptible;
using lci_test::next_interruption;

constexpr int enough_for_a_bias = 40;

void take_often(lci::biased_lock& lock) {
  for (int i = 0; i < enough_for_a_bias; ++i) std::lock_guard guard(lock);
}

/// Threads by turns: the test says which one runs.
struct chosen_thread {
  static inline uintptr_t running = 0;
  static bool is_possible() { return true; }
  static void execute() {}
  static uintptr_t this_thread() { return running * 8; }
};

}  // namespace

TEST_CASE("biased_lock: its former owner that was interrupted before it set `busy` does not free it", "[concurrent]") {
  lci::basic_biased_lock<interruptible, chosen_thread, 1> lock;
  const auto take_often_as = [&](uintptr_t thread) {
    chosen_thread::running = thread;
    for (int i = 0; i < enough_for_a_bias; ++i) std::lock_guard guard(lock);
  };
  for (int loads = 1; loads <= 2; ++loads) {
    take_often_as(1);
    chosen_thread::running = 1;
    next_interruption = {loads, [&] {
                           take_often_as(2);
                           REQUIRE(lock.try_lock());
                           chosen_thread::running = 1;
                         }};
    const bool has_two_holders = lock.try_lock();
    CHECK_FALSE(has_two_holders);
    chosen_thread::running = 3;
    CHECK_FALSE(lock.try_lock());
    chosen_thread::running = 2;
    lock.unlock();
  }
}

TEST_CASE("biased_lock: its holder can't take it again, before and after the bias", "[concurrent]") {
  lci::biased_lock lock;
  for (int i = 0; i < enough_for_a_bias; ++i) {
    REQUIRE(lock.try_lock());
    CHECK_FALSE(lock.try_lock());
    lock.unlock();
  }
}

TEST_CASE("biased_lock: another thread gets a lock that is biased, but not while it is held", "[concurrent]") {
  lci::biased_lock lock;
  take_often(lock);
  lock.lock();
  bool got_it = true;
  std::thread([&] { got_it = lock.try_lock(); }).join();
  CHECK_FALSE(got_it);
  lock.unlock();
  std::thread([&] {
    got_it = lock.try_lock();
    if (got_it) lock.unlock();
  }).join();
  CHECK(got_it);
}

TEST_CASE("biased_lock: a thread excludes others that take the lock now and then", "[concurrent]") {
  constexpr int turns = 200'000 / lci_test::time_scale, others = 3, turns_of_others = 200 / lci_test::time_scale;
  lci::biased_lock lock;
  int64_t n = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < others; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < turns_of_others; ++i) {
        {
          std::lock_guard guard(lock);
          ++n;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  for (int i = 0; i < turns; ++i) {
    std::lock_guard guard(lock);
    ++n;
  }
  for (std::thread& t : threads) t.join();
  CHECK(n == turns + others * turns_of_others);
}
