/* LCI v1.7: the same messages with each kind of completion object: a queue, a handler, a synchronizer. */
#include <lci.h>
#include <string.h>

enum { messages = 100 };

static int handled;
static long sum_handled;
/* Runs inside LCI_progress(), and calls no function of LCI. */
static void add(LCI_request_t request) {
  sum_handled += *(long*)&request.data.immediate;
  ++handled;
}

static LCI_endpoint_t endpoint_for(LCI_comp_type_t type, LCI_comp_t comp) {
  LCI_endpoint_t ep;
  LCI_plist_t plist;
  LCI_plist_create(&plist);
  LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, type);
  LCI_plist_set_default_comp(plist, comp);
  LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist);
  LCI_plist_free(&plist);
  return ep;
}

static void put_all(LCI_endpoint_t ep) {
  long i;
  for (i = 1; i <= messages; ++i) {
    LCI_short_t s;
    memset(&s, 0, sizeof s);
    *(long*)&s = i;
    while (LCI_puts(ep, s, (LCI_RANK + 1) % LCI_NUM_PROCESSES, 1, LCI_DEFAULT_COMP_REMOTE) == LCI_ERR_RETRY)
      LCI_progress(LCI_UR_DEVICE);
  }
}

int main(void) {
  LCI_comp_t queue, handler, sync;
  LCI_endpoint_t to_queue, to_handler, to_sync;
  LCI_request_t requests[messages];
  long sum = 0;
  int i;
  if (LCI_initialize() != LCI_OK) return 1;
  LCI_queue_create(LCI_UR_DEVICE, &queue);
  LCI_handler_create(LCI_UR_DEVICE, add, &handler);
  LCI_sync_create(LCI_UR_DEVICE, messages, &sync); /* fires when that many have come */
  to_queue = endpoint_for(LCI_COMPLETION_QUEUE, queue);
  to_handler = endpoint_for(LCI_COMPLETION_HANDLER, handler);
  to_sync = endpoint_for(LCI_COMPLETION_SYNC, sync);

  put_all(to_queue);
  for (i = 0; i < messages; ++i) {
    LCI_queue_wait(queue, &requests[0]);
    sum += *(long*)&requests[0].data.immediate;
  }
  printf("rank %d: the queue got %ld\n", LCI_RANK, sum);

  put_all(to_handler);
  while (handled < messages) LCI_progress(LCI_UR_DEVICE);
  printf("rank %d: the handler got %ld\n", LCI_RANK, sum_handled);

  put_all(to_sync);
  LCI_sync_wait(sync, requests);
  for (sum = 0, i = 0; i < messages; ++i) sum += *(long*)&requests[i].data.immediate;
  printf("rank %d: the synchronizer got %ld\n", LCI_RANK, sum);

  LCI_gfence_wait(to_sync); /* before objects are freed that peers put to */
  LCI_endpoint_free(&to_queue);
  LCI_endpoint_free(&to_handler);
  LCI_endpoint_free(&to_sync);
  LCI_queue_free(&queue);
  LCI_sync_free(&sync);
  LCI_finalize();
  return sum == messages * (messages + 1) / 2 ? 0 : 1;
}
