// CCS_init while allocations fail at rank 0: the first argument is how many succeed before, the second how many fail.
// CCS starts at all ranks, or the job ends. No rank waits for ever for rank 0.
#include <ccs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "tests/support/failing_memory.hpp"

int main(int, char** argv) {
  alarm(60);
  const char* const rank = std::getenv("PMI_RANK");
  const char* const size = std::getenv("PMI_SIZE");
  std::optional<lci_test::failing_memory> shortage;
  if (rank != nullptr && std::atoi(rank) == 0) shortage.emplace(0, std::atol(argv[1]), std::atol(argv[2]));
  const int rc = CCS_init();
  shortage.reset();
  if (rc != CCS_SUCCESS) {
    std::printf("%s: CCS_init: %d\n", rank, rc);
    std::fflush(stdout);
    // The end of this process would end the job, and hide that the other one waits.
    if (size != nullptr && std::atoi(size) > 1) pause();
    return 3;
  }
  const bool enough = lci_test::failing_memory::failures() == 0;
  CCS_barrier();
  CCS_node_t me = 0;
  CCS_get_rank(&me);
  if (me == 0) std::printf("started%s\n", enough ? ", no allocation failed" : "");
  return CCS_finalize();
}
