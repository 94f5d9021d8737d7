/* LCI v1.7: each rank greets the next one with a short message that goes to its completion queue. */
#include <lci.h>
#include <string.h>

int main(void) {
  LCI_short_t greeting;
  LCI_request_t request;
  if (LCI_initialize() != LCI_OK) return 1;
  memset(&greeting, 0, sizeof greeting);
  snprintf(greeting.val, sizeof greeting.val, "hello from %d", LCI_RANK);
  /* LCI_ERR_RETRY: something is short now, and progress brings it back. */
  while (LCI_puts(LCI_UR_ENDPOINT, greeting, (LCI_RANK + 1) % LCI_NUM_PROCESSES, /*tag*/ 1, LCI_DEFAULT_COMP_REMOTE) ==
         LCI_ERR_RETRY)
    LCI_progress(LCI_UR_DEVICE);
  LCI_queue_wait(LCI_UR_CQ, &request);
  printf("rank %d of %d: %s\n", LCI_RANK, LCI_NUM_PROCESSES, request.data.immediate.val);
  LCI_finalize();
  return 0;
}
