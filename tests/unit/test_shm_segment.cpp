// Mapping the segment of a peer, which its address names by process and descriptor, and detecting that the process has
// ended.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "lci/errors.hpp"
#include "network/shm/cma.hpp"
#include "network/shm/connection_area.hpp"
#include "network/shm/lane_pool.hpp"
#include "network/shm/process.hpp"
#include "network/shm/segment.hpp"

using namespace lci::network::shm;

namespace {

address address_of(const own_segment& s) {
  address a;
  s.describe(a);
  a.pid = getpid();
  a.start_time = process_start_time(a.pid);
  a.space = process_space();
  return a;
}

}  // namespace

TEST_CASE("a descriptor number that belongs to another file is not mapped") {
  auto segment = std::make_unique<own_segment>(0, 16, 65536);
  const address a = address_of(*segment);
  CHECK(map_segment(a, 1).view().header().magic == segment_magic);
  send_close(a, 7);
  CHECK(segment->view().close_flag_of(7).load() == 1);
  CHECK(segment->view().close_flag_of(6).load() == 0);
  segment.reset();
  CHECK_THROWS_AS(map_segment(a, 1), lci::peer_failure_error);

  const bool as_large = GENERATE(false, true);
  const int other = memfd_create("other", MFD_CLOEXEC);
  REQUIRE(dup2(other, a.segment.fd) == a.segment.fd);
  if (as_large) REQUIRE(ftruncate(other, static_cast<off_t>(a.segment.size)) == 0);
  CHECK_THROWS_AS(map_segment(a, 1), lci::peer_failure_error);
  send_close(a, 7);
  char byte = 0;
  CHECK(pread(other, &byte, 1, static_cast<off_t>(close_flag_offset(7))) == (as_large ? 1 : 0));
  CHECK(byte == 0);
  if (a.segment.fd != other) close(a.segment.fd);
  close(other);
}

TEST_CASE("dimensions of a segment that change after they were read move no lane") {
  const own_segment segment(0, 16, 65536);
  const peer_segment peer = map_segment(address_of(segment), 1);
  const segment_view its = peer.view(), own = segment.view();
  const lane_shape before = its.shape();
  CHECK(before.n_lanes >= 16);
  segment_header& h = own.header();
  h.n_slots = 1u << 20;
  h.n_lanes = ~0u;
  h.data_size = uint64_t{1} << 40;
  h.lane_stride = uint64_t{1} << 40;
  for (const segment_view& view : {its, own, segment.view(), peer.view()}) {
    const auto at = reinterpret_cast<std::byte*>(&view.lane(before.n_lanes - 1)) - view.base();
    CHECK(static_cast<uint64_t>(at) == lanes_offset() + (before.n_lanes - 1) * before.stride);
  }
  h.fresh_lanes = 0;
  h.lanes_in_use = 0;
  uint32_t n = 0;
  while (take_lane(its, lane_use::threads) != ~0u) REQUIRE(++n <= before.n_lanes);
  CHECK(n == before.n_lanes);
}

TEST_CASE("a segment with impossible dimensions is refused") {
  const auto refuses = [](auto change) {
    const own_segment segment(0, 16, 65536);
    change(segment.view().header());
    CHECK_THROWS_AS(map_segment(address_of(segment), 1), lci::resource_error);
  };
  refuses([](segment_header& h) { h.magic = 0; });
  refuses([](segment_header& h) { h.n_slots = 0; });
  refuses([](segment_header& h) { h.n_slots = 17; });
  refuses([](segment_header& h) { h.n_slots = 1u << 30; });
  refuses([](segment_header& h) { h.n_lanes += 1; });
  refuses([](segment_header& h) { h.n_lanes = ~0u; });
  refuses([](segment_header& h) { h.data_size = 0; });
  refuses([](segment_header& h) { h.data_size *= 2; });
  refuses([](segment_header& h) { h.lane_stride -= 4096; });
  refuses([](segment_header& h) { h.lane_stride += 1; });
  refuses([](segment_header& h) { h.lane_stride = uint64_t{1} << 63; });
}

TEST_CASE("a connection area whose capacity changes after it was read has its notices where they were") {
  constexpr uint32_t capacity = 4;
  std::vector<std::byte> memory(connection_area_view::size_of(capacity) + 4096);
  auto* const base = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(memory.data()) + 4095) / 4096 * 4096);
  const connection_area_view area(base, capacity);
  const slot_number last{capacity - 1, 7};
  CHECK(area.announce_lane(last, max_devices - 1, 41));
  area.header().capacity = 1u << 22;
  CHECK(area.announced_lane(last, max_devices - 1) == 42);
}

TEST_CASE("a process of another host or process-id namespace is distinguished from one that has ended") {
  const own_segment segment(0, 16, 65536);
  address a = address_of(segment);
  a.space += 1;
  CHECK_THROWS_AS(map_segment(a, 1), lci::resource_error);
}

