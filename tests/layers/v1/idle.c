/* A thread that polls without finding anything lets others run, but not while messages arrive. This program's
 * sched_yield() takes the place of the system's. */
#include "tests/layers/v1/check.h"

static int yields = 0;

int sched_yield(void);
int sched_yield(void) {
  ++yields;
  return 0;
}

int main(void) {
  LCI_request_t request;
  LCI_short_t message;
  int i, idle = 0;
  memset(&message, 0, sizeof message);
  if (LCI_initialize() != LCI_OK) return 1;
  for (yields = 0; idle < 100000 && yields < 3; ++idle) CHECK(LCI_progress(LCI_UR_DEVICE) == LCI_ERR_RETRY);
  CHECK(yields == 3 && idle >= 200);
  for (yields = i = 0; i < 1000; ++i) {
    AGAIN(LCI_puts(LCI_UR_ENDPOINT, message, LCI_RANK, 1, LCI_DEFAULT_COMP_REMOTE));
    AGAIN(LCI_queue_pop(LCI_UR_CQ, &request));
    LCI_progress(LCI_UR_DEVICE);
  }
  CHECK(yields == 0);
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("idle");
}
