// Changes of mappings are recorded before the call that makes them returns, whatever the call.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "lib/base/mapping_watch.hpp"
#include "tests/unit/threads.hpp"

using lci::mapping_watch;

namespace {

constexpr size_t page = 4096, size = 16 * page;

char* map(size_t bytes = size, void* at = nullptr) {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  void* p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  REQUIRE(p != MAP_FAILED);
  std::memset(p, 1, bytes);
  return static_cast<char*>(p);
}

/// Null if the system can't watch mappings; then the test is skipped.
std::shared_ptr<mapping_watch> watch_or_skip() {
  std::string why_not;
  auto watch = mapping_watch::get(why_not);
  if (watch == nullptr) lci_test::skip("mappings can't be watched here: " + why_not);
  return watch;
}

}  // namespace

TEST_CASE("each kind of change of a mapping is recorded, and only for the affected ranges") {
  const auto watch = watch_or_skip();
  if (watch == nullptr) return;
  const struct {
    const char* name;
    std::function<void(char*)> change;  // of pages 4 to 8
  } ways[] = {
      {"munmap", [](char* p) { munmap(p + 4 * page, 4 * page); }},
      {"mmap over it", [](char* p) { map(4 * page, p + 4 * page); }},
      {"a file over it",
       [](char* p) {
         const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
         mmap(p + 4 * page, 4 * page, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0);
         close(file);
       }},
      {"MADV_DONTNEED", [](char* p) { madvise(p + 4 * page, 4 * page, MADV_DONTNEED); }},
      {"mremap away",
       [](char* p) {
         void* to = mmap(nullptr, 4 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         to = mremap(p + 4 * page, 4 * page, 4 * page, MREMAP_MAYMOVE | MREMAP_FIXED, to);
         munmap(to, 4 * page);
       }},
      {"mremap to it",
       [](char* p) { mremap(map(4 * page), 4 * page, 4 * page, MREMAP_MAYMOVE | MREMAP_FIXED, p + 4 * page); }},
      {"mremap to less", [](char* p) { REQUIRE(mremap(p, 8 * page, 4 * page, 0) == p); }},
  };
  for (const auto& way : ways) {
    INFO(way.name);
    char* p = map();
    mapping_watch::subscriber before, across, after, all;
    mapping_watch::range r[4];
    REQUIRE(watch->add(r[0], before, p, 4 * page));
    REQUIRE(watch->add(r[1], across, p + 5 * page + 100, 1));
    REQUIRE(watch->add(r[2], after, p + 8 * page, 8 * page));
    REQUIRE(watch->add(r[3], all, p, size));
    for (auto& one : r) REQUIRE(watch->unchanged(one));
    way.change(p);
    CHECK(watch->unchanged(r[0]));
    CHECK(!watch->unchanged(r[1]));
    CHECK(watch->unchanged(r[2]));
    CHECK(!watch->unchanged(r[3]));
    CHECK(!watch->take_changes(before));
    CHECK(watch->take_changes(across));
    CHECK(!watch->take_changes(across));
    CHECK(!watch->take_changes(after));
    CHECK(watch->take_changes(all));
    munmap(p, size);
    CHECK(watch->take_changes(after));
    CHECK(r[0].changed());
    CHECK(r[2].changed());
    for (auto& one : r) watch->remove(one);
  }
}

TEST_CASE("memory that the allocator returns to the system is recorded") {
  const auto watch = watch_or_skip();
  if (watch == nullptr) return;
  if (lci_test::sanitized) return lci_test::skip("a sanitizer's allocator keeps freed memory");
  mapping_watch::subscriber self;
  mapping_watch::range r;
  const size_t large = size_t{64} << 20;  // more than the allocator keeps
  void* p = std::malloc(large);
  REQUIRE(watch->add(r, self, p, large));
  std::free(p);
  CHECK(!watch->unchanged(r));
  watch->remove(r);
}

TEST_CASE("memory is watched while a range needs it, and not afterwards") {
  const auto watch = watch_or_skip();
  if (watch == nullptr) return;
  char* p = map();
  mapping_watch::subscriber self;
  mapping_watch::range a, b;
  REQUIRE(watch->add(a, self, p, 8 * page));
  REQUIRE(watch->add(b, self, p + 4 * page, 8 * page));
  watch->remove(a);
  madvise(p, 4 * page, MADV_DONTNEED);
  CHECK(!watch->take_changes(self));
  CHECK(watch->unchanged(b));
  madvise(p + 4 * page, page, MADV_DONTNEED);
  CHECK(watch->take_changes(self));
  CHECK(b.changed());
  watch->remove(b);
  REQUIRE(watch->add(b, self, p, page));  // a range can be used again
  CHECK(watch->unchanged(b));
  watch->remove(b);
  munmap(p, size);
}

TEST_CASE("memory of a kind that can't be watched is refused") {
  const auto watch = watch_or_skip();
  if (watch == nullptr) return;
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  void* p = mmap(nullptr, page, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  REQUIRE(p != MAP_FAILED);
  mapping_watch::subscriber self;
  mapping_watch::range r;
  CHECK(!watch->add(r, self, p, page));
  munmap(p, page);
  CHECK(!watch->add(r, self, p, page));  // no mapping at all
  CHECK(!watch->take_changes(self));
}

TEST_CASE("threads that reuse each other's addresses never find an old range unchanged") {
  auto watch = watch_or_skip();
  if (watch == nullptr) return;
  // An address that one thread unmaps is free for others before munmap() has returned. If a thread gets the address
  // of the watched range, the change of that range must have been recorded.
  constexpr int threads = 4;
  const int rounds = 2000 / lci_test::time_scale;
  struct shared_range {
    std::mutex mutex;
    mapping_watch::range range;
    mapping_watch::subscriber self;
    char* at = nullptr;
    bool added = false;
  } kept;
  const auto wrong = lci_test::in_threads(threads, [&](int) {
    int bad = 0;
    for (int i = 0; i < rounds; ++i) {
      void* p = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      {
        std::lock_guard guard(kept.mutex);
        // This address is newly mapped, so a range that is watched there belongs to an earlier mapping.
        if (kept.added && kept.at == p && watch->unchanged(kept.range)) bad += 1;
        if (kept.added) watch->remove(kept.range);
        kept.at = static_cast<char*>(p);
        kept.added = watch->add(kept.range, kept.self, p, page);
        if (!kept.added) bad += 1;
      }
      munmap(p, page);
    }
    return bad;
  });
  for (const int bad : wrong) CHECK(bad == 0);
  if (kept.added) watch->remove(kept.range);
}

TEST_CASE("the watch ends with its last owner, and unmapping does not wait afterwards") {
  auto watch = watch_or_skip();
  if (watch == nullptr) return;
  std::string why_not;
  CHECK(mapping_watch::get(why_not) == watch);
  char* p = map();
  mapping_watch::subscriber self;
  mapping_watch::range r;
  REQUIRE(watch->add(r, self, p, size));
  watch->remove(r);
  watch.reset();
  munmap(p, size);
  watch = mapping_watch::get(why_not);
  REQUIRE(watch != nullptr);
  p = map();
  REQUIRE(watch->add(r, self, p, size));
  munmap(p, size);
  CHECK(!watch->unchanged(r));
  watch->remove(r);
}
