// Atomics, accumulates, indexed puts, collectives, and symmetric memory.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "tests/layers/ccs/job.hpp"
#include "tests/layers/ccs/window.hpp"

using namespace ccs_test;

namespace {

constexpr window::kind kinds[] = {window::kind::heap, window::kind::shared};  // by the network, and mapped

CCS_atomic_type_t atomic(CCS_node_t node, CCS_atomic_op_t op, void* var, CCS_atomic_type_t value,
                         CCS_atomic_type_t compare = 0) {
  CCS_atomic_type_t old = 0;
  int done = 0;
  REQUIRE(CCS_atomic(node, op, static_cast<CCS_atomic_type_t*>(var), value, compare, &old, count_up, &done) ==
          CCS_SUCCESS);
  poll_until([&] { return done > 0; });
  CHECK(done == 1);
  return old;
}

void everywhere() { REQUIRE(CCS_barrier() == CCS_SUCCESS); }

}  // namespace

TEST_CASE("atomics return the old value, and none is lost", "[operations]") {
  job j;
  for (const auto kind : kinds) {
    window w(j, kind, 4096);
    std::memset(w.mine(), 0, 64);
    everywhere();
    const CCS_node_t to = j.next();
    unsigned char* const cell = w.of(to) + 8;  // only this process uses it
    CHECK(atomic(to, CCS_ATOMIC_WRITE, cell, 5) == 0);
    CHECK(atomic(to, CCS_ATOMIC_READ, cell, 0) == 5);
    CHECK(atomic(to, CCS_ATOMIC_SWAP, cell, 7) == 5);
    CHECK(atomic(to, CCS_ATOMIC_COMPARESWAP, cell, 9, 6) == 7);
    CHECK(atomic(to, CCS_ATOMIC_COMPARESWAP, cell, 9, 7) == 7);
    CHECK(atomic(to, CCS_ATOMIC_FETCHADD, cell, 3) == 9);
    CHECK(atomic(to, CCS_ATOMIC_READ, cell, 0) == 12);
    int done = 0;
    REQUIRE(CCS_atomic(to, CCS_ATOMIC_WRITE, reinterpret_cast<CCS_atomic_type_t*>(cell), 1, 0, nullptr, count_up,
                       &done) == CCS_SUCCESS);
    poll_until([&] { return done == 1; });
    // All processes add to one counter at node 0. Its owner also adds with the processor's atomic instructions.
    constexpr int n = 100;
    std::set<CCS_atomic_type_t> olds;
    for (int i = 0; i < n; ++i) {
      olds.insert(atomic(0, CCS_ATOMIC_FETCHADD, w.of(0), 1));
      if (j.rank == 0) (void)__atomic_fetch_add(reinterpret_cast<CCS_atomic_type_t*>(w.mine()), 1, __ATOMIC_SEQ_CST);
    }
    CHECK(olds.size() == n);
    everywhere();
    CHECK(atomic(0, CCS_ATOMIC_READ, w.of(0), 0) == static_cast<CCS_atomic_type_t>(n * (j.size + 1)));
    everywhere();
  }
}

TEST_CASE("a process that tries to take a lock in its own memory answers the one that holds it", "[operations]") {
  job j;
  static int replies;
  replies = 0;
  const auto question = +[](CCS_token_t token, void*, unsigned) {
    CHECK(CCS_amreply(token, nullptr, 0, CCS_DATA_NULL, 1, 0) == CCS_SUCCESS);
  };
  const auto reply = +[](CCS_token_t, void*, unsigned) { ++replies; };
  REQUIRE(CCS_register_handler(j.context, 0, question) == CCS_SUCCESS);
  REQUIRE(CCS_register_handler(j.context, 1, reply) == CCS_SUCCESS);
  for (const auto kind : kinds) {
    window w(j, kind, 4096);
    std::memset(w.mine(), 0, 64);
    everywhere();
    unsigned char* const lock = w.of(0);
    if (j.rank == j.size - 1) CHECK(atomic(0, CCS_ATOMIC_SWAP, lock, 1) == 0);
    everywhere();
    if (j.rank == j.size - 1) {
      const int before = replies;
      REQUIRE(CCS_amrequest(j.context, 0, nullptr, 0, CCS_DATA_NULL, 0, 0) == CCS_SUCCESS);
      poll_until([&] { return replies > before; });
      CHECK(atomic(0, CCS_ATOMIC_SWAP, lock, 0) == 1);
    }
    // These operations complete within their calls, so the program polls nowhere else.
    if (j.rank == 0) {
      while (atomic(0, CCS_ATOMIC_COMPARESWAP, lock, 2, 0) != 0) continue;
    }
    everywhere();
  }
}

