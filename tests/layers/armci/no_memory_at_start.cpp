// ARMCI_Init while allocations fail at rank 0: the first argument is how many succeed before, the second how many fail.
// ARMCI starts at all ranks, or the job ends. No rank waits for ever for rank 0.
#include <armci.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "tests/support/failing_memory.hpp"

int main(int, char** argv) {
  alarm(60);
  const char* const rank = std::getenv("PMI_RANK");
  std::optional<lci_test::failing_memory> shortage;
  if (rank != nullptr && std::atoi(rank) == 0) shortage.emplace(0, std::atol(argv[1]), std::atol(argv[2]));
  const int rc = ARMCI_Init();
  shortage.reset();
  if (rc != 0) {
    std::printf("%s: ARMCI_Init: %d\n", rank, rc);
    std::fflush(stdout);
    // The end of this process would end the job, and hide that the other one waits.
    if (armci_msg_nproc() > 1) pause();
    return 3;
  }
  const bool enough = lci_test::failing_memory::failures() == 0;
  ARMCI_Barrier();
  if (armci_msg_me() == 0) std::printf("started%s\n", enough ? ", no allocation failed" : "");
  ARMCI_Finalize();
}
