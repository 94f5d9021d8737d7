// Entries of devices, and lanes that are taken and announced to them, also by peers that die in between.
#include <catch2/catch.hpp>

#include <algorithm>
#include <thread>
#include <vector>

#include "network/shm/device_entries.hpp"
#include "network/shm/lane_pool.hpp"
#include "network/shm/segment.hpp"

using namespace lci::network::shm;

namespace {

uint32_t announced(const segment_view& s, uint32_t device) {
  return device_entry::lanes_in(s.device(device).announced.load());
}

}  // namespace

TEST_CASE("lanes: a quarter is reserved for lanes that threads share") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  std::vector<uint32_t> taken;
  for (uint32_t i; (i = take_lane(s, lane_use::one_thread)) != ~0u;) taken.push_back(i);
  CHECK(taken.size() == s.shape().n_lanes - s.shape().n_lanes / 4);
  for (uint32_t i; (i = take_lane(s, lane_use::threads)) != ~0u;) taken.push_back(i);
  CHECK(taken.size() == s.shape().n_lanes);
  std::sort(taken.begin(), taken.end());
  CHECK(std::adjacent_find(taken.begin(), taken.end()) == taken.end());
  for (const uint32_t i : taken) return_lane(s, i);
  CHECK(s.header().lanes_in_use.load() == 0);
  CHECK(take_lane(s, lane_use::one_thread) != ~0u);
}

TEST_CASE("lanes: a sender that died during an announcement does not block others") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  const uint32_t device = open_entry(s, 3), state = open_state(3);
  REQUIRE(announce_lane(s, device, state, 5, lane_use::one_thread) == announcement::made);
  s.directory(device)[1].store(6 + 1);  // written, but not counted
  REQUIRE(announced(s, device) == 1);
  REQUIRE(announce_lane(s, device, state, 7, lane_use::one_thread) == announcement::made);
  REQUIRE(announced(s, device) == 3);
  for (uint32_t i = 0; i < 3; ++i) CHECK(s.directory(device)[i].load() == 5 + i + 1);
}

TEST_CASE("lanes: none is announced to a closed device, or to another device in its entry") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  const uint32_t device = open_entry(s, 0);
  const uint32_t lane = take_lane(s, lane_use::one_thread);
  close_entry(s, device);
  const auto announce = [&] { return announce_lane(s, device, open_state(0), lane, lane_use::one_thread); };
  CHECK(announce() == announcement::closed);
  CHECK(announced(s, device) == 0);
  close_end(s, lane, lane_header::sender);
  CHECK(s.header().lanes_in_use.load() == 1);
  free_entry(s, device);
  // The next device in the entry returns the lane.
  REQUIRE(open_entry(s, max_devices) == device);
  CHECK(s.header().lanes_in_use.load() == 0);
  CHECK(announce() == announcement::closed);
}

TEST_CASE("device entries: are reused, and found by the device's number") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  uint32_t place = 0;
  CHECK(find_entry(s, 0, place) == presence::not_yet);
  REQUIRE(open_entry(s, 0) == 0);  // it remains open, so the others use other entries
  for (uint32_t n = 1; n < 3 * max_devices; ++n) {
    const uint32_t mine = open_entry(s, n);
    REQUIRE(mine != 0);
    REQUIRE(find_entry(s, n, place) == presence::open);
    REQUIRE(place == mine);
    REQUIRE(find_entry(s, n + 1, place) == presence::not_yet);
    close_entry(s, mine);
    REQUIRE(find_entry(s, n, place) == presence::closed);
    free_entry(s, mine);
    REQUIRE(find_entry(s, n, place) == presence::closed);
  }
  REQUIRE(find_entry(s, 0, place) == presence::open);
  CHECK(place == 0);
  for (uint32_t i = 1; i < max_devices; ++i) REQUIRE(open_entry(s, 3 * max_devices + i) != ~0u);
  CHECK(open_entry(s, 4 * max_devices) == ~0u);
  close_entry(s, 7);
  CHECK(open_entry(s, 4 * max_devices + 1) == ~0u);  // its lanes are not returned yet
  free_entry(s, 7);
  CHECK(open_entry(s, 4 * max_devices + 2) == 7);
}

TEST_CASE("lanes: threads that announce concurrently leave no gaps") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  const uint32_t device = open_entry(s, 9), state = open_state(9);
  constexpr uint32_t each = 1000;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < each; ++i) (void)announce_lane(s, device, state, t * each + i, lane_use::one_thread);
    });
  uint32_t gaps = 0;
  for (uint32_t seen = 0; seen < 4 * each;)
    for (const uint32_t n = announced(s, device); seen < n; ++seen) gaps += s.directory(device)[seen].load() == 0;
  for (auto& t : threads) t.join();
  CHECK(gaps == 0);
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 4 * each; ++i) all.push_back(s.directory(device)[i].load());
  std::sort(all.begin(), all.end());
  for (uint32_t i = 0; i < 4 * each; ++i) REQUIRE(all[i] == i + 1);
}

TEST_CASE("lanes: an announcement to a full directory is refused") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  const uint32_t device = open_entry(s, 1), state = open_state(1);
  uint32_t n = 0;
  while (announce_lane(s, device, state, n, lane_use::one_thread) == announcement::made) ++n;
  CHECK(n == max_lanes_per_device - max_lanes_per_device / 4);
  CHECK(announce_lane(s, device, state, n, lane_use::one_thread) == announcement::no_room);
  while (announce_lane(s, device, state, n, lane_use::threads) == announcement::made) ++n;
  CHECK(n == max_lanes_per_device);
  CHECK(announce_lane(s, device, state, n, lane_use::threads) == announcement::no_room);
}
