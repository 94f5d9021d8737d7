// Completion objects without a runtime.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>

#include "lib/comp/completion_queue.hpp"
#include "lib/comp/counter.hpp"
#include "lib/comp/handler.hpp"
#include "lib/comp/synchronizer.hpp"
#include "tests/unit/threads.hpp"

using namespace lci::core;
using lci::attr_comp_type_t;
using lci::attr_cq_type_t;
using lci::comp_attr_t;
using lci::errorcode_t;
using lci::status_t;
using lci_test::in_threads;

namespace {

constexpr int many = 100000 / lci_test::time_scale;

status_t numbered(size_t n, int rank = 0) {
  status_t s(errorcode_t::done);
  s.size = n;
  s.rank = rank;
  return s;
}

comp_attr_t with_threshold(int n) {
  comp_attr_t a;
  a.sync_threshold = n;
  return a;
}
comp_attr_t with_queue(attr_cq_type_t type, int length) {
  comp_attr_t a;
  a.cq_type = type;
  a.cq_default_length = length;
  return a;
}

/// Sleeps on an object in a thread until `ready`; returns the thread's processor time.
double cpu_of_sleep(std::function<bool()> ready, std::function<void()> sleep, std::function<void()> signal) {
  double cpu = 0;
  std::thread sleeper([&] {
    const double before = lci_test::thread_cpu_seconds();
    while (!ready()) sleep();
    cpu = lci_test::thread_cpu_seconds() - before;
  });
  lci_test::pause_ms(200);
  signal();
  sleeper.join();
  return cpu;
}
constexpr double little = 0.02 * lci_test::time_scale;

}  // namespace

TEST_CASE("handler: is called with the status") {
  static status_t seen;
  handler h([](status_t s) { seen = s; }, {});
  CHECK(h.attr.comp_type == attr_comp_type_t::handler);
  h.signal(numbered(17));
  CHECK(seen.size == 17);
}

TEST_CASE("synchronizer: ready at its threshold, returns all statuses, and starts again") {
  for (int n : {1, 2, 5}) {
    std::unique_ptr<synchronizer> s(make_synchronizer(with_threshold(n)));
    CHECK(s->attr.comp_type == attr_comp_type_t::sync);
    std::vector<status_t> out(static_cast<size_t>(n));
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < n; ++i) {
        CHECK(!s->ready());
        CHECK(!s->test(out.data()));
        s->signal(numbered(static_cast<size_t>(100 * round + i)));
      }
      CHECK(s->ready());
      REQUIRE(s->test(out.data()));
      for (int i = 0; i < n; ++i) CHECK(out[static_cast<size_t>(i)].size == static_cast<size_t>(100 * round + i));
    }
    for (int i = 0; i < n; ++i) s->signal({});
    CHECK(s->test(nullptr));
  }
}

TEST_CASE("synchronizer: signals beyond the threshold count for later rounds, in order") {
  for (int n : {1, 3}) {
    std::unique_ptr<synchronizer> s(make_synchronizer(with_threshold(n)));
    size_t in = 0, expected = 0;
    for (int i = 0; i < 4 * n; ++i) s->signal(numbered(in++));
    std::vector<status_t> out(static_cast<size_t>(n));
    for (int round = 0; round < 4; ++round) {
      REQUIRE(s->test(out.data()));
      for (auto& status : out) CHECK(status.size == expected++);
    }
    CHECK(!s->test(out.data()));
    for (int i = 0; i < n; ++i) s->signal(numbered(in++));
    REQUIRE(s->test(out.data()));
    CHECK(out[0].size == expected);
  }
}

