/* Which receive gets which message: section 4.8.1 and 4.9, rows L29 and T16 of the checklist. */
#include "tests/layers/v1/spec/spec.h"

enum { TAG = 77 };

static PER_RANK struct box box;

/* Waits for the completion with this context, of all that are outstanding. */
static LCI_request_t next_completion(void) {
  LCI_request_t request;
  box_wait(&box, LCI_UR_DEVICE, &request, 0);
  return request;
}

static int is_quiet(void) {
  LCI_request_t request;
  settle(LCI_UR_DEVICE);
  return !box_take(&box, &request);
}

/* --- short, medium, long messages and iovecs have tags of their own --- */

static char medium_bytes[2], long_bytes[3], vector_bytes[4];
static PER_RANK char received_medium[8], received_long[8], received_vector[8], received_piggy[8];
static const int order_of_modes[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};

static void send_mode(LCI_endpoint_t endpoint, int mode, int to) {
  LCI_lbuffer_t buffer = long_of(LCI_SEGMENT_ALL, vector_bytes, sizeof vector_bytes);
  LCI_iovec_t iovec;
  memset(&iovec, 0, sizeof iovec);
  iovec.piggy_back = medium_of(medium_bytes, 1);
  iovec.lbuffers = &buffer;
  iovec.count = 1;
  if (mode == 0) AGAIN(LCI_sends(endpoint, short_of(5), to, TAG));
  if (mode == 1) AGAIN(LCI_sendm(endpoint, medium_of(medium_bytes, sizeof medium_bytes), to, TAG));
  if (mode == 2)
    AGAIN(LCI_sendl(endpoint, long_of(LCI_SEGMENT_ALL, long_bytes, sizeof long_bytes), to, TAG, NULL, NULL));
  if (mode == 3) {
    AGAIN(LCI_sendv(endpoint, iovec, to, TAG, NULL, NULL));
    CHECK_OK(LCI_fence_wait(endpoint)); /* `buffer` is of this function */
  }
}

static void receive_mode(LCI_endpoint_t endpoint, int mode, int from, LCI_lbuffer_t* buffer) {
  void* context = &received_vector[mode];
  LCI_iovec_t iovec;
  memset(&iovec, 0, sizeof iovec);
  *buffer = long_of(LCI_SEGMENT_ALL, received_vector, sizeof received_vector);
  iovec.piggy_back = medium_of(received_piggy, sizeof received_piggy);
  iovec.lbuffers = buffer;
  iovec.count = 1;
  if (mode == 0) AGAIN(LCI_recvs(endpoint, from, TAG, box.comp, context));
  if (mode == 1) AGAIN(LCI_recvm(endpoint, medium_of(received_medium, 8), from, TAG, box.comp, context));
  if (mode == 2) AGAIN(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, received_long, 8), from, TAG, box.comp, context));
  if (mode == 3) AGAIN(LCI_recvv(endpoint, iovec, from, TAG, box.comp, context));
}

static void modes_apart(void) {
  static const LCI_data_type_t types[] = {LCI_IMMEDIATE, LCI_MEDIUM, LCI_LONG, LCI_IOVEC};
  static PER_RANK LCI_lbuffer_t buffer;
  const int to = rank_at(1);
  const int from = rank_at(-1);
  size_t sends, receives;
  int i;
  for (sends = 0; sends < 4; ++sends)
    for (receives = 0; receives < 4; ++receives) {
      int seen[4] = {0, 0, 0, 0};
      case_is("short, medium, long, iovec with one tag: sent in order %zu, received in order %zu", sends, receives);
      for (i = 0; i < 4; ++i) receive_mode(LCI_UR_ENDPOINT, order_of_modes[receives][i], from, &buffer);
      handshake(from, to);
      for (i = 0; i < 4; ++i) send_mode(LCI_UR_ENDPOINT, order_of_modes[sends][i], to);
      for (i = 0; i < 4; ++i) {
        LCI_request_t request = next_completion();
        int mode = (int)((char*)request.user_context - received_vector);
        CHECK(mode >= 0 && mode < 4 && !seen[mode]);
        if (mode < 0 || mode > 3) continue;
        seen[mode] = 1;
        check_request(&request, from, TAG, &received_vector[mode]);
        CHECK_EQ(request.type, types[mode]);
        if (mode == 0) CHECK_EQ(number_in(&request), 5);
        if (mode == 1) CHECK_EQ(request.data.mbuffer.length, sizeof medium_bytes);
        if (mode == 2) CHECK_EQ(request.data.lbuffer.length, sizeof long_bytes);
        if (mode == 3) CHECK_EQ(request.data.iovec.piggy_back.length, 1);
      }
      CHECK(is_quiet());
      CHECK_OK(LCI_fence_wait(LCI_UR_ENDPOINT));
    }
}

/* --- tags, ranks, endpoints --- */

static void tags_apart(void) {
  const LCI_tag_t tags[] = {0, 1, 255, 256, 32767, 32768, 65279, 65535};
  enum { TAGS = 8 };
  int i, t;
  CHECK_EQ(LCI_MAX_TAG, 65535);
  case_is("a message with each of eight tags, while receives with all others are posted");
  for (t = 0; t < TAGS; ++t) {
    for (i = 0; i < TAGS; ++i)
      if (i != t) AGAIN(LCI_recvs(LCI_UR_ENDPOINT, LCI_RANK, tags[i], box.comp, NULL));
    AGAIN(LCI_sends(LCI_UR_ENDPOINT, short_of(1), LCI_RANK, tags[t]));
    CHECK(is_quiet());
    AGAIN(LCI_recvs(LCI_UR_ENDPOINT, LCI_RANK, tags[t], box.comp, box.comp));
    {
      LCI_request_t request = next_completion();
      check_request(&request, LCI_RANK, tags[t], box.comp);
    }
    for (i = 0; i < TAGS; ++i)
      if (i != t) {
        LCI_request_t request;
        AGAIN(LCI_sends(LCI_UR_ENDPOINT, short_of(1), LCI_RANK, tags[i]));
        request = next_completion();
        check_request(&request, LCI_RANK, tags[i], NULL);
      }
    CHECK(is_quiet());
  }
}

