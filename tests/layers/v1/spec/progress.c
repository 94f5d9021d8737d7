/* Section 4.12: progress. */
#include "tests/layers/v1/spec/spec.h"

#include <time.h>

enum { POSTING_THREADS = 3 };

static void results(void) {
  LCI_error_t (*const function)(LCI_device_t) = LCI_progress; /* programs take its address */
  const int to = rank_at(1);
  LCI_request_t request;
  double end = seconds_now() + 60;
  int round, quiet, something = 0;
  case_is("results of LCI_progress()");
  CHECK_OK(LCI_barrier());
  for (quiet = 0; quiet < 100 && seconds_now() < end;) quiet = function(LCI_UR_DEVICE) == LCI_ERR_RETRY ? quiet + 1 : 0;
  CHECK_EQ(quiet, 100);
  CHECK_OK(LCI_barrier());
  for (round = 0; round < 20; ++round) {
    const struct timespec moment = {0, 3 * 1000 * 1000};
    /* Every other rank is in the loop below when its message arrives. */
    if ((LCI_RANK + round) % 2) nanosleep(&moment, NULL);
    AGAIN(LCI_puts(LCI_UR_ENDPOINT, short_of(3), to, 1, LCI_DEFAULT_COMP_REMOTE));
    while (LCI_queue_pop(LCI_UR_CQ, &request) == LCI_ERR_RETRY) {
      LCI_error_t code = function(LCI_UR_DEVICE);
      CHECK(code == LCI_OK || code == LCI_ERR_RETRY);
      something += code == LCI_OK;
      if (seconds_now() > end) give_up("a put");
    }
    CHECK_OK(LCI_barrier());
  }
  /* At least where the message is not delivered in the post itself. */
  if (LCI_NUM_PROCESSES > 1) CHECK(something > 0);
}

/* The target of one-sided communication calls nothing but LCI_progress(). */
static void passive_target(void) {
  const size_t length = 300000;
  struct card {
    char segment[LCI_SEGMENT_SERIALIZED_MAX];
    uint64_t address;
  } mine, all[64];
  LCI_segment_t segment = NULL, far_segment = NULL;
  LCI_comp_t sync = NULL;
  LCI_request_t request;
  char* area = malloc(length);
  char* copy = malloc(length);
  int r;
  if (!area || !copy) give_up("memory");
  case_is("targets that only make progress");
  memset(&mine, 0, sizeof mine);
  CHECK_OK(LCI_memory_register(LCI_UR_DEVICE, area, length, &segment));
  CHECK_OK(LCI_segment_serialize(segment, mine.segment));
  mine.address = (uintptr_t)area;
  exchange(&mine, all, sizeof mine);
  CHECK_OK(LCI_segment_deserialize(all[0].segment, &far_segment));
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync));
  for (r = 1; r < LCI_NUM_PROCESSES; ++r) {
    if (LCI_RANK == r) {
      LCI_lbuffer_t into = long_of(LCI_SEGMENT_ALL, copy, length);
      LCI_lbuffer_t far_buffer = long_of(far_segment, (void*)(uintptr_t)all[0].address, length);
      AGAIN(LCI_putl(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, payload(r, 2), length), sync, 0, 2, far_buffer,
                     LCI_DEFAULT_COMP_REMOTE, NULL));
      CHECK_OK(LCI_sync_wait(sync, NULL));
      AGAIN(LCI_recvs(LCI_UR_ENDPOINT, 0, 7, sync, NULL));
      CHECK_OK(LCI_sync_wait(sync, NULL));
      AGAIN(LCI_getl(LCI_UR_ENDPOINT, &into, length, sync, 0, 3, far_buffer, LCI_DEFAULT_COMP_REMOTE, NULL));
      CHECK_OK(LCI_sync_wait(sync, NULL));
      CHECK(has_payload(copy, length, r, 2));
    }
    if (LCI_RANK == 0) {
      struct patience patience = {0, 0};
      while (LCI_queue_pop(LCI_UR_CQ, &request) == LCI_ERR_RETRY) step(&patience, LCI_UR_DEVICE, "a put");
      check_request(&request, r, 2, NULL);
      AGAIN(LCI_sends(LCI_UR_ENDPOINT, short_of(0), r, 7));
      while (LCI_queue_pop(LCI_UR_CQ, &request) == LCI_ERR_RETRY) step(&patience, LCI_UR_DEVICE, "a get");
      check_request(&request, r, 3, NULL);
    }
    CHECK_OK(LCI_barrier());
  }
  CHECK_OK(LCI_sync_free(&sync));
  CHECK_OK(LCI_memory_deregister(&far_segment));
  CHECK_OK(LCI_memory_deregister(&segment));
  free(area);
  free(copy);
}

