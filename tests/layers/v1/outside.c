/* Calls of each function before LCI_initialize() and after LCI_finalize(), with handles that are null, and with those
 * of the library's first life: each returns LCI_ERR_FATAL. Then the library starts once more. */
#include "tests/layers/v1/check.h"

struct handles {
  LCI_device_t device;
  LCI_endpoint_t ep;
  LCI_plist_t plist;
  LCI_comp_t queue, sync, handler;
  LCI_segment_t segment;
  LCIX_collective_t collective;
};

#define REFUSED(call) CHECK((call) == LCI_ERR_FATAL)

static void ignore(LCI_request_t request) { (void)request; }
static void combine(void* to, const void* from, size_t n) { memcpy(to, from, n); }

static void objects(struct handles h) {
  char text[LCI_SEGMENT_SERIALIZED_MAX] = "", list[160];
  LCI_lbuffer_t lbuffer;
  LCI_mbuffer_t mbuffer = {NULL, 0};
  static char bytes[64];
  REFUSED(LCI_finalize());
  REFUSED(LCI_barrier());
  REFUSED(LCI_device_init(&h.device));
  REFUSED(LCI_device_initx(&h.device));
  REFUSED(LCI_device_free(&h.device));
  REFUSED(LCI_progress(h.device));
  REFUSED(LCI_plist_create(&h.plist));
  REFUSED(LCI_plist_get(h.ep, &h.plist));
  REFUSED(LCI_plist_decode(h.plist, list));
  REFUSED(LCI_plist_set_match(&h.plist, LCI_MATCH_TAG));
  REFUSED(LCI_plist_set_match_type(h.plist, LCI_MATCH_TAG));
  REFUSED(LCI_plist_set_comp_type(h.plist, LCI_PORT_MESSAGE, LCI_COMPLETION_QUEUE));
  REFUSED(LCI_plist_set_default_comp(h.plist, h.queue));
  if (h.plist != NULL) REFUSED(LCI_plist_free(&h.plist));
  REFUSED(LCI_endpoint_init(&h.ep, h.device, h.plist));
  REFUSED(LCI_endpoint_free(&h.ep));
  REFUSED(LCI_memory_register(h.device, bytes, sizeof bytes, &h.segment));
  if (h.segment != NULL) REFUSED(LCI_memory_deregister(&h.segment));
  REFUSED(LCI_segment_serialize(h.segment, text));
  REFUSED(LCI_segment_deserialize(text, &h.segment));
  REFUSED(LCI_mbuffer_alloc(h.device, &mbuffer));
  REFUSED(LCI_mbuffer_free(mbuffer));
  REFUSED(LCI_medium_free(mbuffer));
  REFUSED(LCI_lbuffer_alloc(h.device, 8, &lbuffer));
  REFUSED(LCI_lbuffer_memalign(h.device, 8, 64, &lbuffer));
  CHECK(LCI_get_iovec_piggy_back_size(1) == 0);
}

static void completions(struct handles h) {
  LCI_request_t request;
  size_t n;
  memset(&request, 0, sizeof request);
  REFUSED(LCI_queue_create(h.device, &h.queue));
  REFUSED(LCI_queue_createx(h.device, 8, &h.queue));
  REFUSED(LCI_queue_pop(h.queue, &request));
  REFUSED(LCI_queue_pop_p(&h.queue, &request));
  REFUSED(LCI_queue_pop_multiple(h.queue, 1, &request, &n));
  REFUSED(LCI_queue_pop_multiple_p(&h.queue, 1, &request, 0));
  REFUSED(LCI_queue_wait(h.queue, &request));
  REFUSED(LCI_queue_wait_multiple(h.queue, 1, &request));
  REFUSED(LCI_queue_len(h.queue, &n));
  REFUSED(LCI_queue_free(&h.queue));
  REFUSED(LCI_sync_create(h.device, 1, &h.sync));
  REFUSED(LCI_sync_signal(h.sync, request));
  REFUSED(LCI_sync_test(h.sync, &request));
  REFUSED(LCI_sync_wait(h.sync, &request));
  REFUSED(LCI_sync_free(&h.sync));
  REFUSED(LCI_handler_create(h.device, ignore, &h.handler));
}

