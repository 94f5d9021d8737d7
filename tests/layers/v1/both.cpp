// A program that uses LCI v1.7 and lci.hpp: a message of one is not received by the other, even if tags are equal; and
// they may be initialized and finalized in any order.
#include <lci.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lci.hpp>

namespace {

int failed = 0;
void check(bool good, const char* what, int line) {
  if (good) return;
  ++failed;
  std::fprintf(stderr, "both.cpp:%d: rank %d: %s is false\n", line, LCI_RANK, what);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

void exchange() {
  const int n = LCI_NUM_PROCESSES, next = (LCI_RANK + 1) % n, before = (LCI_RANK + n - 1) % n;
  CHECK(lci::get_rank_me() == LCI_RANK && lci::get_rank_n() == n);
  LCI_comp_t v1_sync;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &v1_sync) == LCI_OK);
  lci::comp_t sync = lci::alloc_sync();
  for (int i = 0; i < 1000; ++i) {
    const int ours = 1000 * LCI_RANK + i, theirs = -ours;
    int from_v1 = 0, from_core = 0;
    const LCI_mbuffer_t in{&from_v1, sizeof from_v1};
    int out = ours;
    CHECK(LCI_recvm(LCI_UR_ENDPOINT, in, before, 7, v1_sync, nullptr) == LCI_OK);
    const lci::status_t r = lci::post_recv(before, &from_core, sizeof from_core, 7, sync);
    while (lci::post_send(next, &theirs, sizeof theirs, 7, lci::COMP_NULL_RETRY).is_retry()) lci::progress();
    while (LCI_sendm(LCI_UR_ENDPOINT, {&out, sizeof out}, next, 7) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
    CHECK(LCI_sync_wait(v1_sync, nullptr) == LCI_OK);
    if (r.is_posted()) lci::sync_wait(sync, nullptr);
    CHECK(from_v1 == 1000 * before + i && from_core == -(1000 * before + i));
  }
  lci::free_comp(&sync);
  CHECK(LCI_sync_free(&v1_sync) == LCI_OK);
}

// The queue, or its address; the number by address, by value, or as a 0.
void spellings() {
  LCI_comp_t cq;
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &cq) == LCI_OK);
  LCI_request_t requests[4] = {};
  std::size_t n = 9;
  CHECK(LCI_queue_pop_multiple(cq, 4, requests, &n) == LCI_OK && n == 0);
  n = 9;
  CHECK(LCI_queue_pop_multiple(&cq, 4, requests, &n) == LCI_OK && n == 0);
  CHECK(LCI_queue_pop_multiple(&cq, 4, requests, n) == LCI_OK && requests[0].flag == LCI_ERR_RETRY);
  requests[0].flag = LCI_OK;
  CHECK(LCI_queue_pop_multiple(&cq, 4, requests, 0) == LCI_OK && requests[0].flag == LCI_ERR_RETRY);
  CHECK(LCI_queue_pop(&cq, requests) == LCI_ERR_RETRY && LCI_queue_pop(cq, requests) == LCI_ERR_RETRY);
  CHECK(LCI_queue_free(&cq) == LCI_OK);
}

}  // namespace

int main() {
  for (int round = 0; round < 4; ++round) {
    const bool v1_first = round % 2 == 0, v1_last = round < 2;
    if (v1_first) CHECK(LCI_initialize() == LCI_OK);
    lci::g_runtime_init();
    if (!v1_first) CHECK(LCI_initialize() == LCI_OK);
    exchange();
    spellings();
    lci::barrier();
    CHECK(LCI_barrier() == LCI_OK);
    if (!v1_last) CHECK(LCI_finalize() == LCI_OK);
    lci::g_runtime_fina();
    if (v1_last) CHECK(LCI_finalize() == LCI_OK);
  }
  std::printf("cases: %d passed, %d failed, 0 skipped\n", failed == 0, failed != 0);
  return failed != 0;
}
