// The sleep of a device of two networks: each network's events end it, and no wake-up is lost.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "network/routed/joint_sleep.hpp"
#include "tests/support/testing.hpp"

using lci::network::routed::joint_sleep;

namespace {

/// A network whose events last until poll(), as those of sockets and of shared memory do.
class sleepy_network final : public lci::network::device {
 public:
  lci::errorcode_t post(const lci::network::net_op&) override { return lci::errorcode_t::fatal; }
  lci::network::registration register_memory(void*, size_t) override { return {}; }
  void deregister_memory(const lci::network::registration&) override {}
  int poll(lci::network::event_sink&, int) override { return poll(); }
  int poll() {
    const std::lock_guard guard(mutex_);
    return std::exchange(events_, 0);
  }
  void wait(int64_t timeout_us) override { sleep(timeout_us, false); }
  void park(int64_t timeout_us) override { sleep(timeout_us, true); }
  void unpark() override {
    const std::lock_guard guard(mutex_);
    unparked_ = true;
    changed_.notify_all();
  }
  void cause_event() {
    const std::lock_guard guard(mutex_);
    ++events_;
    changed_.notify_all();
  }
  /// Sleeps of this thread so far.
  int sleeps_of(std::thread::id thread) {
    const std::lock_guard guard(mutex_);
    return thread == sleeper_ ? sleeps_ : 0;
  }
  void count_sleeps_of(std::thread::id thread) { sleeper_ = thread; }

 private:
  void sleep(int64_t timeout_us, bool parked) {
    std::unique_lock lock(mutex_);
    if (std::this_thread::get_id() == sleeper_) ++sleeps_;
    changed_.wait_for(lock, std::chrono::microseconds(timeout_us),
                      [&] { return events_ > 0 || (parked && unparked_); });
    if (parked) unparked_ = false;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int events_ = 0, sleeps_ = 0;
  bool unparked_ = false;
  std::thread::id sleeper_;
};

struct two_networks {
  sleepy_network near, far;
  joint_sleep sleep{near, far};

  two_networks() {
    near.count_sleeps_of(std::this_thread::get_id());
    far.count_sleeps_of(std::this_thread::get_id());
  }
  int sleeps_near() { return near.sleeps_of(std::this_thread::get_id()); }
  int sleeps_far() { return far.sleeps_of(std::this_thread::get_id()); }
  /// Parks until polls have found so many events. Returns the seconds.
  double park_until(int n) {
    const auto begin = std::chrono::steady_clock::now();
    for (int found = 0; found < n;) {
      const int from_near = near.poll(), from_far = far.poll();
      sleep.note(from_near, from_far);
      found += from_near + from_far;
      if (found < n) sleep.park(long_us);
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  static constexpr int64_t long_us = 10000000;
};

void after_a_while(sleepy_network& n) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  n.cause_event();
}

}  // namespace

TEST_CASE("a thread that waits for two networks sleeps in that of the last event, and the other one's events wake it",
          "[joint_sleep]") {
  two_networks both;
  for (int round = 0; round < 3; ++round) {
    std::thread far([&] { after_a_while(both.far); });
    CHECK(both.park_until(1) < 5);
    far.join();
    const int before = both.sleeps_near();
    std::thread far_again([&] { after_a_while(both.far); });
    CHECK(both.park_until(1) < 5);
    far_again.join();
    CHECK(both.sleeps_near() == before);
    std::thread near([&] { after_a_while(both.near); });
    CHECK(both.park_until(1) < 5);
    near.join();
    const int before_far = both.sleeps_far();
    std::thread near_again([&] { after_a_while(both.near); });
    CHECK(both.park_until(1) < 5);
    near_again.join();
    CHECK(both.sleeps_far() == before_far);
  }
}

TEST_CASE("a short wait for two networks sleeps in that of the last event", "[joint_sleep]") {
  two_networks both;
  both.sleep.wait(1);
  CHECK(both.sleeps_near() == 1);
  both.sleep.note(0, 1);
  both.sleep.wait(1);
  CHECK(both.sleeps_far() == 1);
  both.sleep.note(1, 1);
  both.sleep.wait(1);
  CHECK(both.sleeps_near() == 2);
}

TEST_CASE("unpark() ends the sleep of a device of two networks wherever it sleeps", "[joint_sleep]") {
  two_networks both;
  for (int round = 0; round < 4; ++round) {
    both.sleep.note(round % 2 == 0 ? 1 : 0, round % 2);
    std::atomic<bool> woken{false};
    std::thread waker([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      woken = true;
      both.sleep.unpark();
    });
    const auto begin = std::chrono::steady_clock::now();
    while (!woken) both.sleep.park(two_networks::long_us);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
    waker.join();
  }
}

TEST_CASE("no event of either network is lost while a thread sleeps in one and then in the other", "[joint_sleep]") {
  two_networks both;
  constexpr int n = 2000;
  std::atomic<int> seen{0};
  std::thread source([&] {
    std::minstd_rand random(7);
    for (int i = 0; i < n; ++i) {
      while (seen.load() < i) std::this_thread::yield();
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      (random() % 2 == 0 ? both.near : both.far).cause_event();
    }
  });
  double longest = 0;
  for (int i = 0; i < n; ++i) {
    longest = std::max(longest, both.park_until(1));
    seen.store(i + 1);
  }
  source.join();
  CHECK(longest < 5);
}

TEST_CASE("without a thread that watches the other network, sleeps of a device of two networks are short",
          "[joint_sleep]") {
  if (lci_test::sanitized) return lci_test::skip("a sanitizer needs address space that the test limits");
  const pid_t child = fork();
  if (child == 0) {
    // No more address space than now, so that no thread gets a new stack; the first ones get stacks that were kept.
    two_networks both;
    const rlimit limit{1, 1};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(2);
    try {
      for (int n = 0; n < 100; ++n) std::thread([] { pause(); }).detach();
      _exit(3);
    } catch (const std::system_error&) {
    }
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) both.sleep.park(two_networks::long_us);
    _exit(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
