// The smallest program: lists all ranks.
//
//   lcirun -n 4 hello

#include <unistd.h>
#include <cstdio>
#include <lci.hpp>
#include <vector>

struct card {
  int rank;
  int pid;
  char host[56];
};

int main() {
  // The default runtime. The launcher provides the rank; without a launcher, the job consists of this process.
  lci::g_runtime_init();
  const int me = lci::get_rank_me(), n = lci::get_rank_n();

  card mine{me, static_cast<int>(getpid()), {}};
  gethostname(mine.host, sizeof mine.host - 1);

  // Gathers all cards at rank 0, in the order of ranks. Returns when this rank's part is complete.
  std::vector<card> all(static_cast<size_t>(n));
  lci::gather(&mine, all.data(), sizeof mine, /*root*/ 0);
  if (me == 0)
    for (const card& c : all) std::printf("rank %d of %d is process %d on %s\n", c.rank, n, c.pid, c.host);

  lci::g_runtime_fina();
}
