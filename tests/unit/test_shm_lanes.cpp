// Taking lanes of a segment and announcing them, with peers that die in between.
#include <catch2/catch.hpp>

#include <algorithm>
#include <thread>
#include <vector>

#include "network/shm/lane_pool.hpp"
#include "network/shm/segment.hpp"

using namespace lci::network::shm;

namespace {

constexpr uint32_t open_state = device_entry::open;

void open_device(const segment_view& s, uint32_t device, uint32_t state) {
  clear_directory(s, device);
  s.device(device).announced.store(device_entry::pack(state, 0), std::memory_order_release);
}

uint32_t announced(const segment_view& s, uint32_t device) {
  return device_entry::lanes_in(s.device(device).announced.load());
}

}  // namespace

TEST_CASE("lanes: a quarter is kept for those that are shared") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  std::vector<uint32_t> taken;
  for (uint32_t i; (i = take_lane(s, lane_use::one_thread)) != ~0u;) taken.push_back(i);
  CHECK(taken.size() == s.header().n_lanes - s.header().n_lanes / 4);
  for (uint32_t i; (i = take_lane(s, lane_use::threads)) != ~0u;) taken.push_back(i);
  CHECK(taken.size() == s.header().n_lanes);
  std::sort(taken.begin(), taken.end());
  CHECK(std::adjacent_find(taken.begin(), taken.end()) == taken.end());
  for (const uint32_t i : taken) return_lane(s, i);
  CHECK(s.header().lanes_in_use.load() == 0);
  CHECK(take_lane(s, lane_use::one_thread) != ~0u);
}

TEST_CASE("lanes: a sender that died while it announced one keeps nobody waiting") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  open_device(s, 3, open_state);
  REQUIRE(announce_lane(s, 3, open_state, 5, lane_use::one_thread) == announcement::made);
  s.directory(3)[1].store(6 + 1);  // placed, but not counted
  REQUIRE(announced(s, 3) == 1);
  REQUIRE(announce_lane(s, 3, open_state, 7, lane_use::one_thread) == announcement::made);
  REQUIRE(announced(s, 3) == 3);
  for (uint32_t i = 0; i < 3; ++i) CHECK(s.directory(3)[i].load() == 5 + i + 1);
}

TEST_CASE("lanes: none is announced to a device that is closed or of another generation") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  open_device(s, 0, open_state);
  const uint32_t lane = take_lane(s, lane_use::one_thread);
  s.device(0).announced.fetch_add(device_entry::pack(1, 0));
  CHECK(announce_lane(s, 0, open_state, lane, lane_use::one_thread) == announcement::closed);
  CHECK(announced(s, 0) == 0);
  close_end(s, lane, lane_header::sender);
  CHECK(s.header().lanes_in_use.load() == 1);
  // The next device in the entry gives it back.
  open_device(s, 0, open_state + 4);
  CHECK(s.header().lanes_in_use.load() == 0);
  CHECK(announce_lane(s, 0, open_state, lane, lane_use::one_thread) == announcement::closed);
}

TEST_CASE("lanes: threads that announce at once leave no gaps") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  open_device(s, 9, open_state);
  constexpr uint32_t each = 1000;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < each; ++i)
        (void)announce_lane(s, 9, open_state, t * each + i, lane_use::one_thread);
    });
  uint32_t gaps = 0;
  for (uint32_t seen = 0; seen < 4 * each;)
    for (const uint32_t n = announced(s, 9); seen < n; ++seen)
      gaps += s.directory(9)[seen].load() == 0;
  for (auto& t : threads) t.join();
  CHECK(gaps == 0);
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < 4 * each; ++i) all.push_back(s.directory(9)[i].load());
  std::sort(all.begin(), all.end());
  for (uint32_t i = 0; i < 4 * each; ++i) REQUIRE(all[i] == i + 1);
}

TEST_CASE("lanes: a directory that is full says so") {
  const own_segment segment(0, 16, 65536);
  const segment_view s = segment.view();
  open_device(s, 1, open_state);
  uint32_t n = 0;
  while (announce_lane(s, 1, open_state, n, lane_use::one_thread) == announcement::made) ++n;
  CHECK(n == max_lanes_per_device - max_lanes_per_device / 4);
  CHECK(announce_lane(s, 1, open_state, n, lane_use::one_thread) == announcement::no_room);
  while (announce_lane(s, 1, open_state, n, lane_use::threads) == announcement::made) ++n;
  CHECK(n == max_lanes_per_device);
  CHECK(announce_lane(s, 1, open_state, n, lane_use::threads) == announcement::no_room);
}
