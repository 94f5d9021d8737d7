// Every kind of queue with one thread, and with many where the kind allows it.
#include <lct.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/testing.hpp"
#include "tests/unit/threads.hpp"

namespace {

struct kind {
  const char* name;
  LCT_queue_type_t type;
  bool array, shared;
};
const kind kinds[] = {
    {"array_atomic_faa", LCT_QUEUE_ARRAY_ATOMIC_FAA, true, true},
    {"array_atomic_cas", LCT_QUEUE_ARRAY_ATOMIC_CAS, true, true},
    {"array_atomic_basic", LCT_QUEUE_ARRAY_ATOMIC_BASIC, true, true},
    {"array_st", LCT_QUEUE_ARRAY_ST, true, false},
    {"array_mutex", LCT_QUEUE_ARRAY_MUTEX, true, true},
    {"std", LCT_QUEUE_STD, false, false},
    {"std_mutex", LCT_QUEUE_STD_MUTEX, false, true},
    {"ms", LCT_QUEUE_MS, false, true},
    {"lcrq", LCT_QUEUE_LCRQ, false, true},
    {"lprq", LCT_QUEUE_LPRQ, false, true},
    {"faaarray", LCT_QUEUE_FAAARRAY, false, true},
    {"lazy_index", LCT_QUEUE_LAZY_INDEX, false, true},
};

void* as_item(uint64_t n) { return reinterpret_cast<void*>(n); }
uint64_t as_number(void* item) { return reinterpret_cast<uint64_t>(item); }

/// Freed at the end of its scope.
class queue {
 public:
  queue(const kind& k, size_t length) : q_(LCT_queue_alloc(k.type, length)) { REQUIRE(q_ != nullptr); }
  ~queue() { LCT_queue_free(&q_); }
  queue(const queue&) = delete;
  queue& operator=(const queue&) = delete;
  operator LCT_queue_t() const { return q_; }

 private:
  LCT_queue_t q_;
};

constexpr int producers = 3, consumers = 3;
constexpr uint64_t each = lci_test::thread_sanitizer ? 3000 : 20000;

}  // namespace

TEST_CASE("one thread pops what it has pushed in order, and then NULL", "[queue]") {
  for (const kind& k : kinds) {
    INFO(k.name);
    queue q(k, 300);
    CHECK(LCT_queue_pop(q) == nullptr);
    uint64_t in = 0, out = 0;
    for (int round = 0; round < 20; ++round) {  // more than its length in total, but not at a time
      for (int i = 0; i < 300; ++i) LCT_queue_push(q, as_item(++in));
      bool right = true;
      for (int i = 0; i < 300; ++i) right = right && as_number(LCT_queue_pop(q)) == ++out;
      CHECK(right);
      CHECK(LCT_queue_pop(q) == nullptr);
    }
  }
}

TEST_CASE("an array holds as many items as its length, other queues any number", "[queue]") {
  for (const kind& k : kinds)
    for (size_t length : {size_t{1}, size_t{7}, size_t{1000}}) {
      INFO(k.name << ", " << length);
      queue q(k, length);
      const uint64_t n = k.array ? length : 1000;
      for (uint64_t i = 1; i <= n; ++i) LCT_queue_push(q, as_item(i));
      uint64_t got = 0;
      while (as_number(LCT_queue_pop(q)) == got + 1) ++got;
      CHECK(got == n);
    }
}

TEST_CASE("freeing a queue does not access its items", "[queue]") {
  for (const kind& k : kinds) {
    LCT_queue_t q = LCT_queue_alloc(k.type, 8);
    REQUIRE(q != nullptr);
    LCT_queue_push(q, as_item(8));  // not the address of memory
    LCT_queue_free(&q);
    CHECK(q == nullptr);
    LCT_queue_free(&q);  // freeing NULL has no effect
  }
}

