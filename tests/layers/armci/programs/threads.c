/* Several threads of each process use all kinds of operations at once: those of a thread are ordered, and sums and
 * locks are exact. */
#include <armci.h>
#include <message.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, ROUNDS = 60, ELEMENTS = 2000 };
static int me, np;
static double **parts, **sums;
static long** counters; /* of each process: one for fetch-and-add, and one for each of its two mutexes */

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%d: line %d: %s\n", me, __LINE__, #condition); \
      ARMCI_Error("threads", __LINE__);                               \
    }                                                                 \
  } while (0)

static void* work(void* number) {
  const int thread = (int)(intptr_t)number;
  double source[ELEMENTS], got[ELEMENTS], one = 1;
  int i, k;
  for (i = 0; i < ROUNDS; i++) {
    const int proc = (me + i) % np, n = (i * 97) % ELEMENTS + 1, mutex = thread % 2;
    double* const mine = parts[proc] + (me * THREADS + thread) * ELEMENTS;
    int stride = 16 * 8, count[2] = {64, ELEMENTS / 16}, bytes = sizeof one;
    long old, under_lock;
    armci_hdl_t read, added;
    for (k = 0; k < n; k++) source[k] = i * 1000 + k + thread;
    CHECK(ARMCI_Put(source, mine, n * 8, proc) == 0);
    CHECK(ARMCI_Get(mine, got, n * 8, proc) == 0);
    CHECK(memcmp(source, got, (size_t)n * 8) == 0);
    for (k = 0; k < ELEMENTS; k++) source[k] = k + i;
    CHECK(ARMCI_PutS(source, &stride, mine, &stride, count, 1, proc) == 0);
    ARMCI_INIT_HANDLE(&read);
    ARMCI_INIT_HANDLE(&added);
    CHECK(ARMCI_NbGetS(mine, &stride, got, &stride, count, 1, proc, &read) == 0);
    CHECK(ARMCI_NbAccS(ARMCI_ACC_DBL, &one, &one, NULL, sums[proc], NULL, &bytes, 0, proc, &added) == 0);
    CHECK(ARMCI_Wait(&added) == 0);
    CHECK(ARMCI_Wait(&read) == 0);
    for (k = 0; k < ELEMENTS / 16; k++) CHECK(got[k * 16 + 7] == k * 16 + 7 + i);
    CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old, counters[proc], 1, proc) == 0);
    ARMCI_Lock(mutex, proc);
    CHECK(ARMCI_Get(counters[proc] + 1 + mutex, &under_lock, sizeof under_lock, proc) == 0);
    ++under_lock;
    CHECK(ARMCI_Put(&under_lock, counters[proc] + 1 + mutex, sizeof under_lock, proc) == 0);
    ARMCI_Unlock(mutex, proc);
    if (i % 20 == 0) CHECK(ARMCI_Fence(proc) == 0);
    if (i % 30 == 0) CHECK(ARMCI_WaitAll() == 0);
  }
  CHECK(ARMCI_AllFence() == 0);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  long count;
  double sum;
  int t;
  ARMCI_Init_args(&argc, &argv);
  me = armci_msg_me();
  np = armci_msg_nproc();
  parts = malloc((size_t)np * sizeof *parts);
  sums = malloc((size_t)np * sizeof *sums);
  counters = malloc((size_t)np * sizeof *counters);
  CHECK(ARMCI_Malloc((void**)parts, np * THREADS * ELEMENTS * 8) == 0);
  CHECK(ARMCI_Malloc((void**)sums, sizeof(double)) == 0);
  CHECK(ARMCI_Malloc((void**)counters, 3 * sizeof(long)) == 0);
  memset(counters[me], 0, 3 * sizeof(long));
  sums[me][0] = 0;
  CHECK(ARMCI_Create_mutexes(2) == 0);
  ARMCI_Barrier();
  for (t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void*)(intptr_t)t);
  for (t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
  ARMCI_Barrier();
  count = counters[me][0];
  armci_msg_lgop(&count, 1, "+");
  CHECK(count == (long)np * THREADS * ROUNDS);
  count = counters[me][1] + counters[me][2];
  armci_msg_lgop(&count, 1, "+");
  CHECK(count == (long)np * THREADS * ROUNDS);
  sum = sums[me][0];
  armci_msg_dgop(&sum, 1, "+");
  CHECK(sum == (double)np * THREADS * ROUNDS);
  CHECK(ARMCI_Destroy_mutexes() == 0);
  CHECK(ARMCI_Free(parts[me]) == 0);
  CHECK(ARMCI_Free(sums[me]) == 0);
  CHECK(ARMCI_Free(counters[me]) == 0);
  free(parts);
  free(sums);
  free(counters);
  if (me == 0) printf("cases: 1 passed, 0 failed, 0 skipped\n");
  ARMCI_Finalize();
  return 0;
}
