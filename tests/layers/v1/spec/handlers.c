/* Section 4.7.4: handlers. */
#include "tests/layers/v1/spec/spec.h"

enum { MESSAGES = 50 };

static PER_RANK LCI_request_t last;
static PER_RANK int calls_of_first, calls_of_second;
static PER_RANK unsigned char times[MESSAGES];

static void first(LCI_request_t request) {
  last = request;
  __atomic_add_fetch(&calls_of_first, 1, __ATOMIC_RELAXED);
}
static void second(LCI_request_t request) {
  if (request.tag < MESSAGES) ++times[request.tag];
  __atomic_add_fetch(&calls_of_second, 1, __ATOMIC_RELAXED);
}

static void wait_for(const int* calls, int n) {
  struct patience patience = {0, 0};
  while (__atomic_load_n(calls, __ATOMIC_RELAXED) < n) step(&patience, LCI_UR_DEVICE, "a handler");
  settle(LCI_UR_DEVICE);
  CHECK_EQ(*calls, n);
}

void handlers(void) {
  LCI_comp_t one = NULL, two = NULL;
  LCI_endpoint_t endpoint, other;
  char text[] = "handled", into[8] = "";
  const int to = rank_at(1);
  const int from = rank_at(-1);
  int i;
  case_is("two handlers");
  CHECK_OK(LCI_handler_create(LCI_UR_DEVICE, first, &one));
  CHECK_OK(LCI_handler_create(LCI_UR_DEVICE, second, &two));
  CHECK(one && two && one != two);
  endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_HANDLER, LCI_COMPLETION_HANDLER, one);
  other = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_HANDLER, LCI_COMPLETION_HANDLER, two);
  CHECK_OK(LCI_barrier());

  case_is("a put to the first");
  AGAIN(LCI_puts(endpoint, short_of(4), to, 3, LCI_DEFAULT_COMP_REMOTE));
  wait_for(&calls_of_first, 1);
  check_request(&last, from, 3, NULL);
  CHECK_EQ(last.type, LCI_IMMEDIATE);
  CHECK_EQ(number_in(&last), 4);
  CHECK_EQ(calls_of_second, 0);

  case_is("a receive by the first, whose send completes by the second");
  CHECK_OK(LCI_barrier());
  AGAIN(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, into, sizeof into), from, 5, one, &into));
  AGAIN(LCI_sendl(endpoint, long_of(LCI_SEGMENT_ALL, text, sizeof text), to, 5, two, &text));
  wait_for(&calls_of_first, 2);
  wait_for(&calls_of_second, 1);
  check_request(&last, from, 5, &into);
  CHECK_EQ(last.type, LCI_LONG);
  CHECK_EQ(times[5], 1);
  CHECK(strcmp(into, text) == 0);

  case_is("one handler as default of two endpoints, %d messages", MESSAGES);
  times[5] = 0;
  CHECK_OK(LCI_barrier());
  {
    LCI_endpoint_t third =
        endpoint_with(LCI_UR_DEVICE, LCI_MATCH_TAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_HANDLER, two);
    for (i = 0; i < MESSAGES; ++i)
      AGAIN(LCI_puts(i % 2 ? other : third, short_of(1), to, (LCI_tag_t)i, LCI_DEFAULT_COMP_REMOTE));
    wait_for(&calls_of_second, 1 + MESSAGES);
    for (i = 0; i < MESSAGES; ++i) CHECK_EQ(times[i], 1);
    CHECK_EQ(calls_of_first, 2);
    CHECK_OK(LCI_barrier());
    CHECK_OK(LCI_endpoint_free(&third));
  }
  CHECK_OK(LCI_endpoint_free(&endpoint));
  CHECK_OK(LCI_endpoint_free(&other));
}
