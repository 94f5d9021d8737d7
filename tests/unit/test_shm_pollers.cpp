// Several threads that poll one device of the shm backend.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/testing.hpp"
#include "tests/unit/shm_job.hpp"
#include "tests/unit/threads.hpp"

using namespace lci_test;

namespace {

/// A thread that polls a device in a loop, except while it is told to pause.
class polling_thread {
 public:
  explicit polling_thread(lci::network::device& d) : device_(d), thread_([this] { run(); }) {}
  ~polling_thread() {
    over_.store(true);
    thread_.join();
  }
  /// When it returns the thread does not poll.
  void pause() {
    paused_.store(true);
    while (!idle_.load()) std::this_thread::yield();
  }
  void go_on() {
    paused_.store(false);
    while (idle_.load()) std::this_thread::yield();
  }
  /// Polls, also with this thread, until the other one has made so many more polls.
  void poll_together(uint64_t n, shm_recorder& sink) {
    for (const uint64_t end = polls_.load() + n; polls_.load() < end;) device_.poll(sink, 64);
  }
  uint64_t polls() const { return polls_.load(); }
  uint64_t found() const { return found_.load(); }

 private:
  void run() {
    shm_recorder sink;
    while (!over_.load()) {
      idle_.store(paused_.load());
      if (idle_.load()) {
        std::this_thread::yield();
        continue;
      }
      device_.poll(sink, 64);
      polls_.fetch_add(1);
      found_.store(sink.got.size());
    }
  }
  lci::network::device& device_;
  std::atomic<bool> over_{false}, paused_{false}, idle_{false};
  std::atomic<uint64_t> polls_{0}, found_{0};
  std::thread thread_;
};

/// How often threads of this process have lost their processors.
long preemptions() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_nivcsw;
}

constexpr uint64_t until_shared_out = 2000;  // polls, after which two threads know of each other

}  // namespace

TEST_CASE("shm: of two threads that poll, each takes the messages that the other one sends to the own rank") {
  using clock = std::chrono::steady_clock;
  shm_job j(1);
  lci::network::device& d = *j.devices[0];
  shm_recorder mine;
  polling_thread other(d);
  // Threads may be preempted, or share a core: then each takes its own messages.
  const auto both_poll = [&] {
    const uint64_t before = other.polls();
    for (const auto end = clock::now() + std::chrono::microseconds(20) * lci_test::time_scale; clock::now() < end;)
      d.poll(mine, 64);
    return other.polls() > before + 10;
  };
  int refused = 0, right = 0, wrong = 0;
  for (uint64_t number = 0; number < 300; ++number) {
    other.poll_together(until_shared_out, mine);
    const long preempted = preemptions();
    if (!both_poll()) continue;
    const size_t before = mine.got.size(), taken_there = other.found();
    refused += d.inject(0, {}, &number, sizeof number) != errorcode_t::done;
    while (mine.got.size() == before && other.found() == taken_there) d.poll(mine, 64);
    if (mine.got.size() == before)
      ++right;
    else
      wrong += both_poll() && preemptions() == preempted;
  }
  CHECK(refused == 0);
  CHECK(wrong <= right / 8 + 2);
}

