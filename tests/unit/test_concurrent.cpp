// The concurrent queues and the array, with real threads.
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <set>

#include "lci/types.hpp"
#include "lib/concurrent/bounded_queue.hpp"
#include "lib/concurrent/deferred_queue.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/concurrent/segmented_queue.hpp"
#include "lib/concurrent/sharded_queue.hpp"
#include "tests/unit/threads.hpp"

using lci::status_t;
using lci_test::in_threads;

namespace {

status_t item(int rank, size_t n) {
  status_t s(lci::errorcode_t::done);
  s.rank = rank;
  s.size = n;
  s.tag = n ^ 0x5555;
  s.user_context = reinterpret_cast<void*>(n * 3);
  return s;
}
bool sound(const status_t& s) {
  return s.tag == (s.size ^ 0x5555) && s.user_context == reinterpret_cast<void*>(s.size * 3);
}

template <class Queue>
void push_all(Queue& q, const status_t& s) {
  if constexpr (std::is_void_v<decltype(q.push(s))>) {
    q.push(s);
  } else {
    while (!q.push(s)) std::this_thread::yield();
  }
}

struct outcome {
  uint64_t count = 0, sum = 0, torn = 0, disordered = 0;
};

// Half of the threads push, the others pop up to `at_once` items in a call, until all items have been popped.
template <class Queue>
outcome pump(Queue& q, int pairs, size_t each, size_t at_once) {
  std::atomic<uint64_t> popped{0};
  const uint64_t total = static_cast<uint64_t>(pairs) * each;
  auto results = in_threads(2 * pairs, [&](int i) {
    outcome o;
    if (i % 2 == 0) {
      for (size_t n = 1; n <= each; ++n) push_all(q, item(i / 2, n));
      return o;
    }
    std::vector<size_t> last(static_cast<size_t>(pairs), 0);
    std::vector<status_t> some(at_once);
    while (popped.load(std::memory_order_relaxed) < total) {
      const size_t n = at_once == 1 ? size_t{q.pop(some[0])} : q.pop_many(some.data(), at_once);
      if (n == 0) std::this_thread::yield();
      popped.fetch_add(n, std::memory_order_relaxed);
      for (size_t k = 0; k < n; ++k) {
        const status_t& s = some[k];
        ++o.count;
        o.sum += s.size;
        o.torn += !sound(s);
        size_t& l = last[static_cast<size_t>(s.rank)];
        o.disordered += s.size <= l;
        l = s.size;
      }
    }
    return o;
  });
  outcome all;
  for (auto& o : results) {
    all.count += o.count;
    all.sum += o.sum;
    all.torn += o.torn;
    all.disordered += o.disordered;
  }
  return all;
}

/// Three threads push the given number of items each, and three pop.
template <class Queue>
void check_pumped(Queue& q, size_t each, size_t at_once = 1) {
  const outcome o = pump(q, 3, each, at_once);
  CHECK(o.count == 3 * each);
  CHECK(o.sum == 3 * each * (each + 1) / 2);
  CHECK(o.torn == 0);
  CHECK(o.disordered == 0);
  CHECK(q.idle());
}

constexpr size_t items = 200000 / lci_test::time_scale;

}  // namespace

TEST_CASE("bounded queue: first in, first out; refuses when full; empties") {
  lci::bounded_queue<status_t> q(5);
  REQUIRE(q.capacity() == 8);
  status_t s;
  for (int round = 0; round < 3; ++round) {
    CHECK(q.idle());
    CHECK(!q.pop(s));
    for (size_t i = 0; i < 8; ++i) CHECK(q.push(item(0, i)));
    CHECK(!q.push(item(0, 9)));
    CHECK(!q.idle());
    for (size_t i = 0; i < 8; ++i) {
      REQUIRE(q.pop(s));
      CHECK(s.size == i);
      CHECK(sound(s));
    }
  }
  CHECK(lci::bounded_queue<int>(0).capacity() == 2);
}

TEST_CASE("bounded queue: many threads lose nothing and keep each producer's order") {
  for (size_t capacity : {2, 64, 65536}) {
    lci::bounded_queue<status_t> q(capacity);
    // Few items where threads wait for each other at nearly each item: on a busy machine a turn takes milliseconds.
    check_pumped(q, capacity == 2 ? items / 256 : items / 16);
  }
}

