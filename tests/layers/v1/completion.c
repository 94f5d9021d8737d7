/* Queues, synchronizers and handlers: waits of several threads, reuse, verbatim requests. One rank. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <time.h>

#include "tests/layers/v1/check.h"

static LCI_request_t with_tag(LCI_tag_t tag) {
  LCI_request_t r;
  memset(&r, 0xa5, sizeof r);
  r.tag = tag;
  return r;
}

static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void sleep_ms(long ms) {
  struct timespec t;
  t.tv_sec = ms / 1000;
  t.tv_nsec = ms % 1000 * 1000000;
  nanosleep(&t, NULL);
}

/* What a program passes to LCI_sync_signal() comes out as it is. */
static void verbatim(void) {
  LCI_comp_t sync;
  LCI_request_t in[3], out[3];
  int i, k, seen = 0;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 3, &sync) == LCI_OK);
  for (i = 0; i < 3; ++i) {
    CHECK(LCI_sync_test(sync, out) == LCI_ERR_RETRY);
    memset(&in[i], 0x11 * (i + 1), sizeof in[i]);
    CHECK(LCI_sync_signal(sync, in[i]) == LCI_OK);
  }
  CHECK(LCI_sync_test(sync, out) == LCI_OK);
  for (i = 0; i < 3; ++i)
    for (k = 0; k < 3; ++k)
      if (memcmp(&in[i], &out[k], sizeof in[i]) == 0) seen |= 1 << i;
  CHECK(seen == 7);
  CHECK(LCI_sync_test(sync, NULL) == LCI_ERR_RETRY);
  for (i = 0; i < 3; ++i) LCI_sync_signal(sync, in[i]);
  CHECK(LCI_sync_wait(sync, NULL) == LCI_OK);
  CHECK(LCI_sync_free(&sync) == LCI_OK);
}

/* One synchronizer for a million messages. */
static void million(void) {
  LCI_comp_t sync;
  LCI_request_t r;
  LCI_short_t s;
  unsigned i, got;
  memset(&s, 0, sizeof s);
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync) == LCI_OK);
  for (i = 0; i < 1000000; ++i) {
    LCI_error_t code;
    memcpy(&s, &i, sizeof i);
    while (LCI_recvs(LCI_UR_ENDPOINT, 0, i & 0xffff, sync, NULL) != LCI_OK) LCI_progress(LCI_UR_DEVICE);
    while (LCI_sends(LCI_UR_ENDPOINT, s, 0, i & 0xffff) != LCI_OK) LCI_progress(LCI_UR_DEVICE);
    while ((code = LCI_sync_test(sync, &r)) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
    memcpy(&got, &r.data.immediate, sizeof got);
    if (code != LCI_OK || got != i || r.tag != (i & 0xffff) || r.flag != LCI_OK) break;
  }
  CHECK(i == 1000000);
  CHECK(LCI_sync_free(&sync) == LCI_OK);
}

#define WAITERS 4
static LCI_comp_t shared_queue;
static char taken[4000];
static double waited_time[WAITERS];
static void* wait_for_some(void* index) {
  LCI_request_t r;
  const double begin = processor_time();
  size_t i;
  for (i = 0; i < sizeof taken / WAITERS; ++i) {
    if (LCI_queue_wait(shared_queue, &r) != LCI_OK) return NULL;
    __sync_fetch_and_add(&taken[r.tag], 1);
  }
  waited_time[(size_t)index] = processor_time() - begin;
  return NULL;
}

static void put_tag(unsigned tag) {
  LCI_short_t s;
  memset(&s, 0, sizeof s);
  while (LCI_puts(LCI_UR_ENDPOINT, s, 0, tag, (uintptr_t)shared_queue) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
}

/* Each waiting thread gets other entries. `polls`: another thread makes progress; else the waiting threads do. */
static void several_wait(int polls) {
  pthread_t threads[WAITERS];
  size_t i;
  memset(taken, 0, sizeof taken);
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &shared_queue) == LCI_OK);
  for (i = 0; i < WAITERS; ++i) CHECK(pthread_create(&threads[i], NULL, wait_for_some, (void*)i) == 0);
  for (i = 0; i < sizeof taken; ++i) {
    put_tag((unsigned)i);
    if (polls) LCI_progress(LCI_UR_DEVICE);
  }
  if (polls) {
    size_t left = 1;
    while (left > 0) {
      left = 0;
      LCI_progress(LCI_UR_DEVICE);
      for (i = 0; i < sizeof taken; ++i) left += __sync_fetch_and_add(&taken[i], 0) == 0;
    }
  }
  for (i = 0; i < WAITERS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  for (i = 0; i < sizeof taken; ++i) CHECK(taken[i] == 1);
  CHECK(LCI_queue_free(&shared_queue) == LCI_OK);
}

