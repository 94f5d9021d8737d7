/* LCIX_*: barrier, broadcast and reduction over the ranks of an endpoint, several at a time, with each kind of
 * completion. */
#include "tests/layers/v1/check.h"

enum { tags = 3, rounds = 40, most_words = 30000 };

static PER_RANK int handled;
static void handle(LCI_request_t r) { handled += r.flag == LCI_OK && r.rank == LCI_RANK; }

static void add(void* dst, const void* src, size_t length) {
  size_t i;
  for (i = 0; i < length / sizeof(uint64_t); ++i) ((uint64_t*)dst)[i] += ((const uint64_t*)src)[i];
}
static void finish(LCIX_collective_t* c) {
  LCI_error_t code;
  while ((code = LCIX_coll_progress(c)) == LCI_ERR_RETRY) continue;
  CHECK(code == LCI_OK);
  CHECK(*c == NULL);
}

/* Repeated barriers complete, and signal their synchronizer once. */
static void barriers(void) {
  LCIX_collective_t c;
  LCI_comp_t sync;
  LCI_request_t r;
  int i, at, context;
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  for (i = 0; i < rounds; ++i) {
    LCI_short_t word = {{0}};
    for (at = 0; at < LCI_NUM_PROCESSES; ++at) AGAIN(LCI_puts(LCI_UR_ENDPOINT, word, at, 5, LCI_DEFAULT_COMP_REMOTE));
    CHECK(LCIX_barrier(LCI_UR_ENDPOINT, 9, sync, &context, &c) == LCI_OK);
    finish(&c);
    CHECK(LCI_sync_test(sync, &r) == LCI_OK);
    CHECK(r.flag == LCI_OK && r.rank == LCI_RANK && r.tag == 9 && r.user_context == &context);
    CHECK(LCI_sync_test(sync, &r) == LCI_ERR_RETRY);
    for (at = 0; at < LCI_NUM_PROCESSES; ++at) LCI_queue_wait(LCI_UR_CQ, &r);
  }
  LCI_sync_free(&sync);
}

/* No rank leaves a barrier before the last rank has entered it. */
static void barrier_waits(void) {
  int i;
  for (i = 0; i < LCI_NUM_PROCESSES; ++i) {
    LCIX_collective_t c = NULL;
    LCI_error_t code;
    LCI_request_t r;
    LCI_short_t word = {{0}};
    /* Rank i enters the barrier last: it waits for a message that rank i + 1 sends inside of the barrier. */
    const int next = (i + 1) % LCI_NUM_PROCESSES;
    if (LCI_NUM_PROCESSES == 1) break;
    if (LCI_RANK == i) LCI_queue_wait(LCI_UR_CQ, &r);
    code = LCIX_barrier(LCI_UR_ENDPOINT, 11, NULL, NULL, &c);
    CHECK(code == LCI_OK);
    if (LCI_RANK == next) {
      int k;
      for (k = 0; k < 100; ++k) CHECK(LCIX_coll_progress(&c) == LCI_ERR_RETRY);
      AGAIN(LCI_puts(LCI_UR_ENDPOINT, word, i, 1, LCI_DEFAULT_COMP_REMOTE));
    }
    finish(&c);
  }
}