TEST_CASE("accumulates of all processes to one array add up, also scaled and with descriptions", "[operations]") {
  job j;
  for (const auto kind : kinds) {
    constexpr size_t n = 3000;
    window w(j, kind, 2 * n * sizeof(double));
    auto* const mine = reinterpret_cast<double*>(w.mine());
    for (size_t i = 0; i < 2 * n; ++i) mine[i] = 1;
    CCS_datadesc_t every_second = CCS_DATA_NULL;
    REQUIRE(CCS_datadesc_create_vector(static_cast<int>(n), 1, 16, CCS_DATA64, &every_second) == CCS_SUCCESS);
    std::vector<double> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = static_cast<double>(i % 100);
    everywhere();
    const double scale = 2;
    int done = 0;
    const auto nodes = static_cast<CCS_node_t>(j.size);
    for (CCS_node_t to = 0; to < nodes; ++to)
      REQUIRE(CCS_accumulate(to, CCS_SUM, CCS_DOUBLE, &scale, values.data(), n, CCS_DATA64, w.of(to), 1, every_second,
                             count_up, &done) == CCS_SUCCESS);
    poll_until([&] { return done == j.size; });
    everywhere();
    bool right = true;
    for (size_t i = 0; i < n; ++i)
      right &= mine[2 * i] == 1 + 2 * static_cast<double>(i % 100) * j.size && mine[2 * i + 1] == 1;
    CHECK(right);
    everywhere();
    // Integer overflow, bitwise operations, and the maximum.
    auto* const words = reinterpret_cast<uint32_t*>(w.mine());
    words[0] = 0xffffffff;
    words[1] = 0;
    words[2] = 5;
    everywhere();
    uint32_t one = 1, bit = 1u << j.rank;
    auto some = static_cast<uint32_t>(j.rank * 10);
    REQUIRE(CCS_accumulate(0, CCS_SUM, CCS_UINT32, nullptr, &one, 1, CCS_DATA32, w.of(0), 1, CCS_DATA32, nullptr,
                           nullptr) == CCS_SUCCESS);
    REQUIRE(CCS_accumulate(0, CCS_OR, CCS_UINT32, nullptr, &bit, 1, CCS_DATA32, w.of(0) + 4, 1, CCS_DATA32, nullptr,
                           nullptr) == CCS_SUCCESS);
    REQUIRE(CCS_accumulate(0, CCS_MAX, CCS_UINT32, nullptr, &some, 1, CCS_DATA32, w.of(0) + 8, 1, CCS_DATA32, nullptr,
                           nullptr) == CCS_SUCCESS);
    REQUIRE(CCS_fence(0) == CCS_SUCCESS);
    everywhere();
    if (j.rank == 0) {
      CHECK(words[0] == static_cast<uint32_t>(j.size - 1));
      CHECK(words[1] == (1u << j.size) - 1);
      CHECK(words[2] == static_cast<uint32_t>(std::max(5, (j.size - 1) * 10)));
    }
    CCS_datadesc_free(&every_second);
    everywhere();
  }
}