TEST_CASE("bounded queue: pops several items in a call, in order, in many rounds") {
  lci::bounded_queue<status_t> q(8);
  status_t some[20];
  size_t next = 0, pushed = 0;
  CHECK(q.pop_many(some, 20) == 0);
  for (int round = 0; round < 50; ++round) {
    while (q.push(item(0, pushed))) ++pushed;
    CHECK(q.pop_many(some, 0) == 0);
    for (size_t max : {3u, 20u}) {
      const size_t n = q.pop_many(some, max);
      CHECK(n == (max == 3 ? 3 : 5));
      for (size_t k = 0; k < n; ++k, ++next)
        if (some[k].size != next || !sound(some[k])) FAIL("item " << next << " came as " << some[k].size);
    }
    CHECK(q.idle());
  }
  for (size_t at_once : {2, 100}) check_pumped(q, items / 16, at_once);
}

TEST_CASE("segmented queue: pops several items in a call, in order, across segments") {
  lci::segmented_queue<status_t> q;
  status_t some[300];
  CHECK(q.pop_many(some, 300) == 0);
  size_t next = 0;
  for (size_t i = 0; i < 1000; ++i) q.push(item(0, i));
  CHECK(q.pop_many(some, 0) == 0);
  for (size_t max : {1u, 300u, 127u, 300u, 300u}) {
    const size_t n = q.pop_many(some, max);
    CHECK(n == (next + max <= 1000 ? max : 1000 - next));
    for (size_t k = 0; k < n; ++k, ++next)
      if (some[k].size != next || !sound(some[k])) FAIL("item " << next << " came as " << some[k].size);
  }
  CHECK(next == 1000);
  CHECK(q.idle());
  for (size_t at_once : {2, 300}) check_pumped(q, items, at_once);
}

TEST_CASE("sharded queue: a call pops several items from all shards, and no item waits for ever") {
  lci::sharded_queue<status_t> q;
  status_t some[256];
  for (size_t at_once : {1u, 2u, 62u, 63u, 64u, 65u, 256u}) {
    // This thread pushes to its own shard as fast as it pops.
    in_threads(3, [&](int t) {
      if (t > 0) q.push(item(t, 7));
      return 0;
    });
    int found = 0;
    for (size_t round = 0; round < 2000 && found < 2; ++round) {
      for (size_t n = 0; n < at_once; ++n) q.push(item(0, n));
      const size_t n = q.pop_many(some, at_once);
      REQUIRE(n == at_once);
      for (size_t k = 0; k < n; ++k) found += some[k].rank != 0;
    }
    CHECK(found == 2);
    while (q.pop_many(some, 256) > 0) {
    }
    CHECK(q.idle());
  }
  for (size_t at_once : {2, 300}) check_pumped(q, items, at_once);
}

TEST_CASE("segmented queue: first in, first out, without a bound") {
  lci::segmented_queue<status_t> q;
  status_t s;
  CHECK(!q.pop(s));
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < 10000; ++i) q.push(item(0, i));
    CHECK(!q.idle());
    for (size_t i = 0; i < 10000; ++i) {
      REQUIRE(q.pop(s));
      if (s.size != i || !sound(s)) FAIL("item " << i << " came as " << s.size);
    }
    CHECK(!q.pop(s));
    CHECK(q.idle());
  }
  // The second round reused the segments of the first.
  CHECK(q.segments() <= 10000 / 128 + 2);
}

TEST_CASE("segmented queue: uses little memory while it is empty, however many items it had") {
  lci::segmented_queue<status_t> q;
  status_t s;
  for (size_t i = 0; i < 100000; ++i) {
    q.push(item(0, i));
    REQUIRE(q.pop(s));
  }
  CHECK(q.segments() <= 2);
  CHECK(sizeof q + q.segments() * 128 * 64 < 20000);
}

TEST_CASE("segmented queue: many threads lose nothing and keep each producer's order") {
  lci::segmented_queue<status_t> q;
  check_pumped(q, items);
}

TEST_CASE("segmented queue: threads that push and pop in turn always find an item") {
  lci::segmented_queue<status_t> q;
  auto failures = in_threads(4, [&](int t) {
    int bad = 0;
    status_t s;
    for (size_t i = 0; i < many; ++i) {
      q.push(item(t, i));
      while (!q.pop(s)) std::this_thread::yield();
      bad += !sound(s);
    }
    return bad;
  });
  for (int bad : failures) CHECK(bad == 0);
  CHECK(q.idle());
  CHECK(q.segments() < 16);
}

TEST_CASE("sharded queue: many threads lose nothing and keep each producer's order") {
  lci::sharded_queue<status_t> q;
  check_pumped(q, items);
}