/* Broadcasts from each root; `tags` operations are outstanding at a time. */
static void broadcasts(size_t size, int is_long) {
  LCIX_collective_t c[tags];
  LCI_comp_t cq;
  unsigned char* data[tags];
  int root, t, i;
  LCI_queue_create(LCI_UR_DEVICE, &cq);
  for (t = 0; t < tags; ++t) data[t] = malloc(size + 1);
  for (root = 0; root < LCI_NUM_PROCESSES; ++root) {
    LCI_request_t r;
    for (i = 0; i < tags; ++i) {
      /* Ranks start them in different orders. */
      t = (i + LCI_RANK) % tags;
      data[t][size] = 77;
      if (LCI_RANK == root)
        fill_pattern(data[t], size, root, (unsigned)t);
      else
        memset(data[t], 0, size);
      if (is_long) {
        LCI_lbuffer_t b = {LCI_SEGMENT_ALL, NULL, 0};
        b.address = data[t];
        b.length = size;
        CHECK(LCIX_bcastl(LCI_UR_ENDPOINT, b, root, (LCI_tag_t)t, cq, &data[t], &c[t]) == LCI_OK);
      } else {
        LCI_mbuffer_t b;
        b.address = data[t];
        b.length = size;
        CHECK(LCIX_bcastm(LCI_UR_ENDPOINT, b, root, (LCI_tag_t)t, cq, &data[t], &c[t]) == LCI_OK);
      }
    }
    for (t = 0; t < tags; ++t) finish(&c[t]);
    for (i = 0; i < tags; ++i) {
      CHECK(LCI_queue_pop(cq, &r) == LCI_OK);
      CHECK(r.flag == LCI_OK && r.tag < tags && r.user_context == &data[r.tag]);
      CHECK(r.type == (is_long ? LCI_LONG : LCI_MEDIUM));
      CHECK((is_long ? r.data.lbuffer.address : r.data.mbuffer.address) == data[r.tag]);
    }
    for (t = 0; t < tags; ++t) CHECK(has_pattern(data[t], size, root, (unsigned)t) && data[t][size] == 77);
  }
  for (t = 0; t < tags; ++t) free(data[t]);
  LCI_queue_free(&cq);
}

static void reductions(LCI_endpoint_t ep, size_t words, int is_long) {
  static PER_RANK uint64_t data[most_words];
  LCI_comp_t handler;
  LCIX_collective_t c;
  size_t i;
  int round;
  uint64_t n = (uint64_t)LCI_NUM_PROCESSES;
  LCI_handler_create(LCI_UR_DEVICE, handle, &handler);
  for (round = 0; round < 6; ++round) {
    const int before = handled;
    for (i = 0; i < words; ++i) data[i] = (uint64_t)LCI_RANK + i + (uint64_t)round;
    if (is_long) {
      LCI_lbuffer_t b = {LCI_SEGMENT_ALL, NULL, 0};
      b.address = data;
      b.length = words * sizeof *data;
      CHECK(LCIX_allreducel(ep, b, add, 4, handler, NULL, &c) == LCI_OK);
    } else {
      LCI_mbuffer_t b;
      b.address = data;
      b.length = words * sizeof *data;
      CHECK(LCIX_allreducem(ep, b, add, 4, handler, NULL, &c) == LCI_OK);
    }
    finish(&c);
    CHECK(handled == before + 1);
    for (i = 0; i < words; ++i)
      if (data[i] != n * (n - 1) / 2 + n * (i + (uint64_t)round)) break;
    CHECK(i == words);
  }
}

/* Collective operations do not match the program's messages with the same tag and peers, on the same or another
 * endpoint. */
static void beside_messages(void) {
  LCI_endpoint_t ep;
  LCI_plist_t plist;
  LCI_comp_t sync;
  LCI_request_t r;
  LCI_short_t word = {{0}};
  LCI_plist_create(&plist);
  LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist);
  LCI_plist_free(&plist);
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  word.words[0] = (uint64_t)LCI_RANK + 3;
  AGAIN(LCI_sends(ep, word, (LCI_RANK + 1) % LCI_NUM_PROCESSES, 4));
  reductions(ep, 10, 0);
  reductions(LCI_UR_ENDPOINT, 10, 0);
  AGAIN(LCI_recvs(ep, (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES, 4, sync, NULL));
  LCI_sync_wait(sync, &r);
  CHECK(r.data.immediate.words[0] == (uint64_t)r.rank + 3);
  LCI_sync_free(&sync);
  LCI_barrier();
  LCI_endpoint_free(&ep);
}

int main(void) {
  const size_t sizes[] = {0, 1, 8, 32, 4000, 100001};
  size_t i;
  LCIX_collective_t none = NULL;
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCIX_coll_progress(&none) == LCI_OK);
  barriers();
  barrier_waits();
  for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    broadcasts(sizes[i], 1);
    if (sizes[i] <= (size_t)LCI_MEDIUM_SIZE) broadcasts(sizes[i], 0);
  }
  reductions(LCI_UR_ENDPOINT, 1, 0);
  reductions(LCI_UR_ENDPOINT, 0, 0);
  reductions(LCI_UR_ENDPOINT, 500, 0);
  reductions(LCI_UR_ENDPOINT, most_words, 1);
  beside_messages();
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("collectives");
}
