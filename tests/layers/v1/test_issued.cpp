// Fences and the operations that they wait for.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "lib/layers/v1/issued.hpp"

namespace {
void end(v1::issued_operations& operations, uint8_t period) {
  const v1::issued_operations::delivering ends_here(&operations, period);
}
}  // namespace

TEST_CASE("a fence waits for the operations that began before it, not for later ones", "[issued]") {
  v1::issued_operations operations;
  CHECK_FALSE(operations.has_any());
  CHECK(v1::issued_operations::fence(operations).is_passed());
  const uint8_t before = operations.begin();
  CHECK(operations.has_any());
  v1::issued_operations::fence first(operations);
  CHECK_FALSE(first.is_passed());
  const uint8_t after = operations.begin();
  v1::issued_operations::fence second(operations);
  CHECK_FALSE(first.is_passed());
  CHECK_FALSE(second.is_passed());
  end(operations, before);
  CHECK(first.is_passed());
  CHECK_FALSE(second.is_passed());
  CHECK(operations.has_any());
  end(operations, after);
  CHECK(second.is_passed());
  CHECK_FALSE(operations.has_any());
}

TEST_CASE("a fence that looks seldom is passed because others have begun periods", "[issued]") {
  v1::issued_operations operations;
  uint8_t running = operations.begin();
  v1::issued_operations::fence seldom(operations);
  for (int i = 0; i < 3; ++i) {  // there is an operation at each moment
    CHECK_FALSE(v1::issued_operations::fence(operations).is_passed());
    const uint8_t next = operations.begin();
    CHECK(next != running);
    end(operations, running);
    running = next;
  }
  const uint8_t in_the_other_period = static_cast<uint8_t>(1 - running);
  CHECK_FALSE(v1::issued_operations::fence(operations).is_passed());
  const uint8_t another = operations.begin();
  CHECK(another == in_the_other_period);
  CHECK(seldom.is_passed());  // although both counters have operations
  end(operations, another);
  end(operations, running);
}

TEST_CASE("fences of several threads end while others issue operations without end", "[issued]") {
  constexpr int n_issuing = 2, n_fencing = 2, rounds = 2000;
  v1::issued_operations operations;
  struct alignas(64) progress {
    std::atomic<uint64_t> begun{0}, ended{0};
  };
  std::array<progress, n_issuing> of_thread;
  std::atomic<int> fencing{n_fencing}, too_early{0};
  std::vector<std::thread> threads;
  for (progress& mine : of_thread)
    threads.emplace_back([&] {
      // The next operation begins before the last one ends.
      uint8_t last = operations.begin();
      mine.begun.fetch_add(1);
      while (fencing.load() > 0) {
        const uint8_t next = operations.begin();
        mine.begun.fetch_add(1);
        mine.ended.fetch_add(1);
        end(operations, last);
        last = next;
        std::this_thread::yield();
      }
      mine.ended.fetch_add(1);
      end(operations, last);
    });
  for (int i = 0; i < n_fencing; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        std::array<uint64_t, n_issuing> begun;
        for (int t = 0; t < n_issuing; ++t) begun[t] = of_thread[t].begun.load();
        v1::issued_operations::fence fence(operations);
        while (!fence.is_passed()) std::this_thread::yield();
        for (int t = 0; t < n_issuing; ++t) too_early += of_thread[t].ended.load() < begun[t];
      }
      fencing.fetch_sub(1);
    });
  for (std::thread& t : threads) t.join();
  CHECK(too_early == 0);
  CHECK_FALSE(operations.has_any());
}

TEST_CASE("an operation ends after its completion was delivered", "[issued]") {
  v1::issued_operations operations;
  const uint8_t period = operations.begin();
  v1::issued_operations::fence fence(operations);
  std::atomic<bool> begun{false}, may_end{false}, ended{false};
  std::thread delivering([&] {
    const v1::issued_operations::delivering now(&operations, period);
    begun = true;
    while (!may_end) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ended = true;
  });
  while (!begun) std::this_thread::yield();
  CHECK_FALSE(operations.has_any());  // so that the endpoint may be freed
  CHECK_FALSE(fence.is_passed());
  may_end = true;
  operations.end_deliveries();
  CHECK(ended);
  CHECK(fence.is_passed());
  delivering.join();
  operations.withdraw(operations.begin());
  CHECK_FALSE(operations.has_any());
}

TEST_CASE("a completion's handler may free the endpoint", "[issued]") {
  using delivering = v1::issued_operations::delivering;
  auto operations = std::make_unique<v1::issued_operations>();
  v1::issued_operations others;
  const uint8_t of_others = others.begin();
  {
    const delivering outer(operations.get(), operations->begin()), between(&others, of_others),
        inner(operations.get(), operations->begin()), none(nullptr, 0);
    operations->end_deliveries();
    CHECK(v1::issued_operations::fence(*operations).is_passed());
    operations.reset();
    CHECK_FALSE(v1::issued_operations::fence(others).is_passed());
  }
  CHECK(v1::issued_operations::fence(others).is_passed());
  CHECK_FALSE(others.has_any());
}
