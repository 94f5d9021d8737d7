// Puts and gets, fences, and the registration of memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/layers/ccs/job.hpp"
#include "tests/layers/ccs/random_description.hpp"
#include "tests/layers/ccs/window.hpp"
#include "tests/support/testing.hpp"

using namespace ccs_test;

namespace {

unsigned char at(size_t i, int who) {
  return static_cast<unsigned char>(i * 13 + i / 251 + static_cast<size_t>(who) * 31);
}

}  // namespace

TEST_CASE("puts and gets reach heap, stack, globals and shared memory", "[memory]") {
  job j;
  unsigned char stack[70000];
  for (int kind = 0; kind < 4; ++kind) {
    constexpr size_t size = 1 << 17;
    std::unique_ptr<window> w = kind == 1 ? std::make_unique<window>(j, stack, sizeof stack)
                                          : std::make_unique<window>(j, static_cast<window::kind>(kind), size);
    for (size_t n : {size_t{0}, size_t{1}, size_t{8}, size_t{64}, size_t{1000}, size_t{8192}, size_t{65000}}) {
      INFO("kind " << kind << ", " << n << " bytes");
      std::vector<unsigned char> from(n), back(n);
      for (size_t i = 0; i < n; ++i) from[i] = at(i, j.rank);
      std::memset(w->mine(), 0, 66000);
      REQUIRE(CCS_barrier() == CCS_SUCCESS);
      int done = 0;
      REQUIRE(CCS_put(j.next(), from.data(), n, CCS_DATA8, w->of(j.next()) + 3, n, CCS_DATA_PACKED, count_up, &done) ==
              CCS_SUCCESS);
      poll_until([&] { return done > 0; });
      REQUIRE(CCS_barrier() == CCS_SUCCESS);
      bool right = w->mine()[2] == 0 && w->mine()[n + 3] == 0;
      for (size_t i = 0; i < n; ++i) right &= w->mine()[3 + i] == at(i, static_cast<int>(j.previous()));
      REQUIRE(right);
      REQUIRE(CCS_get(j.next(), w->of(j.next()) + 3, n, CCS_DATA8, back.data(), n, CCS_DATA8, count_up, &done) ==
              CCS_SUCCESS);
      poll_until([&] { return done > 1; });
      REQUIRE(back == from);
      REQUIRE(CCS_fence(j.next()) == CCS_SUCCESS);
      CHECK(done == 2);  // once each
      REQUIRE(CCS_barrier() == CCS_SUCCESS);
    }
  }
}

