// After keep_freed_blocks(), malloc reuses freed blocks without new page faults.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "lib/base/memory.hpp"
#include "tests/unit/threads.hpp"

namespace {

constexpr size_t block = 1 << 20;
constexpr int n = 8;

long faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

/// Faults of pages while n blocks are allocated, written and freed again.
long faults_of_a_round() {
  const long before = faults();
  std::array<void*, n> blocks{};
  for (void*& b : blocks) {
    b = std::malloc(block);
    std::memset(b, 1, block);
  }
  for (void* b : blocks) std::free(b);
  return faults() - before;
}

/// Returns whether a second round, in a process of its own, has fewer than 16 page faults.
bool reuses_pages(size_t threshold) {
  const pid_t child = fork();
  if (child == 0) {
    if (threshold > 0) lci::keep_freed_blocks(threshold);
    (void)faults_of_a_round();
    _exit(faults_of_a_round() < 16 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("blocks of a message's size keep their pages when they are freed") {
  if (lci_test::sanitized) return lci_test::skip("a sanitizer's allocator keeps freed memory");
  CHECK(reuses_pages(size_t{32} << 20));
  CHECK(reuses_pages(n * block));
}

TEST_CASE("thresholds of malloc that the program has set stay") {
  if (lci_test::sanitized) return lci_test::skip("a sanitizer's allocator keeps freed memory");
  const pid_t child = fork();
  if (child == 0) {
    setenv("MALLOC_MMAP_THRESHOLD_", "65536", 1);
    execl("/proc/self/exe", "unit_tests", "[.thresholds]", nullptr);
    _exit(2);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("run with thresholds of its own, malloc returns blocks to the system", "[.thresholds]") {
  lci::keep_freed_blocks(size_t{32} << 20);
  (void)faults_of_a_round();
  CHECK(faults_of_a_round() >= n * 100);
}