TEST_CASE("sharded queue: items that threads push in turn are popped in that order") {
  lci::sharded_queue<status_t> q;
  std::atomic<size_t> turn{0};
  constexpr size_t each = 1000;
  in_threads(3, [&](int t) {
    for (size_t n = 0; n < each; ++n) {
      while (turn.load(std::memory_order_acquire) != 3 * n + static_cast<size_t>(t)) std::this_thread::yield();
      const lci::pushes_in_order mark;
      q.push(item(t, 3 * n + static_cast<size_t>(t)));
      turn.fetch_add(1, std::memory_order_release);
    }
    return 0;
  });
  for (size_t n = 0; n < 3 * each; ++n) {
    status_t s;
    REQUIRE(q.pop(s));
    if (s.size != n) FAIL("item " << n << " came as " << s.size);
  }
}

TEST_CASE("sharded queue: a thread whose own shard is never empty also pops from the others") {
  lci::sharded_queue<status_t> q;
  in_threads(2, [&](int t) {
    if (t == 1) q.push(item(1, 7));
    return 0;
  });
  q.push(item(0, 0));
  bool found = false;
  for (size_t n = 1; n < 1000 && !found; ++n) {
    q.push(item(0, n));
    status_t s;
    REQUIRE(q.pop(s));
    found = s.rank == 1;
  }
  CHECK(found);
}

TEST_CASE("array: grows, and returns the default where nothing was written") {
  lci::mpmc_array<int> a(1, -1);
  CHECK(a.get(0) == -1);
  CHECK(a.get(1000000) == -1);
  for (int i = 0; i < 1000; ++i) CHECK(a.append(i) == static_cast<size_t>(i));
  a.put(5000, 42);
  CHECK(a.size() == 5001);
  CHECK(a.get(5000) == 42);
  CHECK(a.get(4999) == -1);
  CHECK(a.append(7) == 5001);
  for (int i = 0; i < 1000; ++i) REQUIRE(a.get(static_cast<size_t>(i)) == i);
  CHECK(a.get_wrapped(999) == 999);
}

TEST_CASE("array: readers see complete objects while others append") {
  struct object {
    size_t a, b;
  };
  lci::mpmc_array<object*> array(1);
  std::atomic<size_t> written{0};
  constexpr size_t n = 20000 / lci_test::time_scale;
  auto bad = in_threads(4, [&](int t) {
    size_t wrong = 0;
    if (t < 2) {
      for (size_t i = 0; i < n; ++i) {
        auto* o = new object{0, 0};
        o->a = o->b = i + 1;
        const size_t index = array.append(o);
        wrong += array.get(index) != o;
        written.fetch_add(1, std::memory_order_release);
      }
      return wrong;
    }
    size_t k = 0;
    while (written.load(std::memory_order_acquire) < 2 * n) {
      const object* o = array.get(k++ % (2 * n));
      wrong += o && (o->a == 0 || o->a != o->b);
    }
    return wrong;
  });
  for (size_t w : bad) CHECK(w == 0);
  REQUIRE(array.size() == 2 * n);
  std::set<object*> all;
  for (size_t i = 0; i < 2 * n; ++i) all.insert(array.get(i));
  CHECK(all.size() == 2 * n);
  for (object* o : all) delete o;
}

TEST_CASE("event count: a sleeper uses no processor time and is woken for an item") {
  lci::bounded_queue<int> q(4);
  lci::event_count<> events;
  double cpu = 0;
  int value = 0;
  std::thread sleeper([&] {
    const double before = lci_test::thread_cpu_seconds();
    while (!q.pop(value)) events.sleep([&] { return q.idle(); }, -1);
    cpu = lci_test::thread_cpu_seconds() - before;
  });
  lci_test::pause_ms(200);
  bool asleep = false;
  q.push(5, [&] { asleep = events.notice(); });
  if (asleep) events.wake();
  sleeper.join();
  CHECK(asleep);
  CHECK(value == 5);
  CHECK(cpu < 0.02 * lci_test::time_scale);
}

TEST_CASE("segmented queue: its size is that of all segments, and counts no item twice while threads use it") {
  lci::segmented_queue<int> q;
  CHECK(q.size() == 0);
  constexpr int n = 5000;  // many segments
  for (int i = 0; i < n; ++i) q.push(i);
  CHECK(q.size() == n);
  int v, many[n];
  for (int i = 0; i < 300; ++i) {
    REQUIRE(q.pop(v));
    CHECK(q.size() == static_cast<size_t>(n - 1 - i));
  }
  CHECK(q.pop_many(many, 1000) == 1000);
  CHECK(q.size() == n - 1300);
  CHECK(q.pop_many(many, n) == n - 1300);
  CHECK(q.size() == 0);
  for (int round = 0; round < 1000; ++round) {  // segments are used again
    q.push(round);
    CHECK(q.size() == 1);
    REQUIRE(q.pop(v));
  }
  CHECK(q.size() == 0);
  constexpr int most = 20000 / lci_test::time_scale;
  std::atomic<bool> over{false};
  const auto wrong = in_threads(3, [&](int t) {
    int64_t n_wrong = 0;
    if (t == 0) {
      for (int i = 0; i < most; ++i) q.push(i);
    } else if (t == 1) {
      for (int got = 0, w; got < most;) got += q.pop(w);
      over.store(true);
    } else {
      while (!over.load()) n_wrong += q.size() > most;
    }
    return n_wrong;
  });
  CHECK(wrong[2] == 0);
  CHECK(q.size() == 0);
}

