// Numbers of threads, the barrier of threads, and counters with many threads.
#include <lct.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/testing.hpp"
#include "tests/unit/threads.hpp"

namespace {

/// The text of a dump.
std::string dumped(LCT_pcounter_ctx_t ctx) {
  char* text = nullptr;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  LCT_pcounter_dump(ctx, out);
  std::fclose(out);
  std::string all(text, size);
  std::free(text);
  return all;
}

/// The field after `begin` of the line that begins so.
long long number_after(const std::string& text, const std::string& begin) {
  const size_t at = text.find(begin);
  REQUIRE(at != text.npos);
  return std::atoll(text.c_str() + at + begin.size());
}

}  // namespace

TEST_CASE("each thread has a constant number of its own", "[threads]") {
  const int before = LCT_get_nthreads();
  auto ids = lci_test::in_threads(8, [](int) {
    const int id = LCT_get_thread_id();
    return LCT_get_thread_id() == id ? id : -1;
  });
  std::sort(ids.begin(), ids.end());
  CHECK(ids.front() >= 0);
  CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
  CHECK(LCT_get_nthreads() == before + 8);
  CHECK(ids.back() < LCT_get_nthreads());
  CHECK(LCT_get_thread_id() == LCT_get_thread_id());
}

TEST_CASE("no thread passes a barrier before all threads have arrived", "[barrier][threads]") {
  for (int n : {1, 2, 5}) {
    LCT_tbarrier_t barrier = LCT_tbarrier_alloc(n);
    REQUIRE(barrier != nullptr);
    constexpr int rounds = lci_test::thread_sanitizer ? 200 : 2000;
    std::vector<int> written(static_cast<size_t>(n), 0);  // plain: the barrier is what orders them
    const auto wrong = lci_test::in_threads(n, [&](int me) {
      int bad = 0;
      for (int round = 1; round <= rounds; ++round) {
        written[static_cast<size_t>(me)] = round;
        if (round % 2 == 0) {
          LCT_tbarrier_arrive_and_wait(barrier);
        } else {
          const int64_t ticket = LCT_tbarrier_arrive(barrier);
          LCT_tbarrier_wait(barrier, ticket);
          bad += !LCT_tbarrier_test(barrier, ticket);
        }
        for (int other : written) bad += other != round;
        LCT_tbarrier_arrive_and_wait(barrier);  // before any thread writes again
      }
      return bad;
    });
    for (int bad : wrong) CHECK(bad == 0);
    LCT_tbarrier_free(&barrier);
    CHECK(barrier == nullptr);
  }
}

TEST_CASE("a ticket of a barrier can be tested early, and other threads can wait for it", "[barrier][threads]") {
  LCT_tbarrier_t barrier = LCT_tbarrier_alloc(3);
  const int64_t first = LCT_tbarrier_arrive(barrier);
  CHECK(!LCT_tbarrier_test(barrier, first));
  std::atomic<bool> through{false};
  std::thread sleeper([&] {
    LCT_tbarrier_wait(barrier, first);
    through.store(true);
  });
  lci_test::pause_ms(20);  // long enough for it to sleep
  CHECK(!through.load());
  LCT_tbarrier_arrive(barrier);
  lci_test::pause_ms(5);
  CHECK(!through.load());
  const int64_t last = LCT_tbarrier_arrive(barrier);
  sleeper.join();
  CHECK(LCT_tbarrier_test(barrier, first));
  CHECK(LCT_tbarrier_test(barrier, last));
  const int64_t next = LCT_tbarrier_arrive(barrier);
  CHECK(!LCT_tbarrier_test(barrier, next));
  LCT_tbarrier_free(&barrier);
}

TEST_CASE("a thread that waits long at a barrier sleeps", "[barrier][threads]") {
  LCT_tbarrier_t barrier = LCT_tbarrier_alloc(2);
  double used = 0;
  std::thread sleeper([&] {
    LCT_tbarrier_arrive_and_wait(barrier);
    used = lci_test::thread_cpu_seconds();
  });
  lci_test::pause_ms(300);
  LCT_tbarrier_arrive_and_wait(barrier);
  sleeper.join();
  CHECK(used < 0.15);
  LCT_tbarrier_free(&barrier);
}

TEST_CASE("counters are the sums of all threads", "[counter][threads]") {
  LCT_pcounter_ctx_t ctx = LCT_pcounter_ctx_alloc("many");
  const auto sum = LCT_pcounter_register(ctx, "sum", LCT_PCOUNTER_COUNTER);
  const auto timer = LCT_pcounter_register(ctx, "timer", LCT_PCOUNTER_TIMER);
  constexpr int threads = 6, times = 5000;
  std::atomic<bool> stop{false};
  std::thread reader([&] {  // dumps while others count
    while (!stop.load()) dumped(ctx);
  });
  lci_test::in_threads(threads, [&](int me) {
    const auto own = LCT_pcounter_register(ctx, ("own" + std::to_string(me)).c_str(), LCT_PCOUNTER_TREND);
    for (int i = 0; i < times; ++i) {
      LCT_pcounter_add(ctx, sum, me - 1);
      LCT_pcounter_add(ctx, own, 1);
      LCT_pcounter_startt(ctx, timer, 1000 + i);
      LCT_pcounter_endt(ctx, timer, 1000 + i + me);
      if (i % 1000 == 0) LCT_pcounter_record(ctx);
    }
    return 0;
  });
  stop.store(true);
  reader.join();
  const std::string text = dumped(ctx);
  INFO(text);
  const std::string begin = "pcounter,many," + std::to_string(LCT_rank) + ",";
  CHECK(number_after(text, begin + "sum,counter,") == times * (-1 + 0 + 1 + 2 + 3 + 4));
  CHECK(number_after(text, begin + "timer,timer,") == times * (0 + 1 + 2 + 3 + 4 + 5));
  for (int i = 0; i < threads; ++i) CHECK(number_after(text, begin + "own" + std::to_string(i) + ",trend,") == times);
  LCT_pcounter_ctx_free(&ctx);
  CHECK(ctx == nullptr);
}

