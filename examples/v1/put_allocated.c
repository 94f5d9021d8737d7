/* LCI v1.7: ranks put results of sizes that only they know to rank 0, whose buffers the library allocates. */
#include <lci.h>
#include <string.h>

int main(void) {
  LCI_comp_t sync;
  LCI_request_t request;
  int wrong = 0;
  if (LCI_initialize() != LCI_OK) return 1;
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  if (LCI_RANK != 0) {
    LCI_lbuffer_t result;
    result.segment = LCI_SEGMENT_ALL; /* registered on the way, if the network needs that */
    result.length = 100000 * (size_t)LCI_RANK;
    result.address = malloc(result.length);
    memset(result.address, LCI_RANK, result.length);
    while (LCI_putla(LCI_UR_ENDPOINT, result, sync, 0, (LCI_tag_t)LCI_RANK, LCI_DEFAULT_COMP_REMOTE, NULL) ==
           LCI_ERR_RETRY)
      LCI_progress(LCI_UR_DEVICE);
    LCI_sync_wait(sync, &request);
    /* LCI_OK: rank 0 has allocated its buffer, and this one is free again. */
    if (request.flag != LCI_OK) wrong = 1;
    free(result.address);
  } else {
    int i;
    for (i = 1; i < LCI_NUM_PROCESSES; ++i) {
      const unsigned char* bytes;
      LCI_queue_wait(LCI_UR_CQ, &request);
      bytes = request.data.lbuffer.address;
      if (request.data.lbuffer.length != 100000 * (size_t)request.rank ||
          bytes[request.data.lbuffer.length - 1] != request.rank)
        wrong = 1;
      printf("rank 0 has %lu bytes from rank %d\n", (unsigned long)request.data.lbuffer.length, request.rank);
      LCI_lbuffer_free(request.data.lbuffer);
    }
  }
  LCI_sync_free(&sync);
  LCI_finalize();
  return wrong;
}
