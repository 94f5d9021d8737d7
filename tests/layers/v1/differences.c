/* A completion object of one device that operations of another device signal: waits for it end. Two ranks. */
#include "tests/layers/v1/check.h"

/* An object of one device is signalled by an operation of another one, on which the waiting thread must make
 * progress. */
static void wait_for_other_device(void) {
  LCI_device_t device;
  LCI_comp_t queue, sync;
  LCI_request_t r;
  LCI_short_t value;
  const int peer = 1 - LCI_RANK;
  memset(&value, 0, sizeof value);
  CHECK(LCI_device_init(&device) == LCI_OK);
  CHECK(LCI_queue_create(device, &queue) == LCI_OK && LCI_sync_create(device, 1, &sync) == LCI_OK);
  AGAIN(LCI_recvs(LCI_UR_ENDPOINT, peer, 1, queue, NULL));
  AGAIN(LCI_recvs(LCI_UR_ENDPOINT, peer, 2, sync, NULL));
  AGAIN(LCI_sends(LCI_UR_ENDPOINT, value, peer, 1));
  CHECK(LCI_queue_wait(queue, &r) == LCI_OK && r.tag == 1);
  AGAIN(LCI_sends(LCI_UR_ENDPOINT, value, peer, 2));
  CHECK(LCI_sync_wait(sync, &r) == LCI_OK && r.tag == 2);
  CHECK(LCI_queue_free(&queue) == LCI_OK && LCI_sync_free(&sync) == LCI_OK);
  CHECK(LCI_device_free(&device) == LCI_OK);
}

int main(void) {
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCI_NUM_PROCESSES == 2);
  wait_for_other_device();
  LCI_barrier();
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("differences");
}
