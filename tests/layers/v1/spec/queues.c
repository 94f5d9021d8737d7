/* Section 4.7.2: completion queues. */
#include "tests/layers/v1/spec/spec.h"

#include <sched.h>
#include <time.h>

enum { WAITERS = 4, BIG = 64 };

static PER_RANK LCI_endpoint_t endpoint;
static PER_RANK LCI_comp_t queue;

/* Puts numbers [first, first + n) into the queue, from this rank, until it has `expected` entries. */
static void fill(int first, int n, size_t expected) {
  struct patience patience = {0, 0};
  size_t len = 0;
  int i;
  for (i = first; i < first + n; ++i)
    AGAIN(LCI_puts(endpoint, short_of((uint64_t)i), LCI_RANK, (LCI_tag_t)i, LCI_DEFAULT_COMP_REMOTE));
  do {
    CHECK_OK(LCI_queue_len(queue, &len));
    CHECK(len <= expected);
    if (len < expected) step(&patience, LCI_UR_DEVICE, "entries of a queue");
  } while (len < expected);
}

static size_t length_now(void) {
  size_t len = 12345;
  CHECK_OK(LCI_queue_len(queue, &len));
  return len;
}

/* Marks the entry's number as seen; each may be seen once. */
static void note(const LCI_request_t* request, char* seen, int n) {
  uint64_t number;
  check_request(request, LCI_RANK, request->tag, NULL);
  CHECK_EQ(request->type, LCI_IMMEDIATE);
  number = number_in(request);
  CHECK_EQ(number, request->tag);
  CHECK(number < (uint64_t)n);
  if (number < (uint64_t)n) CHECK_EQ(__atomic_fetch_add(&seen[number], 1, __ATOMIC_RELAXED), 0);
}

static void pops(void) {
  LCI_request_t request, untouched;
  char seen[BIG] = {0};
  int i;
  case_is("pop");
  memset(&request, 0x77, sizeof request);
  untouched = request;
  CHECK_EQ(LCI_queue_pop(queue, &request), LCI_ERR_RETRY);
  CHECK(memcmp(&request, &untouched, sizeof request) == 0);
  fill(0, BIG, BIG);
  for (i = 0; i < BIG; ++i) {
    CHECK_EQ(length_now(), BIG - i);
    CHECK_OK(LCI_queue_pop(queue, &request));
    note(&request, seen, BIG);
  }
  CHECK_EQ(LCI_queue_pop(queue, &request), LCI_ERR_RETRY);
  CHECK_EQ(length_now(), 0);
}

static void pops_of_many(void) {
  static const struct {
    int entries;
    size_t asked, got;
  } cases[] = {{0, 0, 0}, {0, 1, 0}, {0, SIZE_MAX, 0},        {1, 0, 0},           {1, 1, 1}, {1, 9, 1}, {7, 3, 3},
               {7, 7, 7}, {7, 8, 7}, {BIG, BIG - 1, BIG - 1}, {BIG, SIZE_MAX, BIG}};
  size_t i, k;
  for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
    LCI_request_t requests[BIG + 1], rest[BIG + 1], untouched;
    char seen[BIG] = {0};
    size_t count = 777;
    case_is("pop_multiple: %zu of %d entries", cases[i].asked, cases[i].entries);
    memset(requests, 0x77, sizeof requests);
    memset(&untouched, 0x77, sizeof untouched);
    fill(0, cases[i].entries, (size_t)cases[i].entries);
    CHECK_OK(LCI_queue_pop_multiple(queue, cases[i].asked, requests, &count));
    CHECK_EQ(count, cases[i].got);
    for (k = 0; k < count; ++k) note(&requests[k], seen, BIG);
    CHECK(memcmp(&requests[cases[i].got], &untouched, sizeof untouched) == 0);
    CHECK_EQ(length_now(), (size_t)cases[i].entries - cases[i].got);
    CHECK_OK(LCI_queue_pop_multiple(queue, BIG, rest, &count));
    CHECK_EQ(count, (size_t)cases[i].entries - cases[i].got);
    for (k = 0; k < count; ++k) note(&rest[k], seen, BIG);
  }
}

