/* Every kind of message and completion once, between neighbours of a ring (or to itself). */
#include "tests/layers/v1/check.h"

static PER_RANK int n_handled;
static PER_RANK LCI_request_t handled;
static void handle(LCI_request_t request) {
  handled = request;
  ++n_handled;
}

static void wait_for_handler(int n) {
  while (n_handled < n) LCI_progress(LCI_UR_DEVICE);
}

static void short_messages(LCI_comp_t sync, int next, int before) {
  LCI_short_t s;
  LCI_request_t r;
  memset(&s, 0, sizeof s);
  *(uint64_t*)&s = 1000u + (unsigned)LCI_RANK;
  AGAIN(LCI_recvs(LCI_UR_ENDPOINT, before, 1, sync, &r));
  AGAIN(LCI_sends(LCI_UR_ENDPOINT, s, next, 1));
  CHECK(LCI_sync_wait(sync, &r) == LCI_OK);
  CHECK(r.flag == LCI_OK && r.rank == before && r.tag == 1 && r.type == LCI_IMMEDIATE && r.user_context == &r);
  CHECK(*(uint64_t*)&r.data.immediate == 1000u + (unsigned)before);
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  AGAIN(LCI_puts(LCI_UR_ENDPOINT, s, next, 2, LCI_DEFAULT_COMP_REMOTE));
  CHECK(LCI_queue_wait(LCI_UR_CQ, &r) == LCI_OK);
  CHECK(r.flag == LCI_OK && r.rank == before && r.tag == 2 && r.type == LCI_IMMEDIATE && r.user_context == NULL);
  CHECK(*(uint64_t*)&r.data.immediate == 1000u + (unsigned)before);
}

static void medium_messages(LCI_comp_t sync, size_t n, int next, int before) {
  LCI_mbuffer_t mine, theirs, packet;
  LCI_request_t r;
  mine.address = malloc(n + 1);
  theirs.address = malloc(n + 1);
  mine.length = theirs.length = n;
  fill_pattern(mine.address, n, LCI_RANK, 3);
  AGAIN(LCI_recvm(LCI_UR_ENDPOINT, theirs, before, 3, sync, &n));
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, mine, next, 3));
  LCI_sync_wait(sync, &r);
  CHECK(r.flag == LCI_OK && r.rank == before && r.tag == 3 && r.type == LCI_MEDIUM && r.user_context == &n);
  CHECK(r.data.mbuffer.address == theirs.address && r.data.mbuffer.length == n);
  CHECK(has_pattern(theirs.address, n, before, 3));
  /* Without a copy at either end. */
  AGAIN(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet));
  CHECK(packet.length == (size_t)LCI_MEDIUM_SIZE);
  fill_pattern(packet.address, n, LCI_RANK, 4);
  packet.length = n;
  AGAIN(LCI_sendmn(LCI_UR_ENDPOINT, packet, next, 4));
  AGAIN(LCI_recvmn(LCI_UR_ENDPOINT, before, 4, sync, NULL));
  LCI_sync_wait(sync, &r);
  CHECK(r.flag == LCI_OK && r.type == LCI_MEDIUM && r.data.mbuffer.length == n);
  CHECK(has_pattern(r.data.mbuffer.address, n, before, 4));
  CHECK(LCI_mbuffer_free(r.data.mbuffer) == LCI_OK);
  /* Messages are not ordered: a fence keeps those to LCI_UR_CQ apart. */
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  AGAIN(LCI_putma(LCI_UR_ENDPOINT, mine, next, 3, LCI_DEFAULT_COMP_REMOTE));
  LCI_queue_wait(LCI_UR_CQ, &r);
  CHECK(r.flag == LCI_OK && r.rank == before && r.tag == 3 && r.type == LCI_MEDIUM && r.data.mbuffer.length == n);
  CHECK(has_pattern(r.data.mbuffer.address, n, before, 3));
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  /* The received packet is sent on, without a copy. */
  AGAIN(LCI_putmna(LCI_UR_ENDPOINT, r.data.mbuffer, next, 5, LCI_DEFAULT_COMP_REMOTE));
  LCI_queue_wait(LCI_UR_CQ, &r);
  CHECK(r.tag == 5 && r.data.mbuffer.length == n);
  CHECK(has_pattern(r.data.mbuffer.address, n, (before + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES, 3));
  CHECK(LCI_mbuffer_free(r.data.mbuffer) == LCI_OK);
  free(mine.address);
  free(theirs.address);
}