TEST_CASE("puts and gets of random descriptions on both sides move the bytes of the models", "[memory]") {
  lci_test::time_limit(200);
  job j;
  for (const auto kind : {window::kind::heap, window::kind::shared}) {
    constexpr size_t size = 1 << 17;
    window w(j, kind, size);
    constexpr intptr_t middle = size / 2;
    std::vector<unsigned char> local(size), wanted(size);
    int moved = 0;
    for (int seed = 0; seed < 150 * lci_test::long_runs(); ++seed) {
      generator make(static_cast<uint64_t>(seed) + 77, true);  // the same on all ranks
      described here = make.any(3, 6000), there = make.any(3, 6000);
      size_t counts[2] = {static_cast<size_t>(make.number(0, 40)), 0};
      // Choose a description with the same number of bytes for the other side, if there is one.
      const size_t bytes = counts[0] * here.is.bytes.size();
      if (there.is.bytes.empty() || bytes % there.is.bytes.size() != 0) {
        there = {};
        there.desc = CCS_DATA8;
        there.is.bytes = {0};
        there.is.upper = 1;
        there.is.bounded = true;
      }
      counts[1] = bytes / there.is.bytes.size();
      const bool swap = make.number(0, 1) == 1;
      if (swap) {
        std::swap(here, there);
        std::swap(counts[0], counts[1]);
      }
      const std::vector<intptr_t> from = places(here.is, counts[0]), to = places(there.is, counts[1]);
      const auto outside = [&](const std::vector<intptr_t>& all) {
        for (const intptr_t a : all)
          if (a < -middle || a >= middle) return true;
        return false;
      };
      if (outside(from) || outside(to)) continue;
      ++moved;
      INFO("seed " << seed << ", " << bytes << " bytes");
      const bool put = make.number(0, 1) == 1;
      for (size_t i = 0; i < size; ++i) local[i] = at(i, j.rank);
      std::memset(w.mine(), 0x77, size);
      int done = 0;
      if (put) {
        REQUIRE(CCS_barrier() == CCS_SUCCESS);
        REQUIRE(CCS_put(j.next(), local.data() + middle, counts[0], here.desc, w.of(j.next()) + middle, counts[1],
                        there.desc, count_up, &done) == CCS_SUCCESS);
        poll_until([&] { return done == 1; });
        REQUIRE(CCS_barrier() == CCS_SUCCESS);
        std::memset(wanted.data(), 0x77, size);
        for (size_t i = 0; i < to.size(); ++i)
          wanted[static_cast<size_t>(middle + to[i])] =
              at(static_cast<size_t>(middle + from[i]), static_cast<int>(j.previous()));
        REQUIRE(std::memcmp(w.mine(), wanted.data(), size) == 0);
      } else {
        for (size_t i = 0; i < size; ++i) w.mine()[i] = at(i, j.rank);
        REQUIRE(CCS_barrier() == CCS_SUCCESS);
        std::memset(local.data(), 0x11, size);
        REQUIRE(CCS_get(j.next(), w.of(j.next()) + middle, counts[0], here.desc, local.data() + middle, counts[1],
                        there.desc, count_up, &done) == CCS_SUCCESS);
        poll_until([&] { return done == 1; });
        std::memset(wanted.data(), 0x11, size);
        for (size_t i = 0; i < to.size(); ++i)
          wanted[static_cast<size_t>(middle + to[i])] =
              at(static_cast<size_t>(middle + from[i]), static_cast<int>(j.next()));
        REQUIRE(std::memcmp(local.data(), wanted.data(), size) == 0);
        REQUIRE(CCS_barrier() == CCS_SUCCESS);
      }
    }
    CHECK(moved > 60);
  }
}

TEST_CASE("a description may be freed while a transfer of it is under way", "[memory]") {
  job j;
  constexpr size_t n = 1 << 18;
  window w(j, window::kind::heap, 2 * n);
  std::vector<unsigned char> from(2 * n, 0);
  for (size_t i = 0; i < n; ++i) from[2 * i] = at(i, j.rank);
  std::memset(w.mine(), 0, 2 * n);
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  CCS_datadesc_t every_second = CCS_DATA_NULL, vector = CCS_DATA_NULL;
  REQUIRE(CCS_datadesc_create_vector(n, 1, 2, CCS_DATA8, &every_second) == CCS_SUCCESS);
  REQUIRE(CCS_datadesc_create_contiguous(1, every_second, &vector) == CCS_SUCCESS);
  CCS_datadesc_free(&every_second);
  int done = 0;
  CCS_datadesc_t copies[3] = {vector, vector, vector};
  REQUIRE(CCS_put(j.next(), from.data(), 1, vector, w.of(j.next()), 1, vector, count_up, &done) == CCS_SUCCESS);
  CCS_datadesc_free(&vector);
  CHECK(vector == CCS_DATA_NULL);
  // The transfer's references must outlive a program that frees copies of the handle, too.
  for (CCS_datadesc_t& copy : copies) {
    CHECK(CCS_datadesc_size(copy) == 0);
    CCS_datadesc_free(&copy);
  }
  poll_until([&] { return done == 1; });
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  bool right = true;
  for (size_t i = 0; i < n; ++i)
    right &= w.mine()[2 * i] == at(i, static_cast<int>(j.previous())) && w.mine()[2 * i + 1] == 0;
  CHECK(right);
}