static void waits(void) {
  static const int counts[] = {1, 2, 5, BIG};
  size_t i;
  int k;
  for (i = 0; i < sizeof counts / sizeof *counts; ++i) {
    LCI_request_t requests[BIG + 1], untouched;
    char seen[BIG] = {0};
    case_is("waits for %d entries, which are there or arrive during the wait", counts[i]);
    memset(&untouched, 0x77, sizeof untouched);
    fill(0, counts[i] / 2, (size_t)counts[i] / 2);
    for (k = counts[i] / 2; k < counts[i]; ++k)
      AGAIN(LCI_puts(endpoint, short_of((uint64_t)k), LCI_RANK, (LCI_tag_t)k, LCI_DEFAULT_COMP_REMOTE));
    memset(requests, 0x77, sizeof requests);
    CHECK_OK(LCI_queue_wait_multiple(queue, (size_t)counts[i], requests));
    for (k = 0; k < counts[i]; ++k) note(&requests[k], seen, BIG);
    CHECK(memcmp(&requests[counts[i]], &untouched, sizeof untouched) == 0);
    CHECK_EQ(length_now(), 0);
    AGAIN(LCI_puts(endpoint, short_of(1), LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE));
    CHECK_OK(LCI_queue_wait(queue, &requests[0]));
    CHECK_EQ(number_in(&requests[0]), 1);
  }
  case_is("a wait for no entry");
  CHECK_OK(LCI_queue_wait_multiple(queue, 0, NULL));
}

/* More entries than any initial size. */
static void growth(void) {
  const int n = whole ? LCI_DEFAULT_QUEUE_LENGTH + 1000 : 5000;
  const int many = n < 60000 ? n : 60000; /* numbers are tags, too */
  char* seen = calloc((size_t)many, 1);
  LCI_request_t request;
  int i;
  case_is("%d entries at a time", many);
  if (!seen) give_up("memory");
  fill(0, many, (size_t)many);
  for (i = 0; i < many; ++i) {
    CHECK_OK(LCI_queue_pop(queue, &request));
    note(&request, seen, many);
  }
  CHECK_EQ(LCI_queue_pop(queue, &request), LCI_ERR_RETRY);
  free(seen);
}

/* One queue for two endpoints, with local completions of a send and a receive as well. */
static void shared_by_endpoints(void) {
  LCI_endpoint_t other = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_TAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, queue);
  char text[] = "long", into[8];
  LCI_request_t request;
  int i, seen[4] = {0, 0, 0, 0};
  case_is("a queue of two endpoints");
  AGAIN(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, into, sizeof into), LCI_RANK, 2, queue, into));
  AGAIN(LCI_sendl(endpoint, long_of(LCI_SEGMENT_ALL, text, sizeof text), LCI_RANK, 2, queue, text));
  AGAIN(LCI_puts(endpoint, short_of(0), LCI_RANK, 0, LCI_DEFAULT_COMP_REMOTE));
  AGAIN(LCI_puts(other, short_of(1), LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE));
  for (i = 0; i < 4; ++i) {
    CHECK_OK(LCI_queue_wait(queue, &request));
    if (request.type == LCI_IMMEDIATE)
      ++seen[number_in(&request) & 1];
    else if (request.user_context == into || request.user_context == text)
      ++seen[request.user_context == into ? 2 : 3];
  }
  for (i = 0; i < 4; ++i) CHECK_EQ(seen[i], 1);
  CHECK(strcmp(into, text) == 0);
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&other));
}

/* --- several waiters --- */

static char seen_by_waiters[WAITERS * 8];
static int waiters_done;

struct waiting {
  int entries; /* that it waits for */
  int at_once;
  double cpu_seconds;
};

