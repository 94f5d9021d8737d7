// Devices of the shm backend whose peers, in the same process, are freed.
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "network/shm/device.hpp"
#include "tests/support/testing.hpp"
#include "tests/unit/shm_job.hpp"

using namespace lci_test;

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

TEST_CASE("shm: messages of a lane whose sender calls itself a peer that does not exist are not delivered") {
  const int invented = GENERATE(2, 1'000'000, -5);
  shm_job j(2);
  CHECK(j.send_to(1) == errorcode_t::done);
  j.contexts[1]->own().lane(0).source = invented;
  shm_recorder sink;
  for (int i = 0; i < 100; ++i) j.devices[1]->poll(sink, 64);
  CHECK(sink.got.empty());
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
