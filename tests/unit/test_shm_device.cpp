// Devices of the shm backend whose peers, in the same process, are freed.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "network/shm/device.hpp"
#include "tests/support/testing.hpp"
#include "tests/unit/threads.hpp"

using namespace lci::network;
using lci::errorcode_t;

namespace {

struct shm_blackboard {
  std::vector<std::vector<std::string>> offers;  // by rank
};

struct shm_member final : address_exchange {
  shm_member(shm_blackboard& b, int r) : board(b), own(r) {}
  int rank() const override { return own; }
  int size() const override { return static_cast<int>(board.offers.size()); }
  ticket offer(const std::string& blob) override {
    auto& mine = board.offers[static_cast<size_t>(own)];
    mine.push_back(blob);
    return {0, static_cast<uint32_t>(mine.size() - 1)};
  }
  void publish() override {}
  std::string read(ticket t, int r) override { return board.offers[static_cast<size_t>(r)][t.part]; }
  std::vector<std::string> read_all(ticket t) override {
    std::vector<std::string> all;
    for (int r = 0; r < size(); ++r) all.push_back(read(t, r));
    return all;
  }
  shm_blackboard& board;
  const int own;
};

struct shm_recorder final : event_sink {
  void on_recv(int, const std::byte* data, size_t size, void*) override {
    uint64_t number = 0;
    if (size == sizeof(message_head) + sizeof number) std::memcpy(&number, data + sizeof(message_head), sizeof number);
    got.push_back(number);
  }
  void on_complete(void*) override {}
  void on_remote_write(int, uint32_t) override {}
  void on_peer_failure(int peer, const char*) override { failures.push_back(peer); }
  void on_device_end(int peer) override {
    ends.push_back(peer);
    if (throws) throw std::runtime_error("a handler's");
  }
  void on_operation_failure(void*, int) override {}
  bool throws = false;
  std::vector<int> failures, ends;
  std::vector<uint64_t> got;
};

/// A thread that calls one function after the other.
class helper_thread {
 public:
  helper_thread()
      : thread_([this] {
          std::unique_lock guard(mutex_);
          while (true) {
            changed_.wait(guard, [this] { return next_ != nullptr || over_; });
            if (next_ == nullptr) return;
            next_();
            next_ = nullptr;
            changed_.notify_all();
          }
        }) {}
  ~helper_thread() {
    {
      std::lock_guard guard(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  /// Returns when `f` has.
  void call(std::function<void()> f) {
    std::unique_lock guard(mutex_);
    next_ = std::move(f);
    changed_.notify_all();
    changed_.wait(guard, [this] { return next_ == nullptr; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> next_;  // under mutex_
  bool over_ = false;           // under mutex_
  std::thread thread_;
};

/// Ranks of one process, each with a device.
struct shm_job {
  explicit shm_job(int n) {
    board.offers.resize(static_cast<size_t>(n));
    for (int r = 0; r < n; ++r) {
      members.push_back(std::make_unique<shm_member>(board, r));
      lci::net_context_attr_t attr;
      attr.shm_cma = true;
      contexts.push_back(std::make_unique<shm::context>(*members.back(), attr));
    }
    for (auto& c : contexts) {
      c->settle(acquaintance::all_at_once);
      devices.push_back(c->create_device({}, 1024));
    }
  }
  ~shm_job() { devices.clear(); }
  /// Rank 0 gets a word from the memory of `peer`.
  errorcode_t get_from(int peer) {
    net_op op;
    op.kind = verb::get;
    op.peer = peer;
    op.n_segments = 1;
    op.segments[0] = {&here, sizeof here, 0};
    op.remote_addr = reinterpret_cast<uint64_t>(&there);
    return devices[0]->post(op);
  }
  /// Rank 0 sends to `peer`.
  errorcode_t send_to(int peer) { return devices[0]->inject(peer, message_head{}, nullptr, 0); }
  /// Polls often enough that some polls check for devices that were freed.
  void poll(shm_recorder& sink) {
    for (int i = 0; i < 20'000; ++i) {
      try {
        devices[0]->poll(sink, 64);
      } catch (const std::runtime_error&) {
      }
    }
  }
  uint64_t here = 0, there = 7;
  shm_blackboard board;
  std::vector<std::unique_ptr<shm_member>> members;
  std::vector<std::unique_ptr<shm::context>> contexts;
  std::vector<std::unique_ptr<lci::network::device>> devices;
};

}  // namespace

TEST_CASE("shm: gets from and sends to a freed device fail, and later polls report its end") {
  const bool sends = GENERATE(false, true);
  const bool leaves = GENERATE(false, true);
  INFO("the peer's context is freed, too: " << leaves);
  shm_job j(2);
  if (!j.contexts[0]->attach_works()) LCI_SKIP("cross-memory attach is not permitted here");
  j.devices[1].reset();
  if (leaves) j.contexts[1].reset();
  CHECK((sends ? j.send_to(1) : j.get_from(1)) == errorcode_t::fatal);
  CHECK(j.here == 0);
  shm_recorder sink;
  j.poll(sink);
  CHECK(sink.ends == std::vector<int>{1});
  CHECK(sink.failures.empty());
}

TEST_CASE("shm: a get without a free descriptor returns retry") {
  shm_job j(2);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  const errorcode_t without = j.get_from(1);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(without == errorcode_t::retry_nomem);
  CHECK(j.get_from(1) == errorcode_t::done);
  CHECK(j.here == 7);
}

TEST_CASE("shm: the end of each device is reported, also if a handler throws") {
  shm_job j(3);
  for (int peer : {1, 2}) CHECK(j.send_to(peer) == errorcode_t::done);
  j.devices[1].reset();
  j.devices[2].reset();
  shm_recorder sink;
  sink.throws = true;
  j.poll(sink);
  CHECK(sink.ends == std::vector<int>{1, 2});
}

TEST_CASE("shm: a thread leaves messages to its own rank to another thread that polls, for a while") {
  shm_job j(1);
  lci::network::device& d = *j.devices[0];
  int refused = 0;
  const auto send = [&](uint64_t number) { refused += d.inject(0, {}, &number, sizeof number) != errorcode_t::done; };
  shm_recorder mine, its;
  helper_thread other;
  const auto poll_there = [&](int n) {
    other.call([&] {
      for (int i = 0; i < n && its.got.empty(); ++i) d.poll(its, 64);
    });
  };
  const auto poll_here = [&](int n) {
    for (int i = 0; i < n && mine.got.empty(); ++i) d.poll(mine, 64);
  };
  using numbers = std::vector<uint64_t>;

  // A thread that polls alone takes its own messages at once.
  send(1);
  poll_here(1);
  CHECK(mine.got == numbers{1});
  mine.got.clear();
  other.call([&] { send(2); });
  poll_there(1);
  CHECK(its.got == numbers{2});
  its.got.clear();

  // Both have found messages of their own: each leaves them to the other one, whose polls find them at once.
  for (uint64_t number = 3; number < 200; number += 2) {
    send(number);
    other.call([&] { send(number + 1); });
    poll_here(1);
    poll_there(1);
    CHECK(mine.got == numbers{number + 1});
    CHECK(its.got == numbers{number});
    mine.got.clear();
    its.got.clear();
  }

  // If the other one polls no longer, a thread takes its messages itself, the next ones at once.
  for (uint64_t number : {1000, 1001, 1002}) send(number);
  poll_here(20);
  CHECK(mine.got.empty());
  poll_here(1000);
  CHECK(mine.got == numbers{1000, 1001, 1002});
  mine.got.clear();
  send(1003);
  poll_here(1);
  CHECK(mine.got == numbers{1003});
  mine.got.clear();

  // It was only late: as soon as it takes one of these messages, the thread leaves it the next ones.
  for (uint64_t number = 2000; number < 2100; number += 2) {
    send(number);
    poll_there(1);
    CHECK(its.got == numbers{number});
    its.got.clear();
    send(number + 1);
    poll_here(1);
    CHECK(mine.got.empty());
    poll_there(1);
    CHECK(its.got == numbers{number + 1});
    its.got.clear();
  }
  CHECK(refused == 0);
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

TEST_CASE("shm: of many lanes, all are polled in turn, and each time those that had messages lately") {
  constexpr uint64_t n = 60;  // threads, each with a lane of its own
  shm_job j(2);
  std::vector<std::unique_ptr<helper_thread>> senders;
  for (uint64_t i = 0; i < n; ++i) senders.push_back(std::make_unique<helper_thread>());
  int refused = 0;
  const auto send = [&](uint64_t i) {
    senders[i]->call([&] { refused += j.devices[0]->inject(1, {}, &i, sizeof i) != errorcode_t::done; });
  };
  shm_recorder sink;
  const auto polls_to_find = [&](uint64_t i) {
    sink.got.clear();
    int polls = 0;
    for (; sink.got.empty() && polls < 100; ++polls) j.devices[1]->poll(sink, 64);
    CHECK(sink.got == std::vector{i});
    return polls;
  };
  for (uint64_t i = 0; i < n; ++i) {
    send(i);  // opens the lane
    (void)polls_to_find(i);
  }
  for (int round = 0; round < 3; ++round)
    for (uint64_t i = 0; i < n; ++i) {
      send(n - 1 - i);
      CHECK(polls_to_find(n - 1 - i) <= 4);
      send(n - 1 - i);
      CHECK(polls_to_find(n - 1 - i) == 1);
    }
  // Three of them go on while the others are silent: then a poll visits those three, and only some of the others.
  constexpr uint64_t lively[] = {7, 30, 52};
  for (int polls = 0; polls < 9000; ++polls) {
    if (polls % 100 == 0)
      for (const uint64_t i : lively) send(i);
    j.devices[1]->poll(sink, 64);
  }
  sink.got.clear();
  for (uint64_t i = 0; i < n; ++i) send(i);
  j.devices[1]->poll(sink, 64);
  CHECK(sink.got.size() == std::size(lively) + 4);
  for (const uint64_t i : lively) CHECK(std::count(sink.got.begin(), sink.got.end(), i) == 1);
  for (int polls = 0; polls < 20; ++polls) j.devices[1]->poll(sink, 64);
  std::sort(sink.got.begin(), sink.got.end());
  std::vector<uint64_t> all(n);
  std::iota(all.begin(), all.end(), uint64_t{0});
  CHECK(sink.got == all);
  CHECK(refused == 0);
}