TEST_CASE("a dump while timers start and end gives a possible time", "[counter][threads]") {
  LCT_pcounter_ctx_t ctx = LCT_pcounter_ctx_alloc("busy");
  const auto timer = LCT_pcounter_register(ctx, "timer", LCT_PCOUNTER_TIMER);
  constexpr int threads = 3;
  const LCT_time_t begin = LCT_now();
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    const std::string line = "pcounter,busy," + std::to_string(LCT_rank) + ",timer,timer,";
    long long wrong = 0, least = 0, most = 0;
    for (int i = 0; i < 5000; ++i) {
      const long long sum = number_after(dumped(ctx), line);
      // The dump may miss a start in one part and include its end in another: then the sum is slightly negative.
      const long long longest = (LCT_now() - begin) * threads;
      if (sum < -longest || sum > longest) ++wrong;
      least = std::min(least, sum);
      most = std::max(most, sum);
    }
    stop.store(true);
    INFO("from " << least << " to " << most);
    CHECK(wrong == 0);
  });
  lci_test::in_threads(threads, [&](int) {
    while (!stop.load()) {
      LCT_pcounter_start(ctx, timer);
      LCT_pcounter_end(ctx, timer);
    }
    return 0;
  });
  reader.join();
  LCT_pcounter_ctx_free(&ctx);
}

TEST_CASE("counters have names, kinds, timers and trends", "[counter]") {
  LCT_pcounter_ctx_t ctx = LCT_pcounter_ctx_alloc("few");
  const auto a = LCT_pcounter_register(ctx, "a", LCT_PCOUNTER_COUNTER);
  const auto again = LCT_pcounter_register(ctx, "a", LCT_PCOUNTER_COUNTER);
  CHECK(a.idx == again.idx);
  CHECK(a.type == LCT_PCOUNTER_COUNTER);
  LCT_pcounter_add(ctx, a, 5);
  LCT_pcounter_add(ctx, again, -7);

  const auto none = LCT_pcounter_register(ctx, "nothing", LCT_PCOUNTER_NONE);
  LCT_pcounter_add(ctx, none, 5);
  LCT_pcounter_start(ctx, none);

  const auto timer = LCT_pcounter_register(ctx, "timer", LCT_PCOUNTER_TIMER);
  const LCT_time_t begin = LCT_now();
  LCT_pcounter_start(ctx, timer);
  lci_test::pause_ms(3);
  LCT_pcounter_end(ctx, timer);
  const LCT_time_t took = LCT_now() - begin;
  LCT_pcounter_add(ctx, timer, 1);  // a length that the caller has measured

  const auto trend = LCT_pcounter_register(ctx, "trend", LCT_PCOUNTER_TREND);
  LCT_pcounter_add(ctx, trend, 10);
  LCT_pcounter_record(ctx);
  LCT_pcounter_add(ctx, trend, 3);
  LCT_pcounter_record(ctx);

  const std::string text = dumped(ctx);
  INFO(text);
  const std::string head = "few," + std::to_string(LCT_rank) + ",";
  CHECK(text.find("pcounter," + head + "a,counter,-2,2\n") != text.npos);
  CHECK(text.find("nothing") == text.npos);
  const long long ns = number_after(text, "pcounter," + head + "timer,timer,");
  CHECK(ns >= 3000000);
  CHECK(ns <= took + 1);
  CHECK(text.find("pcounter," + head + "trend,trend,13,2\n") != text.npos);
  const size_t first = text.find("trend," + head + "trend,"), second = text.find("trend," + head + "trend,", first + 1);
  REQUIRE(second != text.npos);
  CHECK(text.substr(first, text.find('\n', first) - first).find(",10") != text.npos);
  CHECK(text.substr(second, text.find('\n', second) - second).find(",3") != text.npos);
  LCT_pcounter_ctx_free(&ctx);
}

TEST_CASE("a dump includes timers that are running", "[counter]") {
  LCT_pcounter_ctx_t ctx = LCT_pcounter_ctx_alloc("open");
  const auto timer = LCT_pcounter_register(ctx, "timer", LCT_PCOUNTER_TIMER);
  const LCT_time_t begin = LCT_now();
  std::thread([&] { LCT_pcounter_start(ctx, timer); }).join();
  lci_test::pause_ms(2);
  const long long ns = number_after(dumped(ctx), "timer,timer,");
  CHECK(ns >= 2000000);
  CHECK(ns <= LCT_now() - begin);
  LCT_pcounter_end(ctx, timer);  // not the thread that has started it
  const std::string text = dumped(ctx);
  CHECK(number_after(text, "timer,timer,") >= ns);
  LCT_pcounter_ctx_free(&ctx);
}