TEST_CASE("a put and a get reach the bytes of a description that is nested six thousand times", "[memory]") {
  lci_test::time_limit(200);
  job j;
  constexpr int levels = 6000;
  // So many runs that the innermost description is not replaced by a list of them, then one byte for each level.
  constexpr size_t inner = 100, bytes = inner + levels, room = 2 * inner + 3 * levels + 8;
  CCS_datadesc_t d = CCS_DATA_NULL;
  REQUIRE(CCS_datadesc_create_vector(inner, 1, 2, CCS_DATA8, &d) == CCS_SUCCESS);
  std::vector<size_t> where;
  for (size_t i = 0; i < inner; ++i) where.push_back(2 * i);
  for (int i = 0; i < levels; ++i) {
    where.push_back(2 * inner + 3 * static_cast<size_t>(i) + (i % 7 == 0 ? 1 : 0));
    int ones[] = {1, 1};
    CCS_aint_t at[] = {0, static_cast<CCS_aint_t>(where.back())};
    CCS_datadesc_t parts[] = {d, CCS_DATA8}, outer = CCS_DATA_NULL;
    REQUIRE(CCS_datadesc_create_struct(2, ones, at, parts, &outer) == CCS_SUCCESS);
    CCS_datadesc_free(&d);
    d = outer;
  }
  REQUIRE(CCS_datadesc_size(d) == static_cast<CCS_aint_t>(bytes));
  window w(j, window::kind::heap, room);
  std::vector<unsigned char> from(bytes), back(room, 0x33);
  for (size_t i = 0; i < bytes; ++i) from[i] = at(i, j.rank);
  std::memset(w.mine(), 0x77, room);
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  int done = 0;
  REQUIRE(CCS_put(j.next(), from.data(), bytes, CCS_DATA8, w.of(j.next()), 1, d, count_up, &done) == CCS_SUCCESS);
  poll_until([&] { return done == 1; });
  REQUIRE(CCS_get(j.next(), w.of(j.next()), 1, d, back.data(), 1, d, count_up, &done) == CCS_SUCCESS);
  CCS_datadesc_free(&d);
  poll_until([&] { return done == 2; });
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  std::vector<unsigned char> wanted(room, 0x77), wanted_back(room, 0x33);
  for (size_t i = 0; i < bytes; ++i) {
    wanted[where[i]] = at(i, static_cast<int>(j.previous()));
    wanted_back[where[i]] = at(i, j.rank);
  }
  CHECK(std::memcmp(w.mine(), wanted.data(), room) == 0);
  CHECK(back == wanted_back);
}

TEST_CASE("an allocation of nothing is freed", "[memory]") {
  job j;
  CCS_free(CCS_malloc(0));
}

TEST_CASE("an allocation of more than all memory returns NULL", "[memory]") {
  if (lci_test::sanitized) LCI_SKIP("sanitizers end a program that asks for so much");
  job j;
  for (const size_t size : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4, size_t{1} << 60}) CHECK(CCS_malloc(size) == nullptr);
}

TEST_CASE("a fence waits for the puts to one node, a fence of all nodes for all puts", "[memory]") {
  job j;
  constexpr size_t n = 200;
  window w(j, window::kind::heap, n * 8 * static_cast<size_t>(j.size));
  std::vector<uint64_t> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = i * 1000 + static_cast<uint64_t>(j.rank);
  for (CCS_node_t to = 0; to < static_cast<CCS_node_t>(j.size); ++to)
    for (size_t i = 0; i < n; ++i)
      REQUIRE(CCS_put(to, &values[i], 1, CCS_DATA64, w.of(to) + (static_cast<size_t>(j.rank) * n + i) * 8, 8, CCS_DATA8,
                      nullptr, nullptr) == CCS_SUCCESS);
  REQUIRE(CCS_fence(j.next()) == CCS_SUCCESS);
  REQUIRE(CCS_allfence() == CCS_SUCCESS);
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
  const auto* all = reinterpret_cast<const uint64_t*>(w.mine());
  bool right = true;
  for (int from = 0; from < j.size; ++from)
    for (size_t i = 0; i < n; ++i)
      right &= all[static_cast<size_t>(from) * n + i] == i * 1000 + static_cast<uint64_t>(from);
  CHECK(right);
}