/* --- one thread makes progress, others post and wait --- */

static LCI_endpoint_t endpoint;
static int stop, posted_per_thread;

static void* make_progress(void* unused) {
  (void)unused;
  case_is("the progress thread");
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
    LCI_error_t code = LCI_progress(LCI_UR_DEVICE);
    CHECK(code == LCI_OK || code == LCI_ERR_RETRY);
  }
  return NULL;
}

/* Never calls LCI_progress() itself. */
#define WHILE_RETRY(call)                                               \
  do {                                                                  \
    LCI_error_t code_;                                                  \
    while ((code_ = (call)) == LCI_ERR_RETRY) nanosleep(&moment, NULL); \
    CHECK_EQ(code_, LCI_OK);                                            \
  } while (0)

static void* post_and_wait(void* argument) {
  const struct timespec moment = {0, 1000};
  const int me = *(int*)argument;
  const int to = rank_at(me);
  const int from = rank_at(-me);
  char mine[3000], into[3000];
  LCI_comp_t sync = NULL;
  LCI_request_t requests[3];
  int i;
  case_is("thread %d beside a progress thread", me);
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 3, &sync));
  for (i = 0; i < posted_per_thread; ++i) {
    const LCI_tag_t tag = (LCI_tag_t)(me * 0x1000 + i % 0x1000);
    memcpy(mine, payload(LCI_RANK, tag), sizeof mine);
    memset(into, UNTOUCHED, sizeof into);
    WHILE_RETRY(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, into, sizeof into), from, tag, sync, into));
    WHILE_RETRY(LCI_recvs(endpoint, from, tag, sync, &sync));
    WHILE_RETRY(LCI_sendl(endpoint, long_of(LCI_SEGMENT_ALL, mine, sizeof mine), to, tag, sync, mine));
    WHILE_RETRY(LCI_sends(endpoint, short_of(tag), to, tag));
    CHECK_OK(LCI_sync_wait(sync, requests));
    CHECK(has_payload(into, sizeof into, from, tag));
  }
  CHECK_OK(LCI_sync_free(&sync));
  return NULL;
}

static void progress_thread(void) {
  pthread_t progressing_thread, posting[POSTING_THREADS];
  int numbers[POSTING_THREADS], t;
  posted_per_thread = whole ? 3000 : 200;
  endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_SYNC, LCI_COMPLETION_SYNC, NULL);
  stop = 0;
  if (pthread_create(&progressing_thread, NULL, make_progress, NULL) != 0) give_up("a thread");
  for (t = 0; t < POSTING_THREADS; ++t) {
    numbers[t] = t;
    if (pthread_create(&posting[t], NULL, post_and_wait, &numbers[t]) != 0) give_up("a thread");
  }
  for (t = 0; t < POSTING_THREADS; ++t) pthread_join(posting[t], NULL);
  /* Others may still need this rank: its progress thread goes on until all ranks have said that they are done. */
  {
    const struct timespec moment = {0, 1000};
    LCI_comp_t sync = NULL;
    int r;
    CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, LCI_NUM_PROCESSES, &sync));
    for (r = 0; r < LCI_NUM_PROCESSES; ++r) WHILE_RETRY(LCI_recvs(endpoint, r, 0xffff, sync, NULL));
    for (r = 0; r < LCI_NUM_PROCESSES; ++r) WHILE_RETRY(LCI_sends(endpoint, short_of(0), r, 0xffff));
    CHECK_OK(LCI_sync_wait(sync, NULL));
    CHECK_OK(LCI_sync_free(&sync));
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  pthread_join(progressing_thread, NULL);
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&endpoint));
}

void progressing(void) {
  results();
  passive_target();
  if (!RANKS_ARE_THREADS) progress_thread();
}