static void long_messages(LCI_comp_t sync, size_t n, int next, int before) {
  LCI_lbuffer_t mine, theirs, none = {NULL, NULL, 0};
  LCI_comp_t both;
  LCI_request_t r[2];
  int i;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 2, &both) == LCI_OK);
  CHECK(LCI_lbuffer_alloc(LCI_UR_DEVICE, n, &mine) == LCI_OK);
  theirs.segment = LCI_SEGMENT_ALL;
  theirs.address = malloc(n + 1);
  theirs.length = n;
  fill_pattern(mine.address, n, LCI_RANK, 6);
  AGAIN(LCI_sendl(LCI_UR_ENDPOINT, mine, next, 6, both, &mine));
  AGAIN(LCI_recvl(LCI_UR_ENDPOINT, theirs, before, 6, both, &theirs));
  LCI_sync_wait(both, r);
  for (i = 0; i < 2; ++i) {
    CHECK(r[i].flag == LCI_OK && r[i].tag == 6 && r[i].type == LCI_LONG && r[i].data.lbuffer.length == n);
    if (r[i].user_context == &mine)
      CHECK(r[i].rank == next && r[i].data.lbuffer.segment == mine.segment &&
            r[i].data.lbuffer.address == mine.address);
    else
      CHECK(r[i].rank == before && r[i].data.lbuffer.address == theirs.address);
  }
  CHECK(has_pattern(theirs.address, n, before, 6));
  /* The receiver's buffer is allocated. */
  AGAIN(LCI_recvl(LCI_UR_ENDPOINT, none, before, 7, both, NULL));
  AGAIN(LCI_sendl(LCI_UR_ENDPOINT, mine, next, 7, both, &mine));
  LCI_sync_wait(both, r);
  i = r[0].user_context == NULL ? 0 : 1;
  CHECK(r[0].flag == LCI_OK && r[1].flag == LCI_OK && r[i].data.lbuffer.length == n);
  CHECK(has_pattern(r[i].data.lbuffer.address, n, before, 6));
  CHECK(LCI_lbuffer_free(r[i].data.lbuffer) == LCI_OK);
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  AGAIN(LCI_putla(LCI_UR_ENDPOINT, mine, sync, next, 8, LCI_DEFAULT_COMP_REMOTE, &mine));
  LCI_queue_wait(LCI_UR_CQ, r);
  CHECK(r[0].flag == LCI_OK && r[0].rank == before && r[0].tag == 8 && r[0].type == LCI_LONG);
  CHECK(r[0].data.lbuffer.length == n && has_pattern(r[0].data.lbuffer.address, n, before, 6));
  CHECK(LCI_lbuffer_free(r[0].data.lbuffer) == LCI_OK);
  LCI_sync_wait(sync, r);
  CHECK(r[0].flag == LCI_OK && r[0].rank == next && r[0].user_context == &mine);
  CHECK(r[0].data.lbuffer.address == mine.address && r[0].data.lbuffer.segment == mine.segment);
  CHECK(LCI_lbuffer_free(mine) == LCI_OK);
  free(theirs.address);
  CHECK(LCI_sync_free(&both) == LCI_OK && both == NULL);
}

static void explicit_completion(int next, int before) {
  LCI_comp_t handler;
  LCI_short_t s;
  LCI_mbuffer_t m, got = {NULL, 0};
  LCI_request_t r;
  uintptr_t theirs;
  int n = n_handled;
  CHECK(LCI_handler_create(LCI_UR_DEVICE, handle, &handler) == LCI_OK);
  m.address = &handler;
  m.length = sizeof handler;
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, m, before, 9));
  m.address = &theirs;
  (void)got;
  {
    LCI_comp_t sync;
    LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
    AGAIN(LCI_recvm(LCI_UR_ENDPOINT, m, next, 9, sync, NULL));
    LCI_sync_wait(sync, NULL);
    LCI_sync_free(&sync);
  }
  memset(&s, LCI_RANK + 1, sizeof s);
  AGAIN(LCI_puts(LCI_UR_ENDPOINT, s, next, 10, theirs));
  wait_for_handler(n + 1);
  CHECK(handled.rank == before && handled.tag == 10 && handled.type == LCI_IMMEDIATE);
  CHECK(handled.data.immediate.val[31] == before + 1);
  CHECK(LCI_queue_pop(LCI_UR_CQ, &r) == LCI_ERR_RETRY);
}

int main(void) {
  LCI_comp_t sync;
  size_t sizes[] = {0, 1, 8, 1000, 8192, 0};
  int i, next, before, flag = -1;
  CHECK(LCI_initialized(&flag) == LCI_OK && flag == 0);
  CHECK(LCI_MEDIUM_SIZE == -1 && LCI_MAX_TAG == 65535);
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCI_initialized(&flag) == LCI_OK && flag == 1);
  next = (LCI_RANK + 1) % LCI_NUM_PROCESSES;
  before = (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync) == LCI_OK);
  short_messages(sync, next, before);
  sizes[5] = (size_t)LCI_MEDIUM_SIZE;
  for (i = 0; i < 6; ++i) medium_messages(sync, sizes[i], next, before);
  for (i = 0; i < 6; ++i) long_messages(sync, sizes[i], next, before);
  long_messages(sync, 1000000, next, before);
  long_messages(sync, (size_t)LCI_MEDIUM_SIZE * 1000 + 1, next, before);
  explicit_completion(next, before);
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  CHECK(LCI_sync_free(&sync) == LCI_OK);
  CHECK(LCI_barrier() == LCI_OK);
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("smoke");
}
