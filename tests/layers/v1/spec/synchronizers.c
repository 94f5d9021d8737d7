/* Section 4.7.3: synchronizers. */
#include "tests/layers/v1/spec/spec.h"

#include <time.h>

enum { LARGEST_THRESHOLD = 300, SIGNALLERS = 4 };

/* A request of random bytes: it need not be valid, and is returned as it is. */
static LCI_request_t random_request(unsigned* seed) {
  LCI_request_t request;
  unsigned char* bytes = (unsigned char*)&request;
  size_t i;
  for (i = 0; i < sizeof request; ++i) {
    *seed = *seed * 1103515245u + 12345u;
    bytes[i] = (unsigned char)(*seed >> 16);
  }
  return request;
}

static int by_bytes(const void* a, const void* b) { return memcmp(a, b, sizeof(LCI_request_t)); }

/* Whether both have the same requests, in any order. */
static void check_same(LCI_request_t* a, LCI_request_t* b, int n) {
  qsort(a, (size_t)n, sizeof *a, by_bytes);
  qsort(b, (size_t)n, sizeof *b, by_bytes);
  CHECK(memcmp(a, b, sizeof *a * (size_t)n) == 0);
}

static PER_RANK LCI_request_t signalled[LARGEST_THRESHOLD], returned[LARGEST_THRESHOLD + 1];

/* It fires after `threshold` signals, not before, returns them verbatim, and is reset. */
static void fires_again(int threshold) {
  static const char* const ways[] = {"test", "wait", "test of NULL", "wait of NULL"};
  const int rounds = whole ? 2000 : threshold > 10 ? 20 : 200;
  LCI_request_t untouched;
  LCI_comp_t sync = NULL;
  unsigned seed = (unsigned)threshold;
  int round, i;
  memset(&untouched, 0x77, sizeof untouched);
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, threshold, &sync));
  CHECK(sync != NULL);
  for (round = 0; round < rounds; ++round) {
    const int way = round % 4;
    LCI_request_t* requests = way < 2 ? returned : NULL;
    case_is("threshold %d, round %d, %s", threshold, round, ways[way]);
    memset(returned, 0x77, sizeof returned);
    for (i = 0; i < threshold; ++i) {
      CHECK_EQ(LCI_sync_test(sync, requests), LCI_ERR_RETRY);
      signalled[i] = random_request(&seed);
      CHECK_OK(LCI_sync_signal(sync, signalled[i]));
    }
    CHECK_OK(way % 2 ? LCI_sync_wait(sync, requests) : LCI_sync_test(sync, requests));
    CHECK(memcmp(&returned[threshold], &untouched, sizeof untouched) == 0);
    if (requests)
      check_same(signalled, returned, threshold);
    else
      CHECK(memcmp(&returned[0], &untouched, sizeof untouched) == 0);
    CHECK_EQ(LCI_sync_test(sync, returned), LCI_ERR_RETRY);
  }
  CHECK_OK(LCI_sync_free(&sync));
  CHECK(sync == NULL);
}

/* Signals count together with communications. */
static void mixed(void) {
  LCI_comp_t sync = NULL;
  LCI_request_t mine, requests[3];
  struct patience patience = {0, 0};
  unsigned seed = 99;
  char text[] = "abc", into[4] = "";
  int i, sent = 0, received = 0, made = 0;
  case_is("a signal, a send and a receive");
  mine = random_request(&seed);
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 3, &sync));
  AGAIN(LCI_recvl(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, into, sizeof into), LCI_RANK, 1, sync, into));
  AGAIN(LCI_sendl(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, text, sizeof text), LCI_RANK, 1, sync, text));
  settle(LCI_UR_DEVICE);
  CHECK_EQ(LCI_sync_test(sync, requests), LCI_ERR_RETRY);
  CHECK_OK(LCI_sync_signal(sync, mine));
  while (LCI_sync_test(sync, requests) != LCI_OK) step(&patience, LCI_UR_DEVICE, "the third completion");
  for (i = 0; i < 3; ++i) {
    made += memcmp(&requests[i], &mine, sizeof mine) == 0;
    sent += requests[i].user_context == text;
    received += requests[i].user_context == into;
  }
  CHECK(made == 1 && sent == 1 && received == 1);
  CHECK(strcmp(into, text) == 0);
  CHECK_OK(LCI_sync_free(&sync));
}

/* --- threads --- */

static LCI_comp_t shared_sync;
static int rounds_of_threads;

static void* signal_in_thread(void* argument) {
  const int me = *(int*)argument;
  LCI_request_t request;
  memset(&request, 0, sizeof request);
  request.rank = me;
  CHECK_OK(LCI_sync_signal(shared_sync, request));
  return NULL;
}

