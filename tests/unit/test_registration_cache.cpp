// The cache shares registrations, keeps unused ones within limits, and never uses one for a later mapping. The
// simulated network of the tests refuses a registration whose memory has been unmapped.
#include <catch2/catch.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "lci/errors.hpp"
#include "lib/core/memory/registration_cache.hpp"
#include "tests/sim/net_job.hpp"
#include "tests/unit/threads.hpp"

using lci::mapping_watch;
using lci::core::registration_cache;
using sim_test::net_job;
using sim_test::registration;

namespace {

constexpr size_t page = 4096;

lci::net_context_attr_t checked(size_t most = 0) {
  auto attr = net_job::calm(1);
  attr.sim_check_mappings = true;
  attr.sim_max_registrations = most;
  return attr;
}

std::shared_ptr<mapping_watch> the_watch() {
  std::string why_not;
  return mapping_watch::get(why_not);
}

char* map(size_t size, void* at = nullptr) {
  void* p = mmap(at, size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | (at == nullptr ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(p);
}

struct fixture {
  explicit fixture(registration_cache::limits most = {1 << 20, 16, false}, size_t refuse_from = 0, bool watched = true)
      : job(checked(refuse_from)),
        watch(watched ? the_watch() : nullptr),
        cache(std::make_unique<registration_cache>(job.device(0), most, watch)) {}

  uint64_t registered() const { return job.world->stats().registrations; }
  lci::reg_cache_stats_t stats() { return cache->stats(); }
  /// Returns whether the network accepts a send from this memory with this registration.
  bool reaches(const registration& r, char* from, size_t size) {
    for (size_t at = 0; at < size; at += page) {
      lci::network::net_op op = sim_test::send_op(0, from + at, std::min(page, size - at), sim_test::id(0));
      op.segments[0].lkey = r.lkey;
      // Other threads may use the network, too, so a post may return retry and a poll may find nothing.
      lci::error_t said;
      while ((said = job.device(0).post(op)).is_retry()) job.poll_all();
      if (said == lci::errorcode_t::fatal) return false;
      while (job.world->stats().in_flight > 0) job.poll_all();
    }
    return true;
  }

  net_job job;
  std::shared_ptr<mapping_watch> watch;
  std::unique_ptr<registration_cache> cache;
};

#define SKIP_UNWATCHED(f)                                                \
  if ((f).watch == nullptr) {                                            \
    lci_test::skip("mappings can't be watched here: nothing is cached"); \
    return;                                                              \
  }

}  // namespace

TEST_CASE("a range within a registered one shares its registration, whether that is used or kept") {
  fixture f;
  SKIP_UNWATCHED(f);
  std::vector<char> memory(10'000);
  const registration all = f.cache->acquire(memory.data(), 10'000);
  const registration part = f.cache->acquire(memory.data() + 5000, 100);
  CHECK(part.lkey == all.lkey);
  CHECK(part.rkey == all.rkey);
  CHECK(f.registered() == 1);
  CHECK(f.stats().used == 1);
  CHECK(f.stats().used_bytes == 10'000);
  CHECK(f.reaches(part, memory.data() + 5000, 100));
  f.cache->release(all);
  CHECK(f.stats().used == 1);  // the part
  f.cache->release(part);
  CHECK(f.stats().used == 0);
  CHECK(f.stats().kept == 1);
  CHECK(f.stats().kept_bytes == 10'000);
  const registration again = f.cache->acquire(memory.data(), 10'000);
  CHECK(again.rkey == all.rkey);
  CHECK(f.stats().kept == 0);
  CHECK(f.stats().kept_bytes == 0);
  const registration more = f.cache->acquire(memory.data() + 1, 10'000 - 1);
  CHECK(more.rkey == all.rkey);
  const registration beyond = f.cache->acquire(memory.data() - 1, 2);
  CHECK(beyond.rkey != all.rkey);
  for (const registration& r : {again, more, beyond}) f.cache->release(r);
  const auto s = f.stats();
  CHECK(s.hits == 3);
  CHECK(s.misses == 2);
  CHECK(s.evictions == 0);
  CHECK(s.invalidations == 0);
  CHECK(s.active);
  CHECK(s.watched);
  f.cache.reset();
  CHECK(f.registered() == 0);
  CHECK(f.job.world->violations().empty());
}

TEST_CASE("unused registrations are kept within the limits, and the least recently used is evicted first") {
  fixture f({1000, 3, false});
  SKIP_UNWATCHED(f);
  std::vector<char> memory(10'000);
  const auto use = [&](size_t at, size_t size) {
    const registration r = f.cache->acquire(memory.data() + at, size);
    f.cache->release(r);
    return r.rkey;
  };
  const uint64_t first = use(0, 100), second = use(1000, 100), third = use(2000, 100);
  CHECK(f.stats().kept == 3);
  CHECK(use(0, 100) == first);
  use(3000, 100);  // evicts the second
  CHECK(f.stats().kept == 3);
  CHECK(f.stats().evictions == 1);
  CHECK(use(0, 100) == first);
  CHECK(use(2000, 100) == third);
  CHECK(use(1000, 100) != second);
  use(4000, 900);  // 1000 bytes in all: one of 100 bytes is kept
  CHECK(f.stats().kept == 2);
  CHECK(f.stats().kept_bytes == 1000);
  use(5000, 1001);  // larger than the limit: does not evict the others
  CHECK(f.stats().kept == 2);
  CHECK(f.stats().kept_bytes == 1000);
  CHECK(f.registered() == 2);
}

TEST_CASE("no unused registration is kept if a limit is 0 or mappings can't be watched") {
  for (const auto& [bytes, count, watched] :
       {std::tuple<size_t, size_t, bool>{0, 10, true}, {1000, 0, true}, {1000, 10, false}}) {
    fixture f({bytes, count, false}, 0, watched);
    std::vector<char> memory(100);
    const registration a = f.cache->acquire(memory.data(), 100);
    const registration b = f.cache->acquire(memory.data(), 100);
    CHECK(a.rkey == b.rkey);
    f.cache->release(a);
    f.cache->release(b);
    CHECK(f.stats().kept == 0);
    CHECK(f.registered() == 0);
    CHECK(f.stats().watched == (watched && f.watch != nullptr));
  }
}

TEST_CASE("memory that can't be watched is shared only while its whole range has a user") {
  // The user of a part does not guarantee that the rest remains mapped.
  fixture f({1 << 20, 16, false}, 0, false);
  std::vector<char> memory(1000);
  const registration all = f.cache->acquire(memory.data(), 1000);
  const registration part = f.cache->acquire(memory.data(), 10);
  CHECK(part.rkey == all.rkey);
  f.cache->release(all);
  const registration again = f.cache->acquire(memory.data() + 500, 10);
  CHECK(again.rkey != all.rkey);
  f.cache->release(part);
  f.cache->release(again);
  CHECK(f.registered() == 0);
  CHECK(f.stats().used == 0);
  CHECK(f.stats().invalidations == 0);
}

TEST_CASE("with reg_cache_trust all registrations are kept, watched or not") {
  fixture f({1 << 20, 16, true}, 0, false);
  std::vector<char> memory(1000);
  f.cache->release(f.cache->acquire(memory.data(), 1000));
  CHECK(f.stats().kept == 1);
  f.cache->release(f.cache->acquire(memory.data(), 1000));
  CHECK(f.stats().hits == 1);
  CHECK(f.registered() == 1);
}

TEST_CASE("the simulated network detects memory that was mapped anew") {
  // Otherwise the tests below would prove nothing.
  fixture f;
  char* p = map(4 * page);
  const registration r = f.job.device(0).register_memory(p, 4 * page);
  CHECK(f.reaches(r, p, 4 * page));
  munmap(p + page, page);
  map(page, p + page);
  CHECK(f.reaches(r, p, page));
  CHECK(!f.reaches(r, p, 2 * page));
  const registration fresh = f.job.device(0).register_memory(p, 4 * page);
  CHECK(f.reaches(fresh, p, 4 * page));
  CHECK(!f.reaches(r, p + page, 1));
  CHECK(f.reaches(r, p + 2 * page, 1));
  f.job.device(0).deregister_memory(fresh);
  CHECK(f.reaches(r, p, page));
  f.job.device(0).deregister_memory(r);
  munmap(p, 4 * page);
}

TEST_CASE("memory that was unmapped and mapped again is registered again") {
  fixture f;
  SKIP_UNWATCHED(f);
  char* p = map(8 * page);
  uint64_t last = 0;
  const int rounds = 200;
  for (int i = 0; i < rounds; ++i) {
    const registration r = f.cache->acquire(p + 100, 7 * page);
    CHECK(r.rkey != last);
    last = r.rkey;
    REQUIRE(f.reaches(r, p + 100, 7 * page));
    f.cache->release(r);
    // The whole range, its end, its beginning.
    char* const from = i % 3 == 1 ? p + 7 * page : p;
    const size_t size = i % 3 == 0 ? 8 * page : page;
    munmap(from, size);
    map(size, from);
  }
  CHECK(f.stats().invalidations == rounds);
  CHECK(f.stats().kept == 0);  // also the ranges that were not used again
  CHECK(f.registered() == 0);
  CHECK(f.stats().hits == 0);
  munmap(p, 8 * page);
}

TEST_CASE("pages that were returned to the system are registered again") {
  auto attr = checked();
  attr.sim_check_mappings = false;  // locked memory can't be returned
  net_job job(attr);
  const auto watch = the_watch();
  if (watch == nullptr) return lci_test::skip("mappings can't be watched here: nothing is cached");
  registration_cache cache(job.device(0), {1 << 20, 16, false}, watch);
  char* p = map(page);
  const registration r = cache.acquire(p, page);
  const registration also = cache.acquire(p, page);
  CHECK(also.rkey == r.rkey);
  cache.release(also);
  CHECK(madvise(p, page, MADV_DONTNEED) == 0);
  // Although the old registration is in use: a new one is needed for the new pages.
  const registration fresh = cache.acquire(p, page);
  CHECK(fresh.rkey != r.rkey);
  cache.release(r);
  CHECK(cache.stats().kept == 0);
  CHECK(cache.stats().used == 1);
  CHECK(cache.stats().invalidations == 1);
  cache.release(fresh);
  CHECK(cache.stats().kept == 1);
  munmap(p, page);
  CHECK(cache.stats().invalidations == 2);
  CHECK(job.world->stats().registrations == 0);
}

TEST_CASE("if the network has no room, unused registrations are evicted, and only those") {
  fixture f({1 << 20, 16, false}, 3);
  SKIP_UNWATCHED(f);
  std::vector<char> memory(1000);
  std::vector<registration> held;
  for (size_t i = 0; i < 3; ++i) f.cache->release(f.cache->acquire(memory.data() + 100 * i, 100));
  CHECK(f.stats().kept == 3);
  for (size_t i = 3; i < 6; ++i) {
    held.push_back(f.cache->acquire(memory.data() + 100 * i, 100));
    CHECK(f.registered() == 3);
  }
  CHECK(f.stats().kept == 0);
  CHECK(f.stats().evictions == 3);
  CHECK_THROWS_AS(f.cache->acquire(memory.data(), 1), lci::resource_error);
  CHECK(!f.cache->evict_one());
  CHECK(f.stats().used == 3);
  f.cache->release(held.back());
  CHECK_NOTHROW(f.cache->release(f.cache->acquire(memory.data(), 1)));
}

TEST_CASE("threads that share a cache while they map and unmap never get a stale registration") {
  fixture f({1 << 20, 8, false});
  SKIP_UNWATCHED(f);
  constexpr int threads = 4;
  const int rounds = 400 / lci_test::time_scale;
  std::vector<char> common(64 * 100);
  std::mutex network;  // guards the recorder of the network's events
  const auto wrong = lci_test::in_threads(threads, [&](int me) {
    int bad = 0;
    for (int i = 0; i < rounds; ++i) {
      const size_t size = page * (1 + static_cast<size_t>(i + me) % 3);
      char* p = map(size);
      const registration own = f.cache->acquire(p, size);
      const size_t at = 100 * (static_cast<size_t>(i * (me + 1)) % 64);
      const registration shared = f.cache->acquire(common.data() + at, 100);
      {
        std::lock_guard guard(network);
        bad += f.reaches(own, p, size) ? 0 : 1;
        bad += f.reaches(shared, common.data() + at, 100) ? 0 : 1;
      }
      f.cache->release(shared);
      f.cache->release(own);
      munmap(p, size);
    }
    return bad;
  });
  for (const int bad : wrong) CHECK(bad == 0);
  const auto s = f.stats();
  CHECK(s.hits + s.misses == uint64_t{2} * threads * static_cast<uint64_t>(rounds));
  CHECK(s.used == 0);
  CHECK(s.kept <= 8);
  CHECK(s.invalidations > 0);
  CHECK(f.registered() == s.kept);
  CHECK(f.job.world->violations().empty());
}