TEST_CASE("the end of a process is detected, whether it was waited for or not") {
  CHECK_FALSE(process_watch().has_ended(getpid(), process_start_time(getpid())));
  CHECK(process_watch().has_ended(getpid(), process_start_time(getpid()) + 1));  // an older one
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    pause();
    _exit(0);
  }
  const uint64_t start = process_start_time(child);
  CHECK(start != 0);
  process_watch early;
  CHECK_FALSE(early.has_ended(child, start));
  kill(child, SIGKILL);
  siginfo_t info;
  REQUIRE(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(early.has_ended(child, start));
  CHECK(process_watch().has_ended(child, start));
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(early.has_ended(child, start));
  CHECK(process_watch().has_ended(child, start));
}

TEST_CASE("pieces of a put or get are copied in whatever order they come, also adjacent ones") {
  constexpr size_t n = 1000;
  std::vector<uint8_t> here(64 * n), there(64 * n);
  std::vector<lci::network::piece> pieces;
  // Most are adjacent at the other process; there is a gap behind every seventh.
  for (size_t i = 0; i < n; ++i)
    pieces.push_back({here.data() + 64 * (n - 1 - i), reinterpret_cast<uint64_t>(there.data() + 64 * i),
                      i % 7 == 6 ? size_t{50} : size_t{64}});
  const int order = GENERATE(0, 1, 2);
  if (order == 1) std::reverse(pieces.begin(), pieces.end());
  if (order == 2) std::shuffle(pieces.begin(), pieces.end(), std::mt19937(1));
  for (const auto kind : {lci::network::verb::put, lci::network::verb::get}) {
    const bool is_put = kind == lci::network::verb::put;
    std::vector<uint8_t>&from = is_put ? here : there, &to = is_put ? there : here;
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 31 / 7 + 1) | 1;
    std::fill(to.begin(), to.end(), uint8_t{0});
    REQUIRE(copy_pieces(getpid(), kind, pieces.data(), pieces.size()) == 0);
    size_t wrong = 0;
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < 64; ++k) {
        const uint8_t a = here[64 * (n - 1 - i) + k], b = there[64 * i + k];
        wrong += i % 7 == 6 && k >= 50 ? (is_put ? b : a) != 0 : a != b;
      }
    CHECK(wrong == 0);
  }
}

TEST_CASE("pieces of all sizes and distances are copied, and nothing between them") {
  constexpr size_t size = 1 << 20;
  std::mt19937 random(5);
  // At most 2560 bytes from each other, and at most 700 bytes long, pieces may move through a buffer together.
  const size_t longest = GENERATE(8, 300, 700, 4000), widest = GENERATE(0, 40, 3000);
  std::vector<uint8_t> here(size), there(size);
  std::vector<lci::network::piece> pieces;
  for (size_t l = 0, r = 0; pieces.size() < 900;) {
    const size_t n = 1 + random() % longest;
    l += random() % (widest + 1), r += random() % 3 == 0 ? random() % (widest + 1) : 0;
    if (std::max(l, r) + n > size) break;
    pieces.push_back({here.data() + l, reinterpret_cast<uint64_t>(there.data() + r), n});
    l += n, r += n;
  }
  for (const auto kind : {lci::network::verb::put, lci::network::verb::get}) {
    const bool is_put = kind == lci::network::verb::put;
    std::vector<uint8_t>&from = is_put ? here : there, &to = is_put ? there : here;
    for (uint8_t& b : from) b = static_cast<uint8_t>(random() | 1);
    std::fill(to.begin(), to.end(), uint8_t{0});
    std::vector<uint8_t> expected(size);
    for (const auto& p : pieces) {
      const size_t at_here = static_cast<size_t>(static_cast<uint8_t*>(p.local) - here.data());
      const size_t at_there = p.remote_addr - reinterpret_cast<uint64_t>(there.data());
      std::copy_n(from.data() + (is_put ? at_here : at_there), p.size, expected.data() + (is_put ? at_there : at_here));
    }
    REQUIRE(copy_pieces(getpid(), kind, pieces.data(), pieces.size()) == 0);
    const bool same = to == expected;
    CHECK(same);
  }
}

TEST_CASE("memory that is not mapped between or behind pieces is not accessed, and that of a piece is an error") {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const bytes = static_cast<uint8_t*>(memory);
  std::fill_n(bytes, 3 * page, uint8_t{7});
  REQUIRE(munmap(bytes + page, page) == 0);
  std::vector<uint8_t> here(64 * 64);
  std::vector<lci::network::piece> pieces;
  for (size_t i = 0; i < 64; ++i)
    pieces.push_back(
        {here.data() + 64 * i,
         reinterpret_cast<uint64_t>(i < 32 ? bytes + page - 64 * (i + 1) : bytes + 2 * page + 64 * (i - 32)), 64});
  CHECK(copy_pieces(getpid(), lci::network::verb::get, pieces.data(), pieces.size()) == 0);
  CHECK(std::count(here.begin(), here.end(), uint8_t{7}) == 64 * 64);
  pieces[40].remote_addr = reinterpret_cast<uint64_t>(bytes + 2 * page - 32);  // half of it is missing
  CHECK(copy_pieces(getpid(), lci::network::verb::get, pieces.data(), pieces.size()) == EFAULT);
  CHECK(copy_pieces(getpid(), lci::network::verb::put, pieces.data(), pieces.size()) == EFAULT);
  munmap(bytes, page);
  munmap(bytes + 2 * page, page);
}
