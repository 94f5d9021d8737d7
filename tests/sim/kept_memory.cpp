// Memory of messages that the program has freed serves the next ones, without new page faults.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <vector>

#include "lci.hpp"
#include "tests/sim/sim_runtime.hpp"
#include "tests/support/testing.hpp"

namespace {

constexpr int batch = 64;
constexpr size_t message = 7000;  // bytes: eager, in a packet

long page_faults() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

/// Page faults of ten batches of active messages to a queue of this rank, behind ten others.
long faults_of_batches() {
  auto rt = sim_test::over_sim();
  auto queue = lci::alloc_cq_x().runtime(rt)();
  const auto to = lci::register_rcomp_x(queue).runtime(rt)();
  const std::vector<char> out(message, 'x');
  long before = 0;
  for (int round = 0; round < 20; ++round) {
    if (round == 10) before = page_faults();
    std::vector<void*> arrived;
    arrived.reserve(batch);
    for (int i = 0; i < batch; ++i) {
      lci::status_t s;
      while ((s = lci::post_am_x(0, out.data(), out.size(), lci::COMP_NULL_RETRY, to).runtime(rt)()).is_retry())
        lci::progress_x().runtime(rt)();
    }
    while (arrived.size() < batch) {
      lci::progress_x().runtime(rt)();
      for (lci::status_t s; (s = lci::cq_pop_x(queue).runtime(rt)()).is_done();) arrived.push_back(s.buffer);
    }
    for (void* p : arrived) std::free(p);
  }
  return page_faults() - before;
}

}  // namespace

TEST_CASE("messages of a packet's size reuse the memory of those that the program has freed") {
  if (lci_test::sanitized) return lci_test::skip("a sanitizer's allocator keeps freed memory");
  const pid_t child = fork();  // another process, in which malloc is as it is at the start
  if (child == 0) {
    execl("/proc/self/exe", "sim_property_tests", "[.batches]", nullptr);
    _exit(2);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("in a new process, batches of messages fault few pages", "[.batches]") { CHECK(faults_of_batches() < batch); }
