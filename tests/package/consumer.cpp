// A user's program: each rank sends a number to its right neighbour. Built with an installed LCI.
#include <cstdio>
#include <lci.hpp>

int main() {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me(), size = lci::get_rank_n();
  const int left = (rank + size - 1) % size;
  const int greeting = 100 + rank;
  int got = 0;
  auto sync = lci::alloc_sync();
  lci::status_t status = lci::post_recv(left, &got, sizeof got, 7, sync);
  lci::post_send((rank + 1) % size, &greeting, sizeof greeting, 7, lci::COMP_NULL);
  if (status.is_posted()) lci::sync_wait(sync, &status);
  const bool right = got == 100 + left && status.rank == left;
  std::printf("rank %d of %d got %d from %d\n", rank, size, got, status.rank);
  lci::free_comp(&sync);
  lci::g_runtime_fina();
  return right ? 0 : 1;
}
