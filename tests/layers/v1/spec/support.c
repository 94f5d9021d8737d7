/* Checks, waiting, payload. */
#include "tests/layers/v1/spec/spec.h"

#include <sched.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

enum { FAILURES_TO_PRINT = 40 };

PER_RANK int checks_done = 0, checks_failed = 0;
static __thread char current_case[240] = "";

void case_is(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(current_case, sizeof current_case, format, arguments);
  va_end(arguments);
}

static int counts_as_failure(int holds) {
  __atomic_add_fetch(&checks_done, 1, __ATOMIC_RELAXED);
  if (holds) return 0;
  return __atomic_add_fetch(&checks_failed, 1, __ATOMIC_RELAXED) <= FAILURES_TO_PRINT;
}

void check_at(int holds, const char* condition, const char* file, int line) {
  if (counts_as_failure(holds))
    fprintf(stderr, "%s:%d: rank %d: %s: %s is false\n", file, line, LCI_RANK, current_case, condition);
}

void check_equal_at(long long actual, long long expected, const char* text, const char* file, int line) {
  if (counts_as_failure(actual == expected))
    fprintf(stderr, "%s:%d: rank %d: %s: %s is false: %lld, not %lld\n", file, line, LCI_RANK, current_case, text,
            actual, expected);
}

void give_up(const char* missing) {
  fprintf(stderr, "rank %d: %s: no end of waiting for %s\n", LCI_RANK, current_case, missing);
  printf("cases: 0 passed, 1 failed, 0 skipped\n");
  fflush(NULL);
  _exit(1);
}

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double cpu_seconds_of_thread(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static PER_RANK pthread_mutex_t in_progress = PTHREAD_MUTEX_INITIALIZER;

PER_RANK int failures_allowed = 0, failures_seen = 0;

LCI_error_t progress_on(LCI_device_t device) {
  LCI_error_t code;
  if (pthread_mutex_trylock(&in_progress) != 0) return LCI_ERR_RETRY;
  code = LCI_progress(device);
  if (code == LCI_ERR_FATAL && failures_seen < failures_allowed) {
    ++failures_seen;
    code = LCI_OK;
  }
  pthread_mutex_unlock(&in_progress);
  CHECK(code == LCI_OK || code == LCI_ERR_RETRY);
  return code;
}

void step(struct patience* patience, LCI_device_t device, const char* what) {
  if (progress_on(device) != LCI_OK) sched_yield();
  if (++patience->turns % 256 != 0) return;
  if (patience->end == 0)
    patience->end = seconds_now() + SECONDS_OF_PATIENCE;
  else if (seconds_now() > patience->end)
    give_up(what);
}

void settle(LCI_device_t device) {
  int i;
  for (i = 0; i < 100; ++i)
    if (progress_on(device) != LCI_OK && i % 25 == 0) sched_yield();
}

/* --- ranks --- */

int rank_at(int distance) {
  const int rank = (LCI_RANK + distance) % LCI_NUM_PROCESSES;
  return rank < 0 ? rank + LCI_NUM_PROCESSES : rank;
}

/* --- payload: a part of one sequence of random bytes, which is the same in all ranks --- */

enum { PLACES = 4093 };
static char* sequence;
static pthread_once_t sequence_once = PTHREAD_ONCE_INIT;

size_t largest_message(void) { return (size_t)LCI_MEDIUM_SIZE * 1000 + 1; }

static void make_sequence(void) {
  size_t words = (largest_message() + PLACES) / 8 + 1, i;
  uint64_t state = 0x9e3779b97f4a7c15u;
  sequence = malloc(words * 8);
  if (!sequence) give_up("memory");
  for (i = 0; i < words; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    memcpy(sequence + i * 8, &state, 8);
  }
}

const char* payload(int rank, LCI_tag_t tag) {
  pthread_once(&sequence_once, make_sequence);
  return sequence + ((unsigned)rank * 1009u + tag * 13u) % PLACES;
}

int has_payload(const void* at, size_t length, int rank, LCI_tag_t tag) {
  return length == 0 || memcmp(at, payload(rank, tag), length) == 0;
}

int is_all(const void* at, size_t length, int byte) {
  const unsigned char* bytes = at;
  return length == 0 || (bytes[0] == (unsigned char)byte && memcmp(bytes, bytes + 1, length - 1) == 0);
}

LCI_short_t short_of(uint64_t number) {
  LCI_short_t value;
  int i;
  for (i = 0; i < LCI_SHORT_SIZE / 8; ++i) {
    uint64_t word = number * (uint64_t)(i + 1);
    memcpy(value.val + i * 8, &word, 8);
  }
  return value;
}

uint64_t number_in(const LCI_request_t* request) {
  uint64_t number;
  LCI_short_t expected;
  memcpy(&number, request->data.immediate.val, 8);
  expected = short_of(number);
  CHECK(memcmp(&expected, &request->data.immediate, LCI_SHORT_SIZE) == 0);
  return number;
}

LCI_mbuffer_t medium_of(const void* address, size_t length) {
  LCI_mbuffer_t buffer;
  buffer.address = (void*)(uintptr_t)address;
  buffer.length = length;
  return buffer;
}

LCI_lbuffer_t long_of(LCI_segment_t segment, const void* address, size_t length) {
  LCI_lbuffer_t buffer;
  buffer.segment = segment;
  buffer.address = (void*)(uintptr_t)address;
  buffer.length = length;
  return buffer;
}

LCI_error_t fill_packet(LCI_mbuffer_t* packet, const void* source, size_t length) {
  LCI_error_t code;
  if (packet->address) return LCI_OK;
  code = LCI_mbuffer_alloc(LCI_UR_DEVICE, packet);
  if (code != LCI_OK) {
    packet->address = NULL;
    return code;
  }
  CHECK_EQ(packet->length, LCI_MEDIUM_SIZE);
  memcpy(packet->address, source, length);
  packet->length = length;
  return LCI_OK;
}

LCI_error_t packet_sent(LCI_mbuffer_t* packet, LCI_error_t code, LCI_tag_t tag) {
  if (code == LCI_OK)
    packet->address = NULL;
  else /* the buffer is still the caller's */
    CHECK(has_payload(packet->address, packet->length, LCI_RANK, tag));
  return code;
}

void check_request(const LCI_request_t* request, int rank, LCI_tag_t tag, const void* user_context) {
  CHECK_EQ(request->flag, LCI_OK);
  CHECK_EQ(request->rank, rank);
  CHECK_EQ(request->tag, tag);
  CHECK(request->user_context == user_context);
}

/* --- products --- */

static unsigned long common_divisor(unsigned long a, unsigned long b) {
  while (b != 0) {
    unsigned long rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

void each_case(const struct axis* axes, int n, unsigned long some, struct worker* worker,
               void (*run)(struct worker* worker, const int* values)) {
  unsigned long product = 1, stride, i;
  int values[MAX_AXES], a;
  for (a = 0; a < n; ++a) product *= (unsigned long)axes[a].values;
  some /= (unsigned long)(worker_count > 1 ? worker_count : 1); /* threads have cases of their own */
  stride = whole || some >= product ? 1 : product / some;
  while (common_divisor(stride, product) != 1) ++stride;
  for (i = 0; i < product; i += stride) {
    unsigned long rest = i;
    for (a = 0; a < n; ++a) {
      values[a] = (int)(rest % (unsigned long)axes[a].values);
      rest /= (unsigned long)axes[a].values;
    }
    run(worker, values);
  }
}