TEST_CASE("indexed puts of all processes fill a queue without gaps", "[operations]") {
  job j;
  constexpr int n = 200;
  for (const auto kind : kinds) {
    window w(j, kind, 1 << 17);
    auto* const pointer = reinterpret_cast<unsigned char**>(w.mine());
    *pointer = w.mine() + 64;
    everywhere();
    struct record {
      uint32_t from, number;
      char more[24];
    };
    int done = 0;
    for (int i = 0; i < n; ++i) {
      record r{static_cast<uint32_t>(j.rank), static_cast<uint32_t>(i), {}};
      std::memset(r.more, 'a' + i % 20, sizeof r.more);
      REQUIRE(CCS_put_indexed(0, &r, sizeof r, reinterpret_cast<void**>(w.of(0)), count_up, &done) == CCS_SUCCESS);
    }
    poll_until([&] { return done == n; });
    everywhere();
    if (j.rank == 0) {
      CHECK(*pointer == w.mine() + 64 + sizeof(record) * static_cast<size_t>(n * j.size));
      std::set<std::pair<uint32_t, uint32_t>> all;
      bool whole = true;
      for (int i = 0; i < n * j.size; ++i) {
        record r;
        std::memcpy(&r, w.mine() + 64 + sizeof r * static_cast<size_t>(i), sizeof r);
        all.insert({r.from, r.number});
        for (const char c : r.more) whole &= c == static_cast<char>('a' + r.number % 20);
      }
      CHECK(whole);
      CHECK(all.size() == static_cast<size_t>(n * j.size));
    }
    everywhere();
  }
}

TEST_CASE("collectives combine and distribute the data of all processes", "[operations]") {
  job j;
  CCS_datadesc_t spread = CCS_DATA_NULL;
  REQUIRE(CCS_datadesc_create_vector(100, 1, 8, CCS_DATA32, &spread) == CCS_SUCCESS);
  for (CCS_node_t root = 0; root < static_cast<CCS_node_t>(j.size); ++root) {
    std::vector<uint32_t> data(200, 7);
    if (static_cast<int>(root) == j.rank)
      for (uint32_t i = 0; i < 100; ++i) data[2 * i] = i + root;
    REQUIRE(CCS_bcast(data.data(), 1, spread, root) == CCS_SUCCESS);
    bool right = true;
    for (uint32_t i = 0; i < 100; ++i) right &= data[2 * i] == i + root && data[2 * i + 1] == 7;
    CHECK(right);
    std::vector<double> numbers(500), sums(500, -1);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i) + j.rank;
    REQUIRE(CCS_reduce(numbers.data(), sums.data(), numbers.size(), CCS_DOUBLE, CCS_SUM, root) == CCS_SUCCESS);
    const int ranks = j.size * (j.size - 1) / 2;
    if (static_cast<int>(root) == j.rank) CHECK(sums[10] == 10.0 * j.size + ranks);
  }
  float z[2] = {1, static_cast<float>(j.rank)};
  REQUIRE(CCS_allreduce(z, z, 1, CCS_COMPLEX, CCS_SUM) == CCS_SUCCESS);  // src is dest
  CHECK(z[0] == static_cast<float>(j.size));
  CHECK(z[1] == static_cast<float>(j.size * (j.size - 1) / 2));
  int32_t least = 10 - j.rank, least_of_all = 0;
  REQUIRE(CCS_allreduce(&least, &least_of_all, 1, CCS_INT32, CCS_MIN) == CCS_SUCCESS);
  CHECK(least_of_all == 11 - j.size);
  CCS_datadesc_free(&spread);
}

