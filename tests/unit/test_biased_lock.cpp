// biased_lock with real threads; tests/model has its schedules.
#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/concurrent/biased_lock.hpp"
#include "tests/support/testing.hpp"

namespace {

constexpr int enough_for_a_bias = 40;

void take_often(lci::biased_lock& lock) {
  for (int i = 0; i < enough_for_a_bias; ++i) std::lock_guard guard(lock);
}

}  // namespace

TEST_CASE("biased_lock: its holder can't take it again, before and after the bias", "[concurrent]") {
  lci::biased_lock lock;
  for (int i = 0; i < enough_for_a_bias; ++i) {
    REQUIRE(lock.try_lock());
    CHECK(lock.is_held());
    CHECK_FALSE(lock.try_lock());
    lock.unlock();
    CHECK_FALSE(lock.is_held());
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
