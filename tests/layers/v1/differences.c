/* What ranks or calls do differently by mistake, and what then must not hang. Two ranks. With the argument "matching", in
 * the checking mode: endpoints that match by other criteria at another rank are reported. */
#include "tests/layers/v1/check.h"

/* An object of one device is signalled by an operation of another one, on which the waiting thread must make progress. */
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

static void match_differently(void) {
  LCI_plist_t plist;
  LCI_endpoint_t same, other;
  LCI_error_t code = LCI_OK;
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  CHECK(LCI_endpoint_init(&same, LCI_UR_DEVICE, plist) == LCI_OK);
  LCI_barrier();
  CHECK(LCI_plist_set_match_type(plist, LCI_RANK == 0 ? LCI_MATCH_TAG : LCI_MATCH_RANKTAG) == LCI_OK);
  code = LCI_endpoint_init(&other, LCI_UR_DEVICE, plist);
  if (code == LCI_OK) {
    while (code != LCI_ERR_FATAL) code = LCI_progress(LCI_UR_DEVICE);
    CHECK(LCI_endpoint_free(&other) == LCI_OK);
  }
  CHECK(LCI_endpoint_free(&same) == LCI_OK && LCI_plist_free(&plist) == LCI_OK);
}

int main(int argc, char** argv) {
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCI_NUM_PROCESSES == 2);
  if (argc > 1 && strcmp(argv[1], "matching") == 0)
    match_differently();
  else
    wait_for_other_device();
  LCI_barrier();
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("differences");
}