static void* wait_in_thread(void* argument) {
  struct waiting* waiting = argument;
  const double before = cpu_seconds_of_thread();
  LCI_request_t requests[8];
  int i;
  case_is("a thread waits for %d entries%s", waiting->entries, waiting->at_once ? " at once" : "");
  if (waiting->at_once) {
    CHECK_OK(LCI_queue_wait_multiple(queue, (size_t)waiting->entries, requests));
  } else {
    for (i = 0; i < waiting->entries; ++i) CHECK_OK(LCI_queue_wait(queue, &requests[i]));
  }
  for (i = 0; i < waiting->entries; ++i) note(&requests[i], seen_by_waiters, (int)sizeof seen_by_waiters);
  waiting->cpu_seconds = cpu_seconds_of_thread() - before;
  __atomic_add_fetch(&waiters_done, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void waiters(void) {
  struct waiting waiting[WAITERS];
  pthread_t threads[WAITERS];
  int t, round;
  for (round = 0; round < (whole ? 50 : 5); ++round) {
    struct patience patience = {0, 0};
    int all = 0;
    memset(seen_by_waiters, 0, sizeof seen_by_waiters);
    waiters_done = 0;
    for (t = 0; t < WAITERS; ++t) {
      waiting[t].entries = 1 + (t + round) % 3;
      waiting[t].at_once = 0;
      all += waiting[t].entries;
      if (pthread_create(&threads[t], NULL, wait_in_thread, &waiting[t]) != 0) give_up("a thread");
    }
    case_is("%d threads wait for %d entries, round %d", WAITERS, all, round);
    for (t = 0; t < all; ++t)
      AGAIN(LCI_puts(endpoint, short_of((uint64_t)t), LCI_RANK, (LCI_tag_t)t, LCI_DEFAULT_COMP_REMOTE));
    /* This thread makes progress in half of the rounds; in the others the waiters do. */
    if (round % 2)
      while (__atomic_load_n(&waiters_done, __ATOMIC_RELAXED) < WAITERS)
        step(&patience, LCI_UR_DEVICE, "all waiting threads");
    for (t = 0; t < WAITERS; ++t) pthread_join(threads[t], NULL);
    for (t = 0; t < all; ++t) CHECK_EQ(seen_by_waiters[t], 1);
    CHECK_EQ(length_now(), 0);
  }
}

/* Waits deschedule the calling thread. */
static void asleep(void) {
  const double pause = 0.3;
  struct waiting waiting[2];
  pthread_t threads[2];
  double end;
  int t;
  case_is("two threads wait in vain for %g s", pause);
  memset(seen_by_waiters, 0, sizeof seen_by_waiters);
  for (t = 0; t < 2; ++t) {
    waiting[t].entries = 1 + t;
    waiting[t].at_once = t;
    if (pthread_create(&threads[t], NULL, wait_in_thread, &waiting[t]) != 0) give_up("a thread");
  }
  end = seconds_now() + pause;
  while (seconds_now() < end) {
    const struct timespec moment = {0, 10 * 1000 * 1000};
    nanosleep(&moment, NULL);
  }
  for (t = 0; t < 3; ++t)
    AGAIN(LCI_puts(endpoint, short_of((uint64_t)t), LCI_RANK, (LCI_tag_t)t, LCI_DEFAULT_COMP_REMOTE));
  for (t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  for (t = 0; t < 2; ++t) {
    CHECK(waiting[t].cpu_seconds < pause / 2);
    if (waiting[t].cpu_seconds >= pause / 2) fprintf(stderr, "%g s\n", waiting[t].cpu_seconds);
  }
  for (t = 0; t < 3; ++t) CHECK_EQ(seen_by_waiters[t], 1);
}

static void start_waiting(pthread_t* thread, struct waiting* waiting, int entries) {
  waiting->entries = entries;
  waiting->at_once = 1;
  if (pthread_create(thread, NULL, wait_in_thread, waiting) != 0) give_up("a thread");
}

static void progress_for(double seconds) {
  const double end = seconds_now() + seconds;
  while (seconds_now() < end)
    if (progress_on(LCI_UR_DEVICE) != LCI_OK) sched_yield();
}

static void put_number(int number) {
  AGAIN(LCI_puts(endpoint, short_of((uint64_t)number), LCI_RANK, (LCI_tag_t)number, LCI_DEFAULT_COMP_REMOTE));
  progress_for(0.02);
}

static void await_waiters(int number) {
  struct patience patience = {0, 0};
  while (__atomic_load_n(&waiters_done, __ATOMIC_RELAXED) < number)
    step(&patience, LCI_UR_DEVICE, "a thread that waits for as many entries as there are");
}

/* A wait for several entries takes all of them or none: entries that are too few stay for others. */
static void all_or_none(void) {
  struct waiting waiting[2];
  pthread_t threads[2];
  LCI_request_t request;
  int t;
  memset(seen_by_waiters, 0, sizeof seen_by_waiters);
  waiters_done = 0;
  case_is("an entry, while a thread waits for three");
  start_waiting(&threads[0], &waiting[0], 3);
  progress_for(0.02);
  put_number(0);
  CHECK_EQ(length_now(), 1);
  if (length_now() == 1) {
    CHECK_OK(LCI_queue_wait(queue, &request));
    note(&request, seen_by_waiters, (int)sizeof seen_by_waiters);
  }
  CHECK_EQ(length_now(), 0);
  CHECK_EQ(__atomic_load_n(&waiters_done, __ATOMIC_RELAXED), 0);

  case_is("six entries, while two threads wait for three each");
  start_waiting(&threads[1], &waiting[1], 3);
  progress_for(0.02);
  for (t = 1; t <= 3; ++t) put_number(t);
  await_waiters(1);
  CHECK_EQ(__atomic_load_n(&waiters_done, __ATOMIC_RELAXED), 1);
  for (t = 4; t <= 6; ++t) put_number(t);
  await_waiters(2);
  for (t = 0; t < 2; ++t) pthread_join(threads[t], NULL);
  for (t = 0; t <= 6; ++t) CHECK_EQ(seen_by_waiters[t], 1);
  CHECK_EQ(length_now(), 0);

  case_is("a thread waits for three entries, and sleeps although there is one");
  start_waiting(&threads[0], &waiting[0], 3);
  put_number(7);
  progress_for(0.3);
  for (t = 8; t <= 9; ++t) put_number(t);
  pthread_join(threads[0], NULL);
  CHECK(waiting[0].cpu_seconds < 0.1);
  CHECK_EQ(length_now(), 0);
}

void queues(void) {
  LCI_comp_t of_no_device = NULL, other = NULL;
  case_is("create and free");
  CHECK_OK(LCI_queue_create(NULL, &of_no_device));
  CHECK_OK(LCI_queue_create(LCI_UR_DEVICE, &queue));
  CHECK_OK(LCI_queue_createx(LCI_UR_DEVICE, 100000, &other));
  CHECK(of_no_device && queue && other && of_no_device != queue && queue != other && queue != LCI_UR_CQ);
  endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, queue);
  pops();
  pops_of_many();
  waits();
  growth();
  shared_by_endpoints();
  if (!RANKS_ARE_THREADS) {
    waiters();
    asleep();
    all_or_none();
  }
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&endpoint));
  CHECK_OK(LCI_queue_free(&queue));
  CHECK_OK(LCI_queue_free(&of_no_device));
  CHECK_OK(LCI_queue_free(&other));
  CHECK(queue == NULL && of_no_device == NULL && other == NULL);

  case_is("entries that nobody pops are freed with their queue");
  CHECK_OK(LCI_queue_create(NULL, &queue));
  endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, queue);
  fill(0, 10, 10);
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&endpoint));
  CHECK_OK(LCI_queue_free(&queue));
  CHECK(queue == NULL);

  case_is("LCI_UR_CQ is the default of LCI_UR_ENDPOINT");
  {
    LCI_request_t request;
    AGAIN(LCI_puts(LCI_UR_ENDPOINT, short_of(6), rank_at(1), 4, LCI_DEFAULT_COMP_REMOTE));
    CHECK_OK(LCI_queue_wait(LCI_UR_CQ, &request));
    check_request(&request, rank_at(-1), 4, NULL);
    CHECK_EQ(number_in(&request), 6);
  }
}
