/* What public versions added (LCI_barrier(), collective operations), and what docs/guide/lci-v1.md promises beyond the
 * specification: unknown remote completion objects, truncated messages. */
#include "tests/layers/v1/spec/spec.h"

#include <time.h>

enum { LATE_MS = 40 };

/* No rank leaves it before all have entered. The ranks share a clock. */
static void barriers(void) {
  int late;
  for (late = 0; late < LCI_NUM_PROCESSES; ++late) {
    double times[2], all[64][2];
    int r;
    case_is("a barrier, to which rank %d is late", late);
    if (LCI_RANK == late) {
      const struct timespec moment = {0, LATE_MS * 1000 * 1000};
      nanosleep(&moment, NULL);
    }
    times[0] = seconds_now();
    CHECK_OK(LCI_barrier());
    times[1] = seconds_now();
    exchange(times, all, sizeof times);
    for (r = 0; r < LCI_NUM_PROCESSES; ++r) CHECK(all[r][0] <= times[1]);
  }
}

/* Progress until it has failed `n` times in all. */
static void progress_fails(int n) {
  struct patience patience = {0, 0};
  while (failures_seen < n) step(&patience, LCI_UR_DEVICE, "an error of LCI_progress()");
}

static LCI_error_t put_to(int to, uintptr_t remote_completion) {
  struct patience patience = {0, 0};
  LCI_error_t code;
  while ((code = LCI_puts(LCI_UR_ENDPOINT, short_of(1), to, 1, remote_completion)) == LCI_ERR_RETRY)
    step(&patience, LCI_UR_DEVICE, "a put");
  return code;
}
static LCI_error_t put_long_to(int to, uintptr_t remote_completion, LCI_comp_t comp, char* text, size_t length) {
  struct patience patience = {0, 0};
  LCI_error_t code;
  while ((code = LCI_putla(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, text, length), comp, to, 2, remote_completion,
                           text)) == LCI_ERR_RETRY)
    step(&patience, LCI_UR_DEVICE, "a put");
  return code;
}

/* A number that names no completion object at the target, or no more, is an error there, and nothing else breaks. */
static void unknown_remote_completion(void) {
  const int to = rank_at(1);
  const int from = rank_at(-1);
  LCI_comp_t freed = NULL, sync = NULL;
  LCI_request_t request;
  uint64_t numbers[3], all[64][3];
  char text[40000];
  int i, failures = 0;
  CHECK_OK(LCI_queue_create(LCI_UR_DEVICE, &freed));
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync));
  numbers[0] = 0x12345678;
  numbers[1] = (uintptr_t)text; /* an address, but none of a completion object */
  numbers[2] = (uintptr_t)freed;
  CHECK_OK(LCI_queue_free(&freed));
  exchange(numbers, all, sizeof numbers);
  for (i = 0; i < 3; ++i) {
    case_is("puts to an unknown completion object, %d", i);
    /* Either the caller can know that no process has such a number, or the target says so. */
    if (put_to(to, (uintptr_t)all[to][i]) == LCI_ERR_FATAL) {
      CHECK(i < 2);
      --failures_allowed;
    } else {
      progress_fails(++failures);
    }
    handshake(from, to);
    handshake(to, from);
    case_is("putla to an unknown completion object, %d", i);
    memset(text, 'a', sizeof text);
    if (put_long_to(to, (uintptr_t)all[to][i], sync, text, sizeof text) == LCI_ERR_FATAL) {
      CHECK(i < 2);
      --failures_allowed;
      handshake(from, to);
      handshake(to, from);
      continue;
    }
    progress_fails(++failures);
    {
      struct patience patience = {0, 0};
      while (LCI_sync_test(sync, &request) != LCI_OK) step(&patience, LCI_UR_DEVICE, "a failed putla");
    }
    CHECK_EQ(request.flag, LCI_ERR_FATAL);
    CHECK_EQ(request.rank, to);
    CHECK_EQ(request.tag, 2);
    CHECK(request.user_context == text);
    handshake(from, to);
    handshake(to, from);
  }
  CHECK_EQ(failures_seen, failures_allowed);
  case_is("a put afterwards");
  AGAIN(LCI_puts(LCI_UR_ENDPOINT, short_of(3), to, 3, LCI_DEFAULT_COMP_REMOTE));
  CHECK_OK(LCI_queue_wait(LCI_UR_CQ, &request));
  check_request(&request, from, 3, NULL);
  CHECK_OK(LCI_sync_free(&sync));
}

/* A message that is longer than its receive's buffer. */
static void truncated(void) {
  enum { CAPACITY = 100 };
  const size_t lengths[] = {CAPACITY + 1, 4000, 300000};
  char into[CAPACITY + GUARD];
  LCI_comp_t sync = NULL;
  LCI_request_t request;
  size_t i;
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync));
  for (i = 0; i < 4; ++i) {
    const size_t length = lengths[i % 3];
    const int is_long = i > 0;
    const int to = rank_at(1);
    const int from = rank_at(-1);
    case_is("%zu bytes to a buffer of %d, %s", length, CAPACITY, is_long ? "recvl" : "recvm");
    memset(into, UNTOUCHED, sizeof into);
    if (is_long)
      AGAIN(LCI_recvl(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, into, CAPACITY), from, 4, sync, into));
    else
      AGAIN(LCI_recvm(LCI_UR_ENDPOINT, medium_of(into, CAPACITY), from, 4, sync, into));
    if (is_long)
      AGAIN(LCI_sendl(LCI_UR_ENDPOINT, long_of(LCI_SEGMENT_ALL, payload(LCI_RANK, 4), length), to, 4, NULL, NULL));
    else
      AGAIN(LCI_sendm(LCI_UR_ENDPOINT, medium_of(payload(LCI_RANK, 4), length), to, 4));
    CHECK_OK(LCI_sync_wait(sync, &request));
    CHECK_EQ(request.flag, LCI_ERR_FATAL);
    CHECK_EQ(request.rank, from);
    CHECK_EQ(request.tag, 4);
    CHECK(request.user_context == into);
    CHECK(is_all(into + CAPACITY, GUARD, UNTOUCHED));
    CHECK_OK(LCI_gfence_wait(LCI_UR_ENDPOINT));
  }
  CHECK_OK(LCI_sync_free(&sync));
}

void extras(void) {
  failures_allowed = 6; /* of unknown_remote_completion(): the previous rank may be there before this one */
  barriers();
  unknown_remote_completion();
  truncated();
  case_is("the specification's parameter types in C99");
  document_c99();
#if !RANKS_ARE_THREADS
  case_is("the specification's parameter types in C11");
  document_c11();
#endif
}