/* All threads signal, one waits: it has a request of each. */
static void signallers(void) {
  pthread_t threads[SIGNALLERS];
  int numbers[SIGNALLERS], round, t;
  case_is("signals by %d threads", SIGNALLERS);
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, SIGNALLERS, &shared_sync));
  for (round = 0; round < (whole ? 500 : 50); ++round) {
    LCI_request_t requests[SIGNALLERS];
    int seen[SIGNALLERS] = {0};
    for (t = 0; t < SIGNALLERS; ++t) {
      numbers[t] = t;
      if (pthread_create(&threads[t], NULL, signal_in_thread, &numbers[t]) != 0) give_up("a thread");
    }
    CHECK_OK(LCI_sync_wait(shared_sync, requests));
    for (t = 0; t < SIGNALLERS; ++t) {
      CHECK(requests[t].rank >= 0 && requests[t].rank < SIGNALLERS);
      if (requests[t].rank >= 0 && requests[t].rank < SIGNALLERS) CHECK_EQ(seen[requests[t].rank]++, 0);
    }
    for (t = 0; t < SIGNALLERS; ++t) pthread_join(threads[t], NULL);
    CHECK_EQ(LCI_sync_test(shared_sync, NULL), LCI_ERR_RETRY);
  }
  CHECK_OK(LCI_sync_free(&shared_sync));
}

/* The same synchronizer, one signal after the other, to a thread that waits: none is lost in a reset. */
static void* wait_again_and_again(void* argument) {
  double* cpu_seconds = argument;
  const double before = cpu_seconds_of_thread();
  LCI_request_t request;
  int round;
  for (round = 0; round < rounds_of_threads; ++round) {
    case_is("wait number %d", round);
    CHECK_OK(LCI_sync_wait(shared_sync, &request));
    CHECK_EQ(request.tag, round);
    __atomic_store_n((int*)request.user_context, 1, __ATOMIC_RELEASE);
  }
  *cpu_seconds = cpu_seconds_of_thread() - before;
  return NULL;
}

static void refire_between_threads(int rounds, double pause) {
  pthread_t waiter;
  LCI_request_t request;
  double cpu_seconds = 0;
  int round, taken;
  case_is("%d signals to a waiting thread, one each %g s", rounds, pause);
  rounds_of_threads = rounds;
  memset(&request, 0, sizeof request);
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &shared_sync));
  if (pthread_create(&waiter, NULL, wait_again_and_again, &cpu_seconds) != 0) give_up("a thread");
  for (round = 0; round < rounds; ++round) {
    struct timespec moment = {0, 0};
    moment.tv_nsec = (long)(pause * 1e9);
    if (pause > 0) nanosleep(&moment, NULL);
    taken = 0;
    request.tag = (LCI_tag_t)round;
    request.user_context = &taken;
    CHECK_OK(LCI_sync_signal(shared_sync, request));
    {
      struct patience patience = {0, 0};
      while (!__atomic_load_n(&taken, __ATOMIC_ACQUIRE)) step(&patience, LCI_UR_DEVICE, "the waiting thread");
    }
  }
  pthread_join(waiter, NULL);
  if (pause > 0) CHECK(cpu_seconds < pause * rounds / 2); /* it is descheduled meanwhile */
  CHECK_OK(LCI_sync_free(&shared_sync));
}

/* A threshold may be as large as LCI_MAX_SYNC_LENGTH. */
static void largest(void) {
  LCI_comp_t sync = NULL;
  LCI_request_t request;
  int i;
  case_is("the largest threshold");
  memset(&request, 0, sizeof request);
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, LCI_MAX_SYNC_LENGTH, &sync));
  for (i = 0; i < 1000; ++i) CHECK_OK(LCI_sync_signal(sync, request));
  CHECK_EQ(LCI_sync_test(sync, NULL), LCI_ERR_RETRY);
  CHECK_OK(LCI_sync_free(&sync));
}

void synchronizers(void) {
  static const int thresholds[] = {1, 2, 3, 64, LARGEST_THRESHOLD};
  size_t i;
  CHECK(LCI_MAX_SYNC_LENGTH >= LARGEST_THRESHOLD);
  for (i = 0; i < sizeof thresholds / sizeof *thresholds; ++i) fires_again(thresholds[i]);
  largest();
  mixed();
  if (!RANKS_ARE_THREADS) {
    signallers();
    refire_between_threads(whole ? 20000 : 500, 0);
    refire_between_threads(2, 0.2);
  }
}
