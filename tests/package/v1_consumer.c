/* A user's program in C for LCI v1.7: each rank sends a number to its neighbour. */
#include <lci.h>
#include <string.h>

int main(void) {
  LCI_comp_t sync;
  LCI_request_t request;
  LCI_short_t number;
  int next, before, value, got;
  if (LCI_initialize() != LCI_OK) return 1;
  next = (LCI_RANK + 1) % LCI_NUM_PROCESSES;
  before = (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES;
  value = 100 + LCI_RANK;
  memset(&number, 0, sizeof number);
  memcpy(&number, &value, sizeof value);
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  while (LCI_recvs(LCI_UR_ENDPOINT, before, 7, sync, NULL) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  while (LCI_sends(LCI_UR_ENDPOINT, number, next, 7) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  LCI_sync_wait(sync, &request);
  memcpy(&got, &request.data.immediate, sizeof got);
  printf("rank %d of %d got %d from %d\n", LCI_RANK, LCI_NUM_PROCESSES, got, request.rank);
  LCI_sync_free(&sync);
  LCI_finalize();
  return got == 100 + before ? 0 : 1;
}
