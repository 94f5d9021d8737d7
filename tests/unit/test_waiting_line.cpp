// Threads that sleep in places other than the words of their objects: no wake-up is lost.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/signal_counter.hpp"
#include "lib/concurrent/waiting_line.hpp"

namespace {

/// A place like a network: wake() ends the sleep, or the next one.
class test_place final : public lci::sleeping_place {
 public:
  void sleep(int64_t timeout_ns) override {
    std::unique_lock lock(mutex_);
    occupied_.store(true);
    if (!changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [this] { return woken_; }))
      timed_out_.fetch_add(1);
    occupied_.store(false);
    woken_ = false;
  }
  void wake() override {
    const std::lock_guard guard(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  bool occupied() const { return occupied_.load(); }
  /// Sleeps that nobody has ended.
  int timed_out() const { return timed_out_.load(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
  std::atomic<bool> occupied_{false};
  std::atomic<int> timed_out_{0};
};

constexpr int64_t far_too_long = 60'000'000'000;  // ns; a test that takes a part of it has lost a wake-up
constexpr double too_long = 30;                   // s

double age_of(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("signals of an object wake a thread that sleeps in a place, at whatever moment they come") {
  lci::signal_counter<> counter;
  test_place place;
  constexpr int rounds = 3000;
  std::atomic<int> seen{0};
  std::thread sleeper([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (counter.get() < i) lci::sleep_in(place, [&] { counter.sleep(i, far_too_long); });
      seen.store(i);
    }
  });
  for (int i = 1; i <= rounds; ++i) {
    while (i % 16 == 0 && !place.occupied()) std::this_thread::yield();
    for (int spin = 0; spin < i % 400; ++spin) lci::cpu_pause();
    counter.add_one();
    while (seen.load() < i) std::this_thread::yield();
  }
  sleeper.join();
  CHECK(place.timed_out() == 0);
}

TEST_CASE("of threads that wait in a line one leads, and its end wakes another") {
  // As in long_wait: the leader sleeps in the place, the others as followers; each has a counter of its own.
  constexpr size_t n_threads = 4;
  constexpr int rounds = 400;
  lci::waiting_line line;
  test_place place;
  std::vector<lci::signal_counter<>> counters(n_threads);
  std::atomic<int> leaders{0}, most_leaders{0}, ended{0};
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (size_t t = 0; t < n_threads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 1; i <= rounds; ++i) {
        while (counters[t].get() < i) {
          if (line.try_to_lead()) {
            const int n = leaders.fetch_add(1) + 1;
            if (n > most_leaders.load()) most_leaders.store(n);
            lci::sleep_in(place, [&] { counters[t].sleep(i, far_too_long); });
            leaders.fetch_sub(1);
            line.stop_leading();
          } else {
            lci::waiting_line::follower me;
            if (!line.join(me)) continue;
            lci::sleep_in(me, [&] { counters[t].sleep(i, far_too_long); });
            line.leave(me);
          }
        }
        line.pass_on();
        ended.fetch_add(1);
      }
    });
  for (int i = 1; i <= rounds; ++i) {
    for (size_t t = 0; t < n_threads; ++t) counters[(t + static_cast<size_t>(i)) % n_threads].add_one();
    while (ended.load() < i * static_cast<int>(n_threads)) std::this_thread::yield();
  }
  for (std::thread& t : threads) t.join();
  CHECK(most_leaders.load() == 1);
  CHECK(place.timed_out() == 0);
  CHECK(age_of(begin) < too_long);
}

TEST_CASE("a follower that nobody signals leads when the leader leaves") {
  lci::waiting_line line;
  lci::signal_counter<> counter;
  REQUIRE(line.try_to_lead());
  std::atomic<bool> follows{false}, leads{false};
  std::thread other([&] {
    lci::waiting_line::follower me;
    if (line.join(me)) {
      follows.store(true);
      lci::sleep_in(me, [&] { counter.sleep(1, far_too_long); });
      line.leave(me);
    }
    leads.store(line.try_to_lead());
  });
  while (!follows.load()) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  line.stop_leading();
  other.join();
  CHECK(leads.load());
  CHECK(age_of(begin) < too_long);
}