static void messages(struct handles h) {
  static char bytes[64];
  LCI_short_t s;
  LCI_mbuffer_t m = {bytes, sizeof bytes};
  LCI_lbuffer_t l = {NULL, bytes, sizeof bytes}, remote = {NULL, bytes, sizeof bytes};
  LCI_iovec_t v = {{NULL, 0}, NULL, 0};
  v.lbuffers = &l;
  v.count = 1;
  remote.segment = h.segment;
  memset(&s, 0, sizeof s);
  REFUSED(LCI_sends(h.ep, s, 0, 0));
  REFUSED(LCI_sendm(h.ep, m, 0, 0));
  REFUSED(LCI_sendmn(h.ep, m, 0, 0));
  REFUSED(LCI_sendmc(h.ep, m, 0, 0, h.sync, NULL));
  REFUSED(LCI_sendl(h.ep, l, 0, 0, h.sync, NULL));
  REFUSED(LCI_sendv(h.ep, v, 0, 0, h.sync, NULL));
  REFUSED(LCI_recvs(h.ep, 0, 0, h.sync, NULL));
  REFUSED(LCI_recvm(h.ep, m, 0, 0, h.sync, NULL));
  REFUSED(LCI_recvm_p(h.ep, &m, 0, 0, h.sync, NULL));
  REFUSED(LCI_recvmn(h.ep, 0, 0, h.sync, NULL));
  REFUSED(LCI_recvl(h.ep, l, 0, 0, h.sync, NULL));
  REFUSED(LCI_recvv(h.ep, v, 0, 0, h.sync, NULL));
  REFUSED(LCI_puts(h.ep, s, 0, 0, LCI_DEFAULT_COMP_REMOTE));
  REFUSED(LCI_putm(h.ep, m, 0, 0, m, LCI_DEFAULT_COMP_REMOTE));
  REFUSED(LCI_putmn(h.ep, m, 0, 0, m, LCI_DEFAULT_COMP_REMOTE));
  REFUSED(LCI_putma(h.ep, m, 0, 0, LCI_DEFAULT_COMP_REMOTE));
  REFUSED(LCI_putmna(h.ep, m, 0, 0, LCI_DEFAULT_COMP_REMOTE));
  REFUSED(LCI_putmac(h.ep, m, 0, 0, LCI_DEFAULT_COMP_REMOTE, h.sync, NULL));
  REFUSED(LCI_putl(h.ep, l, h.sync, 0, 0, remote, LCI_DEFAULT_COMP_REMOTE, NULL));
  REFUSED(LCI_putla(h.ep, l, h.sync, 0, 0, LCI_DEFAULT_COMP_REMOTE, NULL));
  REFUSED(LCI_putv(h.ep, v, h.sync, 0, 0, v, LCI_DEFAULT_COMP_REMOTE, NULL));
  REFUSED(LCI_putvs(h.ep, v, 0, 0, v, LCI_DEFAULT_COMP_REMOTE, NULL));
  REFUSED(LCI_putva(h.ep, v, h.sync, 0, 0, LCI_DEFAULT_COMP_REMOTE, NULL));
  REFUSED(LCI_getl(h.ep, &l, 8, h.sync, 0, 0, remote, LCI_DEFAULT_COMP_REMOTE, NULL));
  REFUSED(LCI_getv(h.ep, v, h.sync, 0, 0, v, LCI_DEFAULT_COMP_REMOTE, NULL));
  REFUSED(LCI_fence_wait(h.ep));
  REFUSED(LCI_gfence_wait(h.ep));
  REFUSED(LCIX_barrier(h.ep, 0, h.sync, NULL, &h.collective));
  REFUSED(LCIX_bcastm(h.ep, m, 0, 0, h.sync, NULL, &h.collective));
  REFUSED(LCIX_bcastl(h.ep, l, 0, 0, h.sync, NULL, &h.collective));
  REFUSED(LCIX_allreducem(h.ep, m, combine, 0, h.sync, NULL, &h.collective));
  REFUSED(LCIX_allreducel(h.ep, l, combine, 0, h.sync, NULL, &h.collective));
  REFUSED(LCIX_coll_progress(&h.collective));
}

static void all(struct handles h) {
  int flag = 1;
  CHECK(LCI_initialized(&flag) == LCI_OK && flag == 0);
  objects(h);
  completions(h);
  messages(h);
}

int main(void) {
  static char bytes[64];
  struct handles none, first, ended;
  LCI_request_t request;
  LCI_short_t s;
  memset(&none, 0, sizeof none);
  all(none);
  CHECK(LCI_initialize() == LCI_OK);
  first = none;
  CHECK(LCI_device_init(&first.device) == LCI_OK);
  CHECK(LCI_plist_create(&first.plist) == LCI_OK);
  CHECK(LCI_endpoint_init(&first.ep, first.device, first.plist) == LCI_OK);
  CHECK(LCI_queue_create(first.device, &first.queue) == LCI_OK);
  CHECK(LCI_sync_create(first.device, 1, &first.sync) == LCI_OK);
  CHECK(LCI_handler_create(first.device, ignore, &first.handler) == LCI_OK);
  CHECK(LCI_memory_register(LCI_UR_DEVICE, bytes, sizeof bytes, &first.segment) == LCI_OK);
  ended = first;
  CHECK(LCI_plist_free(&ended.plist) == LCI_OK && LCI_memory_deregister(&ended.segment) == LCI_OK);
  CHECK(LCI_finalize() == LCI_OK);
  all(first);
  CHECK(LCI_initialize() == LCI_OK);
  memset(&s, 0, sizeof s);
  AGAIN(LCI_puts(LCI_UR_ENDPOINT, s, LCI_RANK, 7, LCI_DEFAULT_COMP_REMOTE));
  AGAIN(LCI_queue_pop(LCI_UR_CQ, &request));
  CHECK(request.tag == 7);
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("outside");
}