/* A thread that waits sleeps: it takes next to no processor time. */
static void asleep(int polls) {
  pthread_t threads[WAITERS];
  size_t i, n;
  int ms;
  memset(taken, 0, sizeof taken);
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &shared_queue) == LCI_OK);
  for (i = 0; i < WAITERS; ++i) CHECK(pthread_create(&threads[i], NULL, wait_for_some, (void*)i) == 0);
  for (ms = 0; ms < 500; ++ms) {
    sleep_ms(1);
    if (polls) LCI_progress(LCI_UR_DEVICE);
  }
  for (i = 0; i < sizeof taken; ++i) put_tag((unsigned)i);
  for (n = 0; polls && n < sizeof taken;) {
    LCI_progress(LCI_UR_DEVICE);
    for (n = 0; n < sizeof taken && __sync_fetch_and_add(&taken[n], 0) != 0;) ++n;
  }
  for (i = 0; i < WAITERS; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  for (i = 0; i < WAITERS; ++i) {
    if (waited_time[i] > 0.25) fprintf(stderr, "a waiting thread has taken %g s\n", waited_time[i]);
    CHECK(waited_time[i] < 0.25);
  }
  CHECK(LCI_queue_free(&shared_queue) == LCI_OK);
}

static void queue_of_many(void) {
  LCI_comp_t queue;
  LCI_request_t* r = malloc(1000 * sizeof *r);
  char seen[1000] = {0};
  size_t n = 7, i, total = 0;
  CHECK(LCI_queue_createx(NULL, 10, &queue) == LCI_OK);
  CHECK(LCI_queue_pop_multiple(queue, SIZE_MAX, r, &n) == LCI_OK && n == 0);
  shared_queue = queue;
  for (i = 0; i < 1000; ++i) put_tag((unsigned)i);
  while (total < 1000) {
    LCI_progress(LCI_UR_DEVICE);
    LCI_queue_len(queue, &total);
  }
  CHECK(total == 1000);
  CHECK(LCI_queue_pop_multiple(queue, 10, r, &n) == LCI_OK && n == 10);
  CHECK(LCI_queue_wait_multiple(queue, 490, r + 10) == LCI_OK);
  CHECK(LCI_queue_len(queue, &n) == LCI_OK && n == 500);
  for (total = 500; total < 1000; total += n) {
    CHECK(LCI_queue_pop_multiple(queue, SIZE_MAX, r + total, &n) == LCI_OK);
    if (n == 0) break;
  }
  CHECK(total == 1000);
  for (i = 0; i < 1000; ++i) ++seen[r[i].tag];
  for (i = 0; i < 1000; ++i) CHECK(seen[i] == 1);
  CHECK(LCI_queue_free(&queue) == LCI_OK);
  free(r);
}

/* A thread that signals wakes one that waits. */
static LCI_comp_t signalled;
static void* signal_later(void* unused) {
  sleep_ms(30);
  LCI_sync_signal(signalled, with_tag(77));
  return unused;
}
static void signal_wakes(void) {
  pthread_t thread;
  LCI_request_t r;
  CHECK(LCI_sync_create(NULL, 1, &signalled) == LCI_OK);
  CHECK(pthread_create(&thread, NULL, signal_later, NULL) == 0);
  CHECK(LCI_sync_wait(signalled, &r) == LCI_OK && r.tag == 77);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(LCI_sync_free(&signalled) == LCI_OK);
}

int main(int argc, char** argv) {
  const int short_run = argc > 1 && strcmp(argv[1], "short") == 0;
  if (LCI_initialize() != LCI_OK) return 1;
  verbatim();
  signal_wakes();
  queue_of_many();
  several_wait(0);
  several_wait(1);
  asleep(0);
  asleep(1);
  if (!short_run) million();
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("completion");
}
