// A user's program in C++ with LCI and LCT: receives numbers with LCI and pushes them to a queue of LCT.
#include <lct.h>
#include <cstdio>
#include <lci.hpp>

int main() {
  LCT_init();
  lci::g_runtime_init();
  LCT_pmi_initialize();
  const int rank = lci::get_rank_me(), size = lci::get_rank_n();
  int got = -1;
  auto sync = lci::alloc_sync();
  lci::status_t status = lci::post_recv((rank + size - 1) % size, &got, sizeof got, 7, sync);
  lci::post_send((rank + 1) % size, const_cast<int*>(&rank), sizeof rank, 7, lci::COMP_NULL);
  if (status.is_posted()) lci::sync_wait(sync, &status);
  LCT_queue_t queue = LCT_queue_alloc(LCT_QUEUE_LCRQ, 0);
  LCT_queue_push(queue, &got);
  const int* popped = static_cast<const int*>(LCT_queue_pop(queue));
  const bool right = popped == &got && *popped == (rank + size - 1) % size && LCT_pmi_get_rank() == rank &&
                     LCT_pmi_get_size() == size && LCT_get_rank() == rank;
  std::printf("rank %d of %d: %s\n", rank, size, right ? "right" : "wrong");
  LCT_queue_free(&queue);
  lci::free_comp(&sync);
  LCT_pmi_finalize();
  lci::g_runtime_fina();
  LCT_fina();
  return right ? 0 : 1;
}