TEST_CASE("synchronizer: many signallers and testers, each signal counts once") {
  for (int n : {1, 4}) {
    std::unique_ptr<synchronizer> s(make_synchronizer(with_threshold(n)));
    constexpr int each = many / 4;  // a multiple of the thresholds
    static_assert(each % 4 == 0 || lci_test::sanitized);
    const uint64_t total = 2ull * static_cast<uint64_t>(each / 4 * 4);
    std::atomic<uint64_t> taken{0};
    auto sums = in_threads(4, [&](int t) {
      uint64_t sum = 0;
      if (t < 2) {
        for (uint64_t i = 1; i <= total / 2; ++i) {
          s->signal(numbered(i));
          // Signals must not be further ahead than in a real program.
          while (i > taken.load() / 2 + 1000) std::this_thread::yield();
        }
        return sum;
      }
      std::vector<status_t> out(static_cast<size_t>(n));
      while (taken.load() < total) {
        if (!s->test(out.data())) {
          std::this_thread::yield();
          continue;
        }
        taken.fetch_add(static_cast<uint64_t>(n));
        for (auto& status : out) sum += status.size;
      }
      return sum;
    });
    CHECK(sums[2] + sums[3] == (total / 2) * (total / 2 + 1));
    CHECK(!s->ready());
  }
}

TEST_CASE("synchronizer: a sleeper uses no processor time and is woken") {
  for (int n : {1, 3}) {
    std::unique_ptr<synchronizer> s(make_synchronizer(with_threshold(n)));
    std::vector<status_t> out(static_cast<size_t>(n));
    CHECK(cpu_of_sleep([&] { return s->test(out.data()); }, [&] { s->sleep(-1); },
                       [&] {
                         for (int i = 0; i < n; ++i) s->signal(numbered(3));
                       }) < little);
    CHECK(out.back().size == 3);
  }
}

TEST_CASE("synchronizer: may be freed by a thread that has found it ready") {
  for (int n : {1, 2}) {
    for (int i = 0; i < 2000 / lci_test::time_scale; ++i) {
      synchronizer* s = make_synchronizer(with_threshold(n));
      std::thread signaller([=] {
        for (int k = 0; k < n; ++k) s->signal(numbered(1));
      });
      while (!s->test(nullptr)) s->sleep(1'000'000);
      delete s;
      signaller.join();
    }
  }
}

TEST_CASE("counter: counts, is set, goes below zero") {
  counter c{{}};
  CHECK(c.attr.comp_type == attr_comp_type_t::counter);
  CHECK(c.number.get() == 0);
  c.signal({});
  c.signal({});
  CHECK(c.number.get() == 2);
  c.number.set(-3);
  c.signal({});
  CHECK(c.number.get() == -2);
  c.number.set(int64_t{1} << 61);
  CHECK(c.number.get() == int64_t{1} << 61);
}

TEST_CASE("counter: counts the signals of many threads and wakes threads that wait for a number") {
  counter c{{}};
  const double cpu = cpu_of_sleep([&] { return c.number.get() >= 4 * many; }, [&] { c.number.sleep(4 * many, -1); },
                                  [&] {
                                    in_threads(4, [&](int) {
                                      for (int i = 0; i < many; ++i) c.signal({});
                                      return 0;
                                    });
                                  });
  CHECK(c.number.get() == 4 * many);
  CHECK(cpu >= 0);
  CHECK(cpu_of_sleep([&] { return c.number.get() > 4 * many; }, [&] { c.number.sleep(4 * many + 1, -1); },
                     [&] { c.signal({}); }) < little);
}

TEST_CASE("completion queue: an ordered queue returns statuses in the order in which threads signalled them in turn") {
  for (auto type : {attr_cq_type_t::fifo, attr_cq_type_t::array_atomic}) {
    constexpr size_t each = 300, threads = 3;
    std::unique_ptr<completion_queue> q(make_queue(with_queue(type, each * threads)));
    std::atomic<size_t> turn{0};
    in_threads(threads, [&](int t) {
      for (size_t n = static_cast<size_t>(t); n < each * threads; n += threads) {
        while (turn.load(std::memory_order_acquire) != n) std::this_thread::yield();
        q->signal(numbered(n));
        turn.fetch_add(1, std::memory_order_release);
      }
      return 0;
    });
    size_t wrong = 0;
    status_t some[7];
    for (size_t n = 0; n < each * threads;) {
      if (n % 2 == 0) {
        REQUIRE(q->pop(some[0]));
        wrong += some[0].size != n++;
      } else {
        const size_t k = q->pop_many(some, 7);
        REQUIRE(k > 0);
        for (size_t i = 0; i < k; ++i) wrong += some[i].size != n++;
      }
    }
    CHECK(wrong == 0);
    CHECK(q->pop_many(some, 7) == 0);
  }
}