TEST_CASE("a put of more than 4 GiB of sparse memory writes the right bytes", "[memory]") {
  job j;
  constexpr size_t far = (size_t{4} << 30) + 4096, size = far + 8192;
  void* const sparse = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(sparse != MAP_FAILED);
  {
    window w(j, static_cast<unsigned char*>(sparse), size);
    // Two pieces; the second one is beyond 4 GiB.
    const CCS_aint_t places[] = {0, static_cast<CCS_aint_t>(far)};
    const size_t lengths[] = {100, 100};
    CCS_datadesc_t two = CCS_DATA_NULL;
    REQUIRE(CCS_datadesc_create_iov(2, places, lengths, &two) == CCS_SUCCESS);
    unsigned char data[200], back[200] = {};
    for (size_t i = 0; i < 200; ++i) data[i] = at(i, j.rank);
    int done = 0;
    REQUIRE(CCS_put(j.next(), data, 200, CCS_DATA8, w.of(j.next()), 1, two, count_up, &done) == CCS_SUCCESS);
    poll_until([&] { return done == 1; });
    REQUIRE(CCS_get(j.next(), w.of(j.next()) + far, 100, CCS_DATA8, back, 100, CCS_DATA8, count_up, &done) ==
            CCS_SUCCESS);
    poll_until([&] { return done == 2; });
    CHECK(std::memcmp(back, data + 100, 100) == 0);
    REQUIRE(CCS_barrier() == CCS_SUCCESS);
    CHECK(w.mine()[far] == at(100, static_cast<int>(j.previous())));
    CCS_datadesc_free(&two);
  }
  munmap(sparse, size);
}

namespace {

struct cache {
  size_t registered = 0, unused = 0;
  unsigned long registrations = 0, deregistrations = 0;
  static cache now() {
    cache c;
    REQUIRE(CCS_reg_cache_stats(&c.registered, &c.unused, &c.registrations, &c.deregistrations) == CCS_SUCCESS);
    return c;
  }
};

}  // namespace

TEST_CASE("pages are registered once, and deregistered when unused ones exceed the threshold", "[memory][cache]") {
  job j;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory = static_cast<unsigned char*>(std::aligned_alloc(page, 64 * page));
  REQUIRE(CCS_reg_cache_threshold(16 * page) == CCS_SUCCESS);
  const cache before = cache::now();
  REQUIRE(CCS_register_mem(memory, 8 * page) == CCS_SUCCESS);
  REQUIRE(CCS_register_mem(memory + 100, 8 * page - 200) == CCS_SUCCESS);  // the same pages
  CHECK(cache::now().registrations == before.registrations + 1);
  REQUIRE(CCS_register_mem(memory + 4 * page, 8 * page) == CCS_SUCCESS);  // 4 pages are new
  CHECK(cache::now().registrations == before.registrations + 2);
  CHECK(cache::now().registered == before.registered + 12 * page);
  CHECK(cache::now().unused == before.unused);
  REQUIRE(CCS_deregister_mem(memory, 8 * page) == CCS_SUCCESS);
  CHECK(cache::now().unused == before.unused);  // each page has another user
  REQUIRE(CCS_deregister_mem(memory + 100, 8 * page - 200) == CCS_SUCCESS);
  REQUIRE(CCS_deregister_mem(memory + 4 * page, 8 * page) == CCS_SUCCESS);
  CHECK(cache::now().unused == before.unused + 12 * page);
  CHECK(cache::now().deregistrations == before.deregistrations);  // lazily
  REQUIRE(CCS_register_mem(memory, 12 * page) == CCS_SUCCESS);
  CHECK(cache::now().registrations == before.registrations + 2);  // still registered
  REQUIRE(CCS_deregister_mem(memory, 12 * page) == CCS_SUCCESS);
  REQUIRE(CCS_register_mem(memory + 32 * page, 8 * page) == CCS_SUCCESS);
  REQUIRE(CCS_deregister_mem(memory + 32 * page, 8 * page) == CCS_SUCCESS);  // 20 pages: over the threshold
  CHECK(cache::now().deregistrations > before.deregistrations);
  CHECK(cache::now().unused <= 16 * page);
  REQUIRE(CCS_reg_cache_threshold(0) == CCS_SUCCESS);
  CHECK(cache::now().unused == 0);
  CHECK(CCS_deregister_mem(memory, page) == CCS_FAILURE);  // it has no users
  std::free(memory);
}

