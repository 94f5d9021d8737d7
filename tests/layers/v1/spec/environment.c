/* Sections 4.1 to 4.4 and the checklist's L1 to L3: start, end, and parameters from the environment. */
#include "tests/layers/v1/spec/spec.h"

struct parameter {
  const char* name;
  int* value;
  int known_before; /* its value before LCI_initialize(); INT_MIN if it is not defined */
  int least;        /* afterwards, unless the environment has a value */
  int is_derived;   /* not from an environment variable of its name */
};

/* In a build whose ranks are threads, the addresses are no constants. */
enum { PARAMETERS = 22 };
static void parameters(struct parameter* list) {
  const struct parameter all[PARAMETERS] = {
      {"LCI_MAX_TAG", &LCI_MAX_TAG, 65535, 65535, 1},
      {"LCI_MEDIUM_SIZE", &LCI_MEDIUM_SIZE, -1, 4096, 1},
      {"LCI_IOVEC_SIZE", &LCI_IOVEC_SIZE, INT_MIN, 1, 1},
      {"LCI_MAX_SYNC_LENGTH", &LCI_MAX_SYNC_LENGTH, INT_MAX, INT_MAX, 1},
      {"LCI_MAX_ENDPOINTS", &LCI_MAX_ENDPOINTS, INT_MIN, 8, 0},
      {"LCI_PACKET_SIZE", &LCI_PACKET_SIZE, INT_MIN, 4096, 0},
      {"LCI_SERVER_NUM_PKTS", &LCI_SERVER_NUM_PKTS, INT_MIN, 1, 0},
      {"LCI_SERVER_MAX_SENDS", &LCI_SERVER_MAX_SENDS, INT_MIN, 1, 0},
      {"LCI_SERVER_MAX_RECVS", &LCI_SERVER_MAX_RECVS, INT_MIN, 1, 0},
      {"LCI_SERVER_MAX_CQES", &LCI_SERVER_MAX_CQES, INT_MIN, 1, 0},
      {"LCI_USE_DREG", &LCI_USE_DREG, INT_MIN, 0, 0},
      {"LCI_DEFAULT_QUEUE_LENGTH", &LCI_DEFAULT_QUEUE_LENGTH, INT_MIN, 1, 0},
      {"LCI_MAX_QUEUE_LENGTH", &LCI_MAX_QUEUE_LENGTH, INT_MIN, 1, 1},
      {"LCI_DEFAULT_TABLE_LENGTH", &LCI_DEFAULT_TABLE_LENGTH, INT_MIN, 1, 1},
      {"LCI_MAX_TABLE_LENGTH", &LCI_MAX_TABLE_LENGTH, INT_MIN, 1, 1},
      {"LCI_PACKET_RETURN_THRESHOLD", &LCI_PACKET_RETURN_THRESHOLD, INT_MIN, 0, 0},
      {"LCI_IBV_USE_ODP", &LCI_IBV_USE_ODP, INT_MIN, 0, 0},
      {"LCI_TOUCH_LBUFFER", &LCI_TOUCH_LBUFFER, INT_MIN, 0, 0},
      {"LCI_IBV_USE_PREFETCH", &LCI_IBV_USE_PREFETCH, INT_MIN, 0, 0},
      {"LCI_SEND_SLOW_DOWN_USEC", &LCI_SEND_SLOW_DOWN_USEC, INT_MIN, 0, 0},
      {"LCI_RECV_SLOW_DOWN_USEC", &LCI_RECV_SLOW_DOWN_USEC, INT_MIN, 0, 0},
      {"", NULL, 0, 0, 0}};
  memcpy(list, all, sizeof all);
}
static PER_RANK int values_at_start[PARAMETERS];

void environment_before(void) {
  struct parameter list[PARAMETERS];
  int flag = 77, i;
  case_is("before LCI_initialize()");
  CHECK_OK(LCI_initialized(&flag));
  CHECK_EQ(flag, 0);
  parameters(list);
  for (i = 0; list[i].value; ++i)
    if (list[i].known_before != INT_MIN) CHECK_EQ(*list[i].value, list[i].known_before);
}

void environment(void) {
  struct parameter list[PARAMETERS];
  int flag = 77, i;
  uint64_t mine, all[64];
  case_is("after LCI_initialize()");
  CHECK_OK(LCI_initialized(&flag));
  CHECK_EQ(flag, 1);
  CHECK(LCI_NUM_PROCESSES >= 1 && LCI_RANK >= 0 && LCI_RANK < LCI_NUM_PROCESSES);
  CHECK(LCI_NUM_DEVICES >= 1);
  CHECK(LCI_UR_DEVICE != NULL && LCI_UR_ENDPOINT != NULL && LCI_UR_CQ != NULL);
  parameters(list);
  for (i = 0; list[i].value; ++i) {
    const char* text = getenv(list[i].name);
    case_is("%s after LCI_initialize()", list[i].name);
    values_at_start[i] = *list[i].value;
    if (text && !list[i].is_derived)
      CHECK_EQ(*list[i].value, atoi(text));
    else
      CHECK(*list[i].value >= list[i].least);
  }
  case_is("sizes");
  CHECK(LCI_MEDIUM_SIZE < LCI_PACKET_SIZE);
  CHECK(getenv("LCI_PACKET_SIZE") || LCI_MEDIUM_SIZE >= 8192);
  CHECK(LCI_MAX_QUEUE_LENGTH >= LCI_DEFAULT_QUEUE_LENGTH && LCI_MAX_TABLE_LENGTH >= LCI_DEFAULT_TABLE_LENGTH);
  CHECK_EQ(LCI_IBV_ENABLE_EVENT_POLLING_THREAD, 0);
  CHECK(LCI_MAX_SINGLE_MESSAGE_SIZE > (size_t)LCI_MEDIUM_SIZE * 1000);
  case_is("ranks");
  mine = (uint64_t)LCI_RANK * 1000 + (uint64_t)LCI_NUM_PROCESSES;
  exchange(&mine, all, sizeof mine);
  for (i = 0; i < LCI_NUM_PROCESSES; ++i) CHECK_EQ(all[i], i * 1000 + LCI_NUM_PROCESSES);
}

void environment_after(void) {
  struct parameter list[PARAMETERS];
  int flag = 77, i;
  case_is("before LCI_finalize()");
  parameters(list);
  for (i = 0; list[i].value; ++i) CHECK_EQ(*list[i].value, values_at_start[i]);
  CHECK_OK(LCI_finalize());
  case_is("after LCI_finalize()");
  CHECK_OK(LCI_initialized(&flag));
  CHECK_EQ(flag, 0);
}