TEST_CASE("event count: a sleep ends at its time-out") {
  lci::event_count<> events;
  const auto start = std::chrono::steady_clock::now();
  events.sleep([] { return true; }, 50'000'000);
  const std::chrono::duration<double> slept = std::chrono::steady_clock::now() - start;
  CHECK(slept.count() > 0.045);
  CHECK(slept.count() < 5);
  CHECK(!events.notice());
}

TEST_CASE("event count: producers and sleepers never miss each other") {
  lci::segmented_queue<int> q;
  lci::event_count<> events;
  constexpr int n = 20000 / lci_test::time_scale;
  auto sums = in_threads(4, [&](int t) {
    int64_t sum = 0;
    for (int i = 1; i <= n; ++i) {
      if (t < 2) {
        bool asleep = false;
        q.push(i, [&] { asleep = events.notice(); });
        if (asleep) events.wake();
        if (i % 64 == 0) std::this_thread::yield();
      } else {
        int v;
        while (!q.pop(v)) events.sleep([&] { return q.idle(); }, -1);
        sum += v;
      }
    }
    return sum;
  });
  CHECK(sums[2] + sums[3] == int64_t{n} * (n + 1));
}

TEST_CASE("deferred queue: runs each task once in a round and keeps those that push themselves again") {
  struct job : lci::deferred_task {
    job(lci::deferred_queue* q, int times) : deferred_task(again), queue(q), left(times) {}
    lci::deferred_queue* queue;
    int left;
    int runs = 0;
    static bool again(lci::deferred_task* self) {
      auto* j = static_cast<job*>(self);
      ++j->runs;
      if (--j->left > 0) {
        j->queue->push(j);
        return false;
      }
      return true;
    }
  };
  lci::deferred_queue q;
  CHECK(!q.run());
  job once(&q, 1), thrice(&q, 3);
  q.push(&once);
  q.push(&thrice);
  CHECK(q.count == 2);
  CHECK(q.run());
  CHECK(q.count == 1);
  CHECK(!q.run());
  CHECK(q.run());
  CHECK(q.count == 0);
  CHECK(once.runs == 1);
  CHECK(thrice.runs == 3);
}

TEST_CASE("deferred queue: a task that throws does not prevent the others") {
  lci::deferred_queue q;
  static int runs;
  static lci::deferred_queue* queue;
  runs = 0;
  queue = &q;
  lci::deferred_task last([](lci::deferred_task*) { return ++runs > 0; }), second(last.run);
  lci::deferred_task again([](lci::deferred_task* self) { return queue->push(self), false; });
  lci::deferred_task first([](lci::deferred_task*) -> bool { throw 1; });
  for (lci::deferred_task* t : {&again, &first, &second, &last}) q.push(t);
  CHECK_THROWS_AS(q.run(), int);
  CHECK(runs == 0);
  CHECK(q.count == 3);  // those that have not run, before the one that pushed itself again
  CHECK(q.run());
  CHECK(runs == 2);
  CHECK(q.count == 1);
}

TEST_CASE("deferred queue: while a task runs, other threads can run those that follow it") {
  lci::deferred_queue q;
  static lci::deferred_queue* queue;
  static int inside, followed;
  queue = &q;
  inside = followed = 0;
  lci::deferred_task outer(
      [](lci::deferred_task*) {
        ++inside;
        CHECK(queue->any_device_is_used());
        CHECK(queue->run_each());  // as another thread may
        return false;
      },
      true);
  lci::deferred_task after([](lci::deferred_task*) { return ++followed > 0; });
  lci::deferred_task again([](lci::deferred_task* self) { return queue->push(self), false; });
  for (lci::deferred_task* t : {&outer, &after, &again}) q.push(t);
  CHECK(!q.run_each());
  CHECK(inside == 1);
  CHECK(followed == 1);
  CHECK(!q.any_device_is_used());
  CHECK(q.count == 1);
  lci::deferred_task thrower([](lci::deferred_task*) -> bool { throw 1; }, true);
  q.push(&thrower);
  q.push(&after);
  CHECK_THROWS_AS(q.run_each(), int);
  CHECK(!q.any_device_is_used());
  CHECK(q.run_each());
  CHECK(followed == 2);
}