/* A receive names its source: what another rank sends with that tag waits for its own receive. */
static void ranks_apart(void) {
  const int n = LCI_NUM_PROCESSES;
  LCI_request_t request;
  int hidden, r;
  for (hidden = 0; hidden < n; ++hidden) {
    case_is("all ranks send; the receive from rank + %d comes last", hidden);
    for (r = 0; r < n; ++r)
      if (r != hidden) AGAIN(LCI_recvs(LCI_UR_ENDPOINT, (LCI_RANK + r) % n, TAG, box.comp, &box));
    for (r = 0; r < n; ++r) AGAIN(LCI_sends(LCI_UR_ENDPOINT, short_of((uint64_t)LCI_RANK + 9), r, TAG));
    for (r = 1; r < n; ++r) {
      request = next_completion();
      CHECK(request.rank != (LCI_RANK + hidden) % n);
      CHECK_EQ(number_in(&request), request.rank + 9);
    }
    CHECK_OK(LCI_barrier());
    CHECK(is_quiet());
    AGAIN(LCI_recvs(LCI_UR_ENDPOINT, (LCI_RANK + hidden) % n, TAG, box.comp, NULL));
    request = next_completion();
    check_request(&request, (LCI_RANK + hidden) % n, TAG, NULL);
    CHECK_EQ(number_in(&request), request.rank + 9);
    CHECK_OK(LCI_barrier());
  }
}

/* By tag only: any source matches, whatever rank the receive names. */
static void any_rank(void) {
  const int n = LCI_NUM_PROCESSES;
  const int named[] = {LCI_RANK_ANY, 0, n - 1};
  LCI_endpoint_t endpoint =
      endpoint_with(LCI_UR_DEVICE, LCI_MATCH_TAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, NULL);
  size_t i;
  int r, first;
  for (i = 0; i < 3; ++i)
    for (first = 0; first < 2; ++first) {
      int seen[64] = {0};
      case_is("tag only, the receives name rank %d, %s", named[i], first ? "message first" : "receive first");
      if (!first)
        for (r = 0; r < n; ++r) AGAIN(LCI_recvs(endpoint, named[i], TAG, box.comp, &box));
      CHECK_OK(LCI_barrier());
      for (r = 0; r < n; ++r) AGAIN(LCI_sends(endpoint, short_of((uint64_t)LCI_RANK + 1), r, TAG));
      CHECK_OK(LCI_barrier());
      if (first) {
        CHECK(is_quiet());
        for (r = 0; r < n; ++r) AGAIN(LCI_recvs(endpoint, named[i], TAG, box.comp, &box));
      }
      for (r = 0; r < n; ++r) {
        LCI_request_t request = next_completion();
        CHECK(request.rank >= 0 && request.rank < n && !seen[request.rank]++);
        check_request(&request, request.rank, TAG, &box);
        CHECK_EQ(number_in(&request), request.rank + 1);
      }
      CHECK_OK(LCI_barrier());
    }
  CHECK(is_quiet());
  CHECK_OK(LCI_endpoint_free(&endpoint));
}

/* Several receives with one key: each completes once, each context returns once, each message arrives once. */
static void equal_keys(void) {
  enum { MESSAGES = 20 };
  char contexts[MESSAGES] = {0}, values[MESSAGES] = {0};
  const int to = rank_at(1);
  const int from = rank_at(-1);
  int i;
  case_is("twenty messages with one tag");
  for (i = 0; i < MESSAGES / 2; ++i) AGAIN(LCI_recvs(LCI_UR_ENDPOINT, from, TAG, box.comp, &contexts[i]));
  for (i = 0; i < MESSAGES; ++i) AGAIN(LCI_sends(LCI_UR_ENDPOINT, short_of((uint64_t)i), to, TAG));
  CHECK_OK(LCI_barrier());
  for (i = MESSAGES / 2; i < MESSAGES; ++i) AGAIN(LCI_recvs(LCI_UR_ENDPOINT, from, TAG, box.comp, &contexts[i]));
  for (i = 0; i < MESSAGES; ++i) {
    LCI_request_t request = next_completion();
    long context = (long)((char*)request.user_context - contexts);
    uint64_t value = number_in(&request);
    CHECK(context >= 0 && context < MESSAGES && value < MESSAGES);
    if (context < 0 || context >= MESSAGES || value >= MESSAGES) continue;
    CHECK_EQ(contexts[context]++, 0);
    CHECK_EQ(values[value]++, 0);
  }
  CHECK(is_quiet());
}

void matching(void) {
  int kind;
  for (kind = 0; kind < KINDS; ++kind) {
    box_open(&box, LCI_UR_DEVICE, kind);
    /* More than one completion at a time is not for a synchronizer with threshold 1. */
    if (kind != BY_SYNC) {
      modes_apart();
      ranks_apart();
      any_rank();
      equal_keys();
    }
    tags_apart();
    CHECK_OK(LCI_barrier());
    box_close(&box);
  }
}