TEST_CASE("shm: messages in the lanes of a thread that polls no longer are soon found by another thread") {
  const bool to_itself = GENERATE(true, false);
  INFO("messages of the thread to its own rank: " << to_itself);
  shm_job j(2);
  lci::network::device& d = *j.devices[0];
  helper_thread senders[2];
  int refused = 0;
  uint64_t number = 0;
  const auto send = [&](int lane) {
    const auto from = [&](lci::network::device& sender) {
      refused += sender.inject(0, {}, &number, sizeof number) != errorcode_t::done;
    };
    if (to_itself) return from(d);
    senders[lane].call([&] { from(*j.devices[1]); });
  };
  shm_recorder mine;
  polling_thread other(d);
  const int n_lanes = to_itself ? 1 : 2;
  std::vector<int> polls;
  for (int trial = 0; trial < 31; ++trial) {
    other.go_on();
    for (int lane = 0; lane < n_lanes; ++lane) send(lane);  // the first time, this opens the lanes
    other.poll_together(until_shared_out, mine);
    other.pause();
    mine.got.clear();
    d.poll(mine, 64);
    int most = 0;
    for (int lane = 0; lane < n_lanes; ++lane) {
      mine.got.clear();
      ++number;
      send(lane);
      int n = 0;
      for (; mine.got.empty() && n < 10'000'000; ++n) d.poll(mine, 64);
      most = std::max(most, n);
    }
    polls.push_back(most);
    CHECK(mine.got == std::vector{number});
    // Later ones are found at once.
    for (int n = 0; n < 10'000; ++n) d.poll(mine, 64);
    for (int lane = 0; lane < n_lanes; ++lane) {
      mine.got.clear();
      send(lane);
      d.poll(mine, 64);
      CHECK(mine.got.size() == 1);
    }
  }
  CHECK(refused == 0);
  std::sort(polls.begin(), polls.end());
  CHECK(polls[polls.size() / 2] < 5000);
}

TEST_CASE("shm: a thread that polls alone takes its own messages at once, though others have polled before") {
  shm_job j(1);
  lci::network::device& d = *j.devices[0];
  shm_recorder sink;
  const auto takes_one = [&](uint64_t number) {
    sink.got.clear();
    const errorcode_t sent = d.inject(0, {}, &number, sizeof number);
    d.poll(sink, 64);
    return sent == errorcode_t::done && sink.got == std::vector{number};
  };
  CHECK(takes_one(1));
  helper_thread other;
  bool taken = false;
  other.call([&] { taken = takes_one(2); });
  CHECK(taken);
  for (int polls = 0; polls < 100'000; ++polls) d.poll(sink, 64);
  CHECK(takes_one(3));
}

// One of several threads writes the count that peers read at every eighth of its polls, the only one at each poll.
TEST_CASE("shm: a thread polls as the only one when the others have stopped, until one of them goes on") {
  using clock = std::chrono::steady_clock;
  shm_job j(1);
  lci::network::device& d = *j.devices[0];
  shm_recorder sink;
  polling_thread other(d);
  const std::atomic<uint32_t>& count = j.contexts[0]->own().device(0).idle_polls;
  const auto polls_alone = [&] {
    for (int i = 0; i < 4; ++i) {
      const uint32_t before = count.load();
      d.poll(sink, 64);
      if (count.load() == before) return false;
    }
    return true;
  };
  for (int turn = 0; turn < 3; ++turn) {
    bool alone = true;
    for (const auto end = clock::now() + std::chrono::seconds(5) * time_scale; alone && clock::now() < end;) {
      other.go_on();
      other.poll_together(until_shared_out, sink);
      other.pause();
      alone = polls_alone();
    }
    CHECK(!alone);
    for (const auto end = clock::now() + std::chrono::seconds(5) * time_scale; !alone && clock::now() < end;)
      alone = polls_alone();
    CHECK(alone);
  }
}

TEST_CASE("shm: a message in another thread's lanes ends a sleep, and the next poll finds it") {
  shm_job j(1);
  lci::network::device& d = *j.devices[0];
  shm_recorder mine;
  polling_thread other(d);
  int refused = 0;
  for (uint64_t number = 0; number < 20; ++number) {
    other.go_on();
    refused += d.inject(0, {}, &number, sizeof number) != errorcode_t::done;
    other.poll_together(until_shared_out, mine);
    other.pause();
    d.poll(mine, 64);
    mine.got.clear();
    refused += d.inject(0, {}, &number, sizeof number) != errorcode_t::done;
    d.wait(60'000'000);
    d.poll(mine, 64);
    CHECK(mine.got == std::vector{number});
  }
  CHECK(refused == 0);
}

TEST_CASE("shm: a peer's messages are delivered before its end is reported, whichever thread keeps its lane") {
  constexpr int n_peers = 4;
  shm_job j(1 + n_peers);
  lci::network::device& d = *j.devices[0];
  struct ordered_recorder final : event_sink {
    void on_recv(int source, const std::byte*, size_t, void*) override { ++got[source]; }
    void on_complete(void*) override {}
    void on_remote_write(int, uint32_t) override {}
    void on_peer_failure(int, const char*) override {}
    void on_device_end(int peer) override {
      ++ends;
      too_early += got[peer] < 2;
    }
    void on_operation_failure(void*, int) override {}
    int got[1 + n_peers] = {};
    int ends = 0, too_early = 0;
  } sink;
  int refused = 0;
  const auto send = [&] {
    for (int peer = 1; peer <= n_peers; ++peer)
      refused += j.devices[static_cast<size_t>(peer)]->inject(0, {}, nullptr, 0) != errorcode_t::done;
  };
  // Device 0 has a lane to each peer, on which it sees their end.
  for (int peer = 1; peer <= n_peers; ++peer) refused += j.send_to(peer) != errorcode_t::done;
  send();
  for (int polls = 0; polls < 100; ++polls) d.poll(sink, 64);
  shm_recorder mine;
  polling_thread other(d);
  other.poll_together(until_shared_out, mine);
  other.pause();
  send();
  for (int peer = 1; peer <= n_peers; ++peer) {
    j.devices[static_cast<size_t>(peer)].reset();
    d.poll(sink, 64);
  }
  for (int polls = 0; polls < 20'000; ++polls) d.poll(sink, 64);
  CHECK(refused == 0);
  CHECK(sink.ends == n_peers);
  CHECK(sink.too_early == 0);
}

TEST_CASE("shm: messages to the own rank from threads that share a device arrive once and in order") {
  constexpr int n_threads = 3;
  constexpr uint64_t count = 30000 / lci_test::time_scale;
  struct ordered_sink final : event_sink {
    void on_recv(int, const std::byte* data, size_t, void*) override {
      uint32_t from_and_number[2];
      std::memcpy(from_and_number, data + sizeof(message_head), sizeof from_and_number);
      wrong += from_and_number[1] != next[from_and_number[0]]++;
      arrived.fetch_add(1, std::memory_order_relaxed);
    }
    void on_complete(void*) override {}
    void on_remote_write(int, uint32_t) override {}
    void on_peer_failure(int, const char*) override {}
    void on_operation_failure(void*, int) override {}
    uint32_t next[n_threads] = {};  // one thread at a time drains the messages of a sender
    std::atomic<uint64_t> wrong{0}, arrived{0};
  } sink;
  shm_job j(1);
  lci::network::device& d = *j.devices[0];
  lci_test::in_threads(n_threads, [&](int t) {
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t from_and_number[2] = {static_cast<uint32_t>(t), n};
      while (d.inject(0, {}, from_and_number, sizeof from_and_number) != errorcode_t::done) d.poll(sink, 64);
      if (n % 16 == 0) d.poll(sink, 64);
    }
    while (sink.arrived.load(std::memory_order_relaxed) < n_threads * count) d.poll(sink, 64);
    return 0;
  });
  CHECK(sink.wrong == 0);
  CHECK(sink.arrived == n_threads * count);
}

TEST_CASE("shm: threads can begin to poll a device while others look past threads that have stopped") {
  constexpr int rounds = 100, threads_of_round = 12, polls_of_thread = 300;
  for (int round = 0; round < rounds; ++round) {
    shm_job j(1);
    polling_thread first(*j.devices[0]), second(*j.devices[0]);
    for (int i = 0; i < threads_of_round; ++i)  // each begins to poll after the one before has stopped
      std::thread([&] {
        shm_recorder sink;
        for (int n = 0; n < polls_of_thread; ++n) j.devices[0]->poll(sink, 64);
      }).join();
    CHECK(first.found() + second.found() == 0);
  }
}