TEST_CASE("puts reach memory that was unmapped and mapped again after its deregistration", "[memory][cache]") {
  job j;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = 16 * page;
  void* const place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(place != MAP_FAILED);
  auto* const memory = static_cast<unsigned char*>(place);
  std::vector<unsigned char> from(size);
  for (int round = 0; round < 5; ++round) {
    {
      window w(j, memory, size);
      for (size_t i = 0; i < size; ++i) from[i] = at(i + static_cast<size_t>(round), j.rank);
      int done = 0;
      REQUIRE(CCS_put(j.next(), from.data(), size, CCS_DATA8, w.of(j.next()), size, CCS_DATA8, count_up, &done) ==
              CCS_SUCCESS);
      poll_until([&] { return done == 1; });
      REQUIRE(CCS_barrier() == CCS_SUCCESS);
      bool right = true;
      for (size_t i = 0; i < size; ++i)
        right &= memory[i] == at(i + static_cast<size_t>(round), static_cast<int>(j.previous()));
      CHECK(right);
    }
    REQUIRE(munmap(memory, size) == 0);
    REQUIRE(mmap(memory, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory);
  }
  munmap(memory, size);
}

TEST_CASE("where registering pins memory, what was mapped again is registered anew, and only that", "[memory][cache]") {
  job j;
  const char* const network = std::getenv("LCI_ATTR_BACKEND");
  if (network == nullptr || std::strcmp(network, "sim") != 0) LCI_SKIP("only LCI_ATTR_BACKEND=sim pins memory here");
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t size = 16 * page;
  void* const place = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(place != MAP_FAILED);
  const auto use = [=] {
    const cache before = cache::now();
    REQUIRE(CCS_register_mem(place, size) == CCS_SUCCESS);
    REQUIRE(CCS_deregister_mem(place, size) == CCS_SUCCESS);
    return cache::now().registrations - before.registrations;
  };
  CHECK(use() == 1);
  CHECK(use() == 0);  // still registered
  for (int round = 0; round < 3; ++round) {
    REQUIRE(munmap(place, size) == 0);
    REQUIRE(mmap(place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place);
    CHECK(use() == 1);
    CHECK(use() == 0);
  }
  munmap(place, size);
}

TEST_CASE("the keys of a registration are revoked at all holders before it ends", "[memory][cache]") {
  job j;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  REQUIRE(CCS_reg_cache_threshold(0) == CCS_SUCCESS);  // each deregistration acts at once
  const cache before = cache::now();
  for (int round = 0; round < 20; ++round) {
    auto* const memory = static_cast<unsigned char*>(std::aligned_alloc(page, 4 * page));
    {
      window w(j, memory, 4 * page);
      for (CCS_node_t to = 0; to < static_cast<CCS_node_t>(j.size); ++to) {
        uint64_t value = static_cast<uint64_t>(round) + to;
        int done = 0;
        REQUIRE(CCS_put(to, &value, 8, CCS_DATA8, w.of(to) + 8 * j.rank, 8, CCS_DATA8, count_up, &done) == CCS_SUCCESS);
        poll_until([&] { return done == 1; });
      }
      REQUIRE(CCS_barrier() == CCS_SUCCESS);
      for (int from = 0; from < j.size; ++from) {
        uint64_t value = 0;
        std::memcpy(&value, memory + 8 * from, 8);
        CHECK(value == static_cast<uint64_t>(round + j.rank));
      }
    }
    std::free(memory);
  }
  const cache after = cache::now();
  CHECK(after.registrations == before.registrations + 20);
  CHECK(after.deregistrations == after.registrations);
  REQUIRE(CCS_barrier() == CCS_SUCCESS);
}
