// NA_Progress() sleeps, and a message wakes it promptly. Several threads may call it at once, for one or several
// contexts, and each returns after its time-out.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/layers/na/processes.hpp"

namespace {

using test::network;
using test::outcome;

double processor_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

void idle_threads_sleep_and_keep_their_time_outs() {
  const network net("tcp", true);
  na_context_t* const second = NA_Context_create(net.c);
  REQUIRE(second != nullptr);
  const double used = processor_seconds();
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&net, second, i] {
      const unsigned ms = 300 + static_cast<unsigned>(i) * 150;
      const double begin = test::now();
      REQUIRE_CODE(NA_TIMEOUT, NA_Progress(net.c, i % 2 == 0 ? net.x : second, ms));
      const double took = test::now() - begin;
      REQUIRE(took >= ms * 1e-3 - 1e-3 && took < ms * 1e-3 + 0.2);
    });
  for (std::thread& t : threads) t.join();
  REQUIRE(processor_seconds() - used < 0.3);  // of 1.05 s
  REQUIRE_CODE(NA_TIMEOUT, NA_Progress(net.c, net.x, 0));
  unsigned n = 99;
  const double begin = test::now();
  REQUIRE_CODE(NA_TIMEOUT, NA_Trigger(net.x, 100, 1, &n));
  REQUIRE(n == 0 && test::now() - begin >= 0.099);
  REQUIRE_CODE(NA_SUCCESS, NA_Context_destroy(net.c, second));
}

/// Answers each message with the time of its callback.
int answer_with_time(int threads, int messages) {
  const network net("tcp", true);
  test::say(net.own_name());
  std::atomic<int> left{messages};
  const auto work = [&] {
    while (left.load() > 0) {
      if (NA_Progress(net.c, net.x, 100) != NA_SUCCESS) continue;
      unsigned n = 0;
      (void)NA_Trigger(net.x, 0, 1, &n);
    }
  };
  struct receiver {
    const network& net;
    std::atomic<int>& left;
    char byte = 0;
    double time = 0;
    static na_return_t received(const na_cb_info* info) {
      auto* const r = static_cast<receiver*>(info->arg);
      if (info->ret != NA_SUCCESS) return NA_SUCCESS;
      r->time = test::now();
      REQUIRE_CODE(NA_SUCCESS,
                   NA_Msg_send_expected(r->net.c, r->net.x, sent, r, &r->time, sizeof r->time,
                                        info->info.recv_unexpected.source, info->info.recv_unexpected.tag, nullptr));
      return NA_SUCCESS;
    }
    static na_return_t sent(const na_cb_info* info) {
      auto* const r = static_cast<receiver*>(info->arg);
      if (r->left.fetch_sub(1) > 1) r->post();
      return NA_SUCCESS;
    }
    void post() { REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, received, this, &byte, 1, nullptr)); }
  } receiver{net, left};
  receiver.post();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
  return 0;
}

void sleepers_wake_when_a_message_comes(int threads) {
  constexpr int messages = 60;
  test::process server({"answer", std::to_string(threads), std::to_string(messages)});
  const network net("tcp");
  const na_addr_t to = net.find(server.line());
  std::vector<double> delays;
  for (int i = 0; i < messages; ++i) {
    usleep(15000);  // until the receiver sleeps
    outcome sent, answered;
    double when = 0;
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_expected(net.c, net.x, outcome::store, &answered, &when, sizeof when, to,
                                                  static_cast<na_tag_t>(i), nullptr));
    const double begin = test::now();
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &sent, "m", 1, to,
                                                    static_cast<na_tag_t>(i), nullptr));
    net.until([&] { return sent.done() && answered.done(); });
    delays.push_back((when - begin) * 1e6);
  }
  REQUIRE(server.wait() == 0);
  std::sort(delays.begin(), delays.end());
  std::fprintf(stderr, "%d threads: woken after %.0f us (median), %.0f us (largest)\n", threads,
               delays[delays.size() / 2], delays.back());
  REQUIRE(delays[delays.size() / 2] < 1000);  // us; generous, as the machine may be busy
}

/// Many threads make progress and wait for answers. Any of them may run any answer's callback.
int echo(int clients) {
  const network net("tcp", true);
  test::say(net.own_name());
  while (clients > 0) {
    char buffer[64];
    outcome got, sent;
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, buffer, sizeof buffer, nullptr));
    net.until([&] { return got.done(); });
    const auto& m = got.info.info.recv_unexpected;
    if (m.actual_buf_size == 0) --clients;
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_expected(net.c, net.x, outcome::store, &sent, buffer, m.actual_buf_size,
                                                  m.source, m.tag, nullptr));
    net.until([&] { return sent.done(); });
  }
  return 0;
}

struct flag {
  std::atomic<int> calls{0};
  std::atomic<int> code{0};
  static na_return_t set(const na_cb_info* info) {
    auto* const f = static_cast<flag*>(info->arg);
    f->code = info->ret;
    f->calls.fetch_add(1);
    return NA_SUCCESS;
  }
};

