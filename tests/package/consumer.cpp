// A user's program: each rank greets its right neighbour. Built from an installed LCI.
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>

int main() {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me(), size = lci::get_rank_n();
  auto cq = lci::alloc_cq();
  const auto rcomp = lci::register_rcomp(cq);
  lci::barrier();
  const int greeting = 100 + rank;
  lci::post_am((rank + 1) % size, &greeting, sizeof greeting, lci::COMP_NULL, rcomp);
  lci::status_t status;
  do {
    lci::progress();
    status = lci::cq_pop(cq);
  } while (status.is_retry());
  const int got = *static_cast<int*>(status.buffer);
  std::free(status.buffer);
  const bool right = got == 100 + (rank + size - 1) % size && status.rank == got - 100;
  std::printf("rank %d of %d got %d from %d\n", rank, size, got, status.rank);
  lci::barrier();
  lci::free_comp(&cq);
  lci::g_runtime_fina();
  return right ? 0 : 1;
}
