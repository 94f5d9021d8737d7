/* A rank that waits for the others in LCI_barrier, LCI_gfence_wait, LCI_device_init, LCI_device_free or LCI_finalize
 * makes progress on its other devices: the others may wait for messages through these before they make the same
 * call. */
#include "tests/layers/v1/check.h"

static LCI_device_t used, freed;
static LCI_endpoint_t ep;
static LCI_comp_t queue;
static char bytes[1 << 20];

/* Rank 0 sends a message to rank 1, and needs progress until it has been sent. Rank 1 waits for it with progress on
 * its device only. */
static void begin_exchange(void) {
  LCI_lbuffer_t b = {NULL, bytes, sizeof bytes};
  LCI_request_t r;
  b.segment = LCI_SEGMENT_ALL;
  CHECK(LCI_barrier() == LCI_OK);
  if (LCI_RANK == 0) {
    fill_pattern(bytes, sizeof bytes, 0, 1);
    AGAIN(LCI_sendl(ep, b, 1, 1, queue, NULL));
  } else if (LCI_RANK == 1) {
    memset(bytes, 0, sizeof bytes);
    AGAIN(LCI_recvl(ep, b, 0, 1, queue, NULL));
    while (LCI_queue_pop(queue, &r) != LCI_OK) LCI_progress(used);
    CHECK(r.flag == LCI_OK && has_pattern(bytes, sizeof bytes, 0, 1));
  }
}

static void end_exchange(void) {
  LCI_request_t r;
  if (LCI_RANK != 0) return;
  while (LCI_queue_pop(queue, &r) != LCI_OK) LCI_progress(used);
  CHECK(r.flag == LCI_OK);
}

int main(void) {
  LCI_plist_t plist;
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCI_device_init(&used) == LCI_OK);
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  CHECK(LCI_queue_create(used, &queue) == LCI_OK);
  CHECK(LCI_plist_set_default_comp(plist, queue) == LCI_OK);
  CHECK(LCI_endpoint_init(&ep, used, plist) == LCI_OK);
  begin_exchange();
  CHECK(LCI_barrier() == LCI_OK);
  end_exchange();
  begin_exchange();
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  end_exchange();
  begin_exchange();
  CHECK(LCI_device_init(&freed) == LCI_OK);
  end_exchange();
  begin_exchange();
  CHECK(LCI_device_free(&freed) == LCI_OK);
  end_exchange();
  CHECK(LCI_plist_free(&plist) == LCI_OK);
  begin_exchange();
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("other_devices");
}