void threads_share_a_context(unsigned timeout) {
  constexpr int n_threads = 4, rounds = 300;
  test::process server({"echo", "1"});
  const network net("tcp");
  const na_addr_t to = net.find(server.line());
  std::atomic<double> longest{0};
  const auto call = [&](int thread, int round, size_t size) {
    const na_tag_t tag = static_cast<na_tag_t>(thread * 100000 + round);
    char text[32] = {}, answer[32] = {};
    std::snprintf(text, sizeof text, "%d %d", thread, round);
    flag sent, answered;
    REQUIRE_CODE(NA_SUCCESS,
                 NA_Msg_recv_expected(net.c, net.x, flag::set, &answered, answer, sizeof answer, to, tag, nullptr));
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, flag::set, &sent, text, size, to, tag, nullptr));
    const double begin = test::now();
    while (answered.calls == 0 || sent.calls == 0) {
      unsigned n = 0;
      while (NA_Trigger(net.x, 0, 1, &n) == NA_SUCCESS) {
      }
      if (answered.calls != 0 && sent.calls != 0) break;
      NA_Progress(net.c, net.x, timeout);
    }
    longest = std::max(longest.load(), test::now() - begin);
    REQUIRE(answered.calls == 1 && sent.calls == 1 && answered.code == NA_SUCCESS && sent.code == NA_SUCCESS);
    REQUIRE(std::memcmp(text, answer, size) == 0);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < n_threads; ++t)
    threads.emplace_back([&, t] {
      for (int r = 0; r < rounds; ++r) call(t, r, sizeof(char[32]));
    });
  for (std::thread& t : threads) t.join();
  call(n_threads, 0, 0);
  REQUIRE(server.wait() == 0);
  std::fprintf(stderr, "progress for %u ms: the longest call took %.1f ms\n", timeout, longest.load() * 1e3);
  // A thread wakes before its time-out when another thread has run its callback.
  REQUIRE(longest.load() < 1);
}

std::atomic<bool> may_receive{false};

/// Receives a byte, answers it, and receives no more until a signal comes.
int receive_late(int messages) {
  signal(SIGUSR1, [](int) { may_receive = true; });
  const network net("tcp", true);
  test::say(net.own_name());
  for (int i = 0; i < messages; ++i) {
    char byte = 0;
    outcome got;
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_recv_unexpected(net.c, net.x, outcome::store, &got, &byte, 1, nullptr));
    net.until([&] { return got.done(); });
    if (i > 0) continue;
    net.until([] { return may_receive.load(); });
  }
  return 0;
}

/// A thread sleeps in NA_Progress() when another thread posts a send that has to wait for room at the target. As soon
/// as there is room the send completes, although nothing else ends the sleep.
void a_send_that_waits_needs_no_other_event() {
  constexpr int window = 8192;  // stored unexpected messages of a sender
  test::process server({"receive late", std::to_string(window + 2)});
  const network net("tcp");
  const na_addr_t to = net.find(server.line());
  std::atomic<bool> ends{false};
  std::atomic<int> sent{0};
  const auto count = [](const na_cb_info* info) -> na_return_t {
    REQUIRE_CODE(NA_SUCCESS, info->ret);
    static_cast<std::atomic<int>*>(info->arg)->fetch_add(1);
    return NA_SUCCESS;
  };
  const auto send = [&] {
    REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, count, &sent, "m", 1, to, 0, nullptr));
  };
  const auto sent_within_a_minute = [&](int n) {
    const double end = test::now() + 60;
    while (sent < n && test::now() < end) usleep(1000);
    return sent == n;
  };
  std::thread sleeper([&] {
    while (!ends) {
      unsigned n = 0;
      while (NA_Trigger(net.x, 0, 1, &n) == NA_SUCCESS) {
      }
      NA_Progress(net.c, net.x, 100000);
    }
  });
  for (int i = 0; i < window; ++i) send();
  REQUIRE(sent_within_a_minute(window));
  usleep(50000);  // until it sleeps
  send();
  send();
  server.kill(SIGUSR1);
  REQUIRE(sent_within_a_minute(window + 2));
  ends = true;
  outcome self;
  na_addr_t own = NA_ADDR_NULL;
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_self(net.c, &own));
  REQUIRE_CODE(NA_SUCCESS, NA_Msg_send_unexpected(net.c, net.x, outcome::store, &self, "m", 1, own, 0, nullptr));
  sleeper.join();
  REQUIRE_CODE(NA_SUCCESS, NA_Addr_free(net.c, own));
  REQUIRE(server.wait() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "answer") return answer_with_time(std::atoi(argv[2]), std::atoi(argv[3]));
  if (role == "echo") return echo(std::atoi(argv[2]));
  if (role == "receive late") return receive_late(std::atoi(argv[2]));
  idle_threads_sleep_and_keep_their_time_outs();
  sleepers_wake_when_a_message_comes(1);
  sleepers_wake_when_a_message_comes(3);
  threads_share_a_context(1);
  threads_share_a_context(20000);
  a_send_that_waits_needs_no_other_event();
  return 0;
}
