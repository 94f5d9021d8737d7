/* Section 3.5.4 and L45: LCI_ERR_RETRY is back-pressure. What was accepted arrives, once, whole, however late its
 * target makes progress; what was not accepted has not happened. */
#include <sched.h>

#include "tests/layers/v1/spec/spec.h"

enum { MOST = 3000, RETRIES = 50 };

static PER_RANK LCI_endpoint_t endpoint;
static PER_RANK LCI_comp_t queue;

/* A message with number i, of `length` bytes; LCI_ERR_RETRY is returned. */
static LCI_error_t send_short(int to, int i, size_t length) {
  (void)length;
  return LCI_sends(endpoint, short_of((uint64_t)i + 3), to, (LCI_tag_t)i);
}
static LCI_error_t put_short(int to, int i, size_t length) {
  (void)length;
  return LCI_puts(endpoint, short_of((uint64_t)i + 3), to, (LCI_tag_t)i, LCI_DEFAULT_COMP_REMOTE);
}
static LCI_error_t send_medium(int to, int i, size_t length) {
  return LCI_sendm(endpoint, medium_of(payload(LCI_RANK, (LCI_tag_t)i), length), to, (LCI_tag_t)i);
}
static LCI_error_t put_medium(int to, int i, size_t length) {
  return LCI_putma(endpoint, medium_of(payload(LCI_RANK, (LCI_tag_t)i), length), to, (LCI_tag_t)i,
                   LCI_DEFAULT_COMP_REMOTE);
}
static LCI_error_t give_packet(int to, int i, size_t length) {
  LCI_mbuffer_t packet;
  LCI_error_t code = LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet);
  if (code != LCI_OK) return code;
  memcpy(packet.address, payload(LCI_RANK, (LCI_tag_t)i), length);
  packet.length = length;
  code = LCI_sendmn(endpoint, packet, to, (LCI_tag_t)i);
  if (code == LCI_ERR_RETRY) CHECK_OK(LCI_mbuffer_free(packet)); /* is still this rank's */
  return code;
}

static const struct call {
  const char* name;
  LCI_data_type_t type;
  int is_put;
  size_t length;
  LCI_error_t (*post)(int to, int i, size_t length);
} calls[] = {
    {"sends", LCI_IMMEDIATE, 0, 0, send_short},  {"puts", LCI_IMMEDIATE, 1, 0, put_short},
    {"sendm", LCI_MEDIUM, 0, 4000, send_medium}, {"putma", LCI_MEDIUM, 1, 4000, put_medium},
    {"sendmn", LCI_MEDIUM, 0, 8, give_packet},   {"putma", LCI_MEDIUM, 1, 8, put_medium},
};

static void flood(const struct call* call) {
  const int to = rank_at(1);
  const int from = rank_at(-1);
  char seen[MOST] = {0};
  uint64_t accepted = 0, accepted_by[64];
  int retries = 0, posted = 0, taken = 0;
  struct patience patience = {0, 0};
  const double end = seconds_now() + SECONDS_OF_PATIENCE;
  case_is("%s of %zu bytes, without progress until it is refused", call->name, call->length);
  /* The first one may be refused for as long as the target, which may not run just now, holds a lock. */
  while (accepted < MOST && (retries < RETRIES || (accepted == 0 && seconds_now() < end))) {
    LCI_error_t code = call->post(to, (int)accepted, call->length);
    CHECK(code == LCI_OK || code == LCI_ERR_RETRY);
    if (code == LCI_OK) {
      ++accepted;
    } else {
      ++retries;
      sched_yield();
    }
  }
  CHECK(accepted > 0);
  /* Medium messages are in packets, at the source at least, until their target makes progress. */
  if (call->type == LCI_MEDIUM && call->length > 100 && LCI_SERVER_NUM_PKTS <= 64) CHECK(retries > 0);
  exchange(&accepted, accepted_by, sizeof accepted);
  /* Receives may be refused as well, as long as what they have received is not taken. */
  while (taken < (int)accepted_by[from]) {
    LCI_request_t request;
    if (!call->is_put && posted < (int)accepted_by[from]) {
      LCI_error_t code = call->type == LCI_IMMEDIATE ? LCI_recvs(endpoint, from, (LCI_tag_t)posted, queue, NULL)
                                                     : LCI_recvmn(endpoint, from, (LCI_tag_t)posted, queue, NULL);
      CHECK(code == LCI_OK || code == LCI_ERR_RETRY);
      posted += code == LCI_OK;
    }
    if (LCI_queue_pop(queue, &request) != LCI_OK) {
      step(&patience, LCI_UR_DEVICE, "an accepted message");
      continue;
    }
    ++taken;
    check_request(&request, from, request.tag, NULL);
    CHECK_EQ(request.type, call->type);
    CHECK(request.tag < MOST);
    if (request.tag < MOST) CHECK_EQ(seen[request.tag]++, 0);
    if (call->type == LCI_IMMEDIATE) {
      CHECK_EQ(number_in(&request), request.tag + 3);
    } else {
      CHECK_EQ(request.data.mbuffer.length, call->length);
      CHECK(has_payload(request.data.mbuffer.address, call->length, from, request.tag));
      CHECK_OK(LCI_mbuffer_free(request.data.mbuffer));
    }
  }
  settle(LCI_UR_DEVICE);
  {
    size_t len = 1;
    CHECK_OK(LCI_queue_len(queue, &len));
    CHECK_EQ(len, 0);
  }
  CHECK_OK(LCI_barrier());
}

void back_pressure(void) {
  size_t i;
  CHECK_OK(LCI_queue_create(LCI_UR_DEVICE, &queue));
  endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, queue);
  CHECK_OK(LCI_barrier());
  for (i = 0; i < sizeof calls / sizeof *calls; ++i) flood(&calls[i]);
  CHECK_OK(LCI_endpoint_free(&endpoint));
  CHECK_OK(LCI_queue_free(&queue));
}