TEST_CASE("completion queue: all kinds return statuses in order") {
  for (auto type : {attr_cq_type_t::lcrq, attr_cq_type_t::array_atomic, attr_cq_type_t::fifo}) {
    std::unique_ptr<completion_queue> q(make_queue(with_queue(type, 100)));
    CHECK(q->attr.comp_type == attr_comp_type_t::cq);
    status_t s;
    CHECK(!q->pop(s));
    for (size_t round = 0; round < 3; ++round) {
      for (size_t i = 0; i < 1000; ++i) q->signal(numbered(i));
      for (size_t i = 0; i < 1000; ++i) {
        REQUIRE(q->pop(s));
        if (s.size != i) FAIL("status " << i << " came as " << s.size);
      }
      CHECK(!q->pop(s));
    }
  }
}

TEST_CASE("completion queue: a full array loses nothing and keeps each signaller's order") {
  for (int length : {2, 64}) {
    std::unique_ptr<completion_queue> q(make_queue(with_queue(attr_cq_type_t::array_atomic, length)));
    constexpr int each = many / 4;
    // The consumer begins late, so that most statuses overflow.
    auto wrong = in_threads(4, [&](int t) {
      if (t < 3) {
        for (int i = 1; i <= each; ++i) q->signal(numbered(static_cast<size_t>(i), t));
        return 0;
      }
      lci_test::pause_ms(5);
      int bad = 0;
      size_t last[3] = {};
      for (int n = 0; n < 3 * each;) {
        status_t s;
        if (!q->pop(s)) {
          std::this_thread::yield();
          continue;
        }
        bad += s.size != last[s.rank] + 1;
        last[s.rank] = s.size;
        ++n;
      }
      return bad;
    });
    CHECK(wrong[3] == 0);
    status_t s;
    CHECK(!q->pop(s));
  }
}

TEST_CASE("completion queue: sleepers use no processor time; each status wakes one") {
  for (auto type : {attr_cq_type_t::lcrq, attr_cq_type_t::array_atomic, attr_cq_type_t::fifo}) {
    std::unique_ptr<completion_queue> q(make_queue(with_queue(type, 2)));
    status_t s;
    CHECK(cpu_of_sleep([&] { return q->pop(s); }, [&] { q->sleep(-1); }, [&] { q->signal(numbered(8)); }) < little);
    CHECK(s.size == 8);

    constexpr int each = 3000 / lci_test::time_scale;
    auto sums = in_threads(4, [&](int t) {
      uint64_t sum = 0;
      for (int i = 1; i <= each; ++i) {
        if (t < 2) {
          q->signal(numbered(static_cast<size_t>(i)));
          if (i % 16 == 0) std::this_thread::yield();
        } else {
          status_t mine;
          while (!q->pop(mine)) q->sleep(-1);
          sum += mine.size;
        }
      }
      return sum;
    });
    CHECK(sums[2] + sums[3] == uint64_t{each} * (each + 1));
  }
}

TEST_CASE("completion queue: may be freed by a thread that has taken the last status") {
  for (auto type : {attr_cq_type_t::lcrq, attr_cq_type_t::array_atomic, attr_cq_type_t::fifo}) {
    for (int i = 0; i < 1000 / lci_test::time_scale; ++i) {
      completion_queue* q = make_queue(with_queue(type, 2));
      std::thread signaller([=] {
        for (size_t k = 0; k < 4; ++k) q->signal(numbered(k));
      });
      status_t s;
      for (int k = 0; k < 4; ++k)
        while (!q->pop(s)) q->sleep(1'000'000);
      delete q;
      signaller.join();
    }
  }
}

TEST_CASE("custom completion object: its own signal() is called") {
  struct own final : lci::comp_impl_t {
    size_t sum = 0;
    void signal(status_t s) override { sum += s.size; }
  } mine;
  CHECK(mine.attr.comp_type == attr_comp_type_t::custom);
  lci::comp_impl_t* base = &mine;
  base->signal(numbered(4));
  CHECK(mine.sum == 4);
}