TEST_CASE("symmetric memory has one address and is registered", "[operations]") {
  job j;
  for (const size_t bytes : {size_t{0}, size_t{100}, size_t{1} << 20}) {
    void* at = nullptr;
    REQUIRE(CCS_malloc_symmetric(bytes, &at) == CCS_SUCCESS);
    uint64_t mine = reinterpret_cast<uint64_t>(at), largest = 0, least = 0;
    REQUIRE(CCS_allreduce(&mine, &largest, 1, CCS_UINT64, CCS_MAX) == CCS_SUCCESS);
    REQUIRE(CCS_allreduce(&mine, &least, 1, CCS_UINT64, CCS_MIN) == CCS_SUCCESS);
    CHECK(largest == least);
    if (bytes > 0) {
      std::vector<unsigned char> data(bytes, static_cast<unsigned char>(j.rank + 1));
      int done = 0;
      REQUIRE(CCS_put(j.next(), data.data(), bytes, CCS_DATA8, at, bytes, CCS_DATA8, count_up, &done) == CCS_SUCCESS);
      poll_until([&] { return done == 1; });
      everywhere();
      const auto* const got = static_cast<unsigned char*>(at);
      CHECK(std::all_of(got, got + bytes, [&](unsigned char c) { return c == j.previous() + 1; }));
    }
    REQUIRE(CCS_free_symmetric(at) == CCS_SUCCESS);
  }
}

TEST_CASE("all nodes refuse symmetric memory if one asks for another size, or passes what no node may pass",
          "[operations]") {
  job j;
  const bool first = j.rank == 0;
  void* at = &at;
  for (const size_t other : {size_t{1} << 20, size_t{1}, SIZE_MAX}) {
    const int expected = j.size > 1 || other == SIZE_MAX ? CCS_FAILURE : CCS_SUCCESS;
    for (const bool is_other : {first, !first}) {
      const bool all_possible = j.size == 1 && !is_other;
      REQUIRE(CCS_malloc_symmetric(is_other ? other : 8192, &at) == (all_possible ? CCS_SUCCESS : expected));
      if (at != nullptr) REQUIRE(CCS_free_symmetric(at) == CCS_SUCCESS);
    }
  }
  CHECK(CCS_malloc_symmetric(8192, first ? nullptr : &at) == CCS_FAILURE);
  // A wrong address at one node keeps no other node waiting.
  REQUIRE(CCS_malloc_symmetric(8192, &at) == CCS_SUCCESS);
  void* const wrong = &at;
  CHECK(CCS_free_symmetric(first ? wrong : at) == (first ? CCS_FAILURE : CCS_SUCCESS));
  if (first)
    CHECK(CCS_free_symmetric(at) == CCS_SUCCESS);
  else
    CHECK(CCS_free_symmetric(at) == CCS_FAILURE);
  int one = 1, sum = 0;
  REQUIRE(CCS_allreduce(&one, &sum, 1, CCS_INT32, CCS_SUM) == CCS_SUCCESS);
  CHECK(sum == j.size);
}

TEST_CASE("symmetric memory is found where other processes have mapped what each system would choose", "[operations]") {
  job j;
  constexpr size_t bytes = 1 << 20, reserved = size_t{1} << 30;
  const auto map = [](void* at, size_t size, int flags) {
    return mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  };
  std::vector<uint64_t> mine(static_cast<size_t>(j.size)), places(mine.size());
  void* const chosen = map(nullptr, bytes, 0);
  REQUIRE(chosen != MAP_FAILED);
  munmap(chosen, bytes);
  mine[static_cast<size_t>(j.rank)] = reinterpret_cast<uint64_t>(chosen);
  REQUIRE(CCS_allreduce(mine.data(), places.data(), mine.size(), CCS_UINT64, CCS_MAX) == CCS_SUCCESS);
  std::vector<void*> taken;
  for (size_t other = 0; other < places.size(); ++other) {
    if (other == static_cast<size_t>(j.rank)) continue;
    void* const at = map(reinterpret_cast<void*>(places[other] + bytes - reserved), reserved, MAP_FIXED_NOREPLACE);
    if (at != MAP_FAILED) taken.push_back(at);
  }
  void* memory = nullptr;
  REQUIRE(CCS_malloc_symmetric(bytes, &memory) == CCS_SUCCESS);
  REQUIRE(CCS_free_symmetric(memory) == CCS_SUCCESS);
  for (void* at : taken) munmap(at, reserved);
}