TEST_CASE("many producers and consumers lose nothing and preserve the order of each producer", "[queue][threads]") {
  for (const kind& k : kinds) {
    if (!k.shared) continue;
    INFO(k.name);
    queue q(k, 64);  // arrays are full most of the time, so that pushes wait
    std::atomic<uint64_t> popped{0};
    struct result {
      uint64_t count = 0, sum = 0, disordered = 0;
    };
    const auto results = lci_test::in_threads(producers + consumers, [&](int i) {
      result r;
      if (i < producers) {
        for (uint64_t n = 1; n <= each; ++n) LCT_queue_push(q, as_item((n << 8) | static_cast<uint64_t>(i)));
        return r;
      }
      uint64_t last[producers] = {};
      while (popped.load(std::memory_order_relaxed) < producers * each) {
        const uint64_t item = as_number(LCT_queue_pop(q));
        if (item == 0) {
          std::this_thread::yield();
          continue;
        }
        popped.fetch_add(1, std::memory_order_relaxed);
        uint64_t& before = last[item & 0xff];
        r.disordered += item >> 8 <= before;
        before = item >> 8;
        ++r.count;
        r.sum += item >> 8;
      }
      return r;
    });
    result all;
    for (const result& r : results) {
      all.count += r.count;
      all.sum += r.sum;
      all.disordered += r.disordered;
    }
    CHECK(all.count == producers * each);
    CHECK(all.sum == producers * each * (each + 1) / 2);
    CHECK(all.disordered == 0);
    CHECK(LCT_queue_pop(q) == nullptr);
  }
}

TEST_CASE("items are popped in the order of pushes by different threads", "[queue][threads]") {
  for (const kind& k : kinds) {
    if (!k.shared) continue;
    INFO(k.name);
    queue q(k, 64);
    constexpr uint64_t n = lci_test::thread_sanitizer ? 200 : 600;
    std::atomic<uint64_t> turn{1};  // the number to be pushed next: threads push in turns
    std::atomic<uint64_t> popped{0};
    const auto results = lci_test::in_threads(producers + consumers, [&](int i) {
      uint64_t disordered = 0, last = 0;
      if (i < producers) {
        for (;;) {
          const uint64_t now = turn.load(std::memory_order_acquire);
          if (now > n) break;
          if (now % producers != static_cast<uint64_t>(i)) {
            std::this_thread::yield();
            continue;
          }
          LCT_queue_push(q, as_item(now));
          turn.store(now + 1, std::memory_order_release);
        }
        return disordered;
      }
      while (popped.load(std::memory_order_relaxed) < n) {
        const uint64_t item = as_number(LCT_queue_pop(q));
        if (item == 0) {
          std::this_thread::yield();
          continue;
        }
        popped.fetch_add(1, std::memory_order_relaxed);
        disordered += item <= last;  // each consumer gets a part of the one order
        last = item;
      }
      return disordered;
    });
    uint64_t disordered = 0;
    for (uint64_t d : results) disordered += d;
    CHECK(disordered == 0);
  }
}

TEST_CASE("a push to an array that is full waits until there is room", "[queue][threads]") {
  for (const kind& k : kinds) {
    if (!k.shared || !k.array) continue;
    INFO(k.name);
    queue q(k, 2);
    LCT_queue_push(q, as_item(1));
    LCT_queue_push(q, as_item(2));
    std::atomic<bool> pushed{false};
    std::thread third([&] {
      LCT_queue_push(q, as_item(3));
      pushed.store(true);
    });
    lci_test::pause_ms(20);
    const bool early = pushed.load();
    const uint64_t first = as_number(LCT_queue_pop(q));
    third.join();
    CHECK(!early);
    CHECK(first == 1);
    CHECK(as_number(LCT_queue_pop(q)) == 2);
    CHECK(as_number(LCT_queue_pop(q)) == 3);
  }
}

TEST_CASE("a queue larger than any memory is NULL with ENOMEM", "[queue]") {
  if (lci_test::sanitized) LCI_SKIP("sanitizers end a program that asks for so much");
  for (const kind& k : kinds) {
    if (!k.array) continue;
    for (size_t length : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 256, size_t{1} << 50}) {
      INFO(k.name << ", " << length);
      errno = 0;
      LCT_queue_t q = LCT_queue_alloc(k.type, length);
      CHECK(q == nullptr);
      CHECK(errno == ENOMEM);
      LCT_queue_free(&q);
    }
  }
}
