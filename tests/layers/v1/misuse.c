/* Invalid calls, one by name: prints the code that the call has returned. test_misuse.py compares it and
 * the message. */
#define _POSIX_C_SOURCE 200809L
#include <lci.h>
#include <pthread.h>
#include <string.h>

static LCI_short_t zero;
static LCI_mbuffer_t none;
static LCI_lbuffer_t no_buffer;
static int inside;
static int stop;

static LCI_error_t freed_endpoint(void) {
  LCI_endpoint_t ep, copy;
  LCI_plist_t plist;
  LCI_plist_create(&plist);
  LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist);
  copy = ep;
  LCI_endpoint_free(&ep);
  return LCI_puts(copy, zero, 0, 0, LCI_DEFAULT_COMP_REMOTE);
}
static LCI_comp_t freed_sync(void) {
  LCI_comp_t sync, copy;
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  copy = sync;
  LCI_sync_free(&sync);
  return copy;
}
static LCI_error_t freed_packet(void) {
  LCI_mbuffer_t buffer;
  LCI_mbuffer_alloc(LCI_UR_DEVICE, &buffer);
  LCI_mbuffer_free(buffer);
  return LCI_mbuffer_free(buffer);
}
static LCI_error_t sent_packet(void) {
  LCI_mbuffer_t buffer;
  LCI_mbuffer_alloc(LCI_UR_DEVICE, &buffer);
  buffer.length = 8;
  LCI_mbuffer_free(buffer);
  return LCI_sendmn(LCI_UR_ENDPOINT, buffer, 0, 0);
}
static LCI_error_t freed_plist(void) {
  LCI_plist_t plist, copy;
  LCI_plist_create(&plist);
  copy = plist;
  LCI_plist_free(&plist);
  return LCI_plist_set_match_type(copy, LCI_MATCH_TAG);
}
static LCI_error_t unregistered(void) {
  static int value, other;
  LCI_lbuffer_t b = {NULL, &other, sizeof other};
  LCI_memory_register(LCI_UR_DEVICE, &value, 1, &b.segment);
  return LCI_sendl(LCI_UR_ENDPOINT, b, 0, 0, NULL, NULL);
}
static LCI_error_t segment_of_other_device(void) {
  static int value;
  LCI_device_t device;
  LCI_lbuffer_t b = {NULL, &value, sizeof value};
  LCI_device_init(&device);
  LCI_memory_register(device, &value, sizeof value, &b.segment);
  return LCI_sendl(LCI_UR_ENDPOINT, b, 0, 0, NULL, NULL);
}
static LCI_error_t collective(int root, LCI_op_t op, int handle) {
  LCIX_collective_t c;
  return op == NULL ? LCIX_allreducem(LCI_UR_ENDPOINT, none, op, 0, NULL, NULL, &c)
                    : LCIX_bcastm(LCI_UR_ENDPOINT, none, root, 0, NULL, NULL, handle ? &c : NULL);
}
static void op(void* to, const void* from, size_t n) { memcpy(to, from, n); }
static LCI_error_t after_end(void) {
  LCI_comp_t sync;
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  LCI_finalize();
  return LCI_recvs(NULL, 0, 0, sync, NULL);
}
static LCI_error_t freed_segment(void) {
  static int value;
  LCI_segment_t segment, copy;
  LCI_memory_register(LCI_UR_DEVICE, &value, sizeof value, &segment);
  copy = segment;
  LCI_memory_deregister(&segment);
  return LCI_memory_deregister(&copy);
}
static LCI_error_t remote_all(void) {
  static int value;
  LCI_lbuffer_t b = {LCI_SEGMENT_ALL, &value, sizeof value};
  return LCI_putl(LCI_UR_ENDPOINT, b, NULL, 0, 0, b, LCI_NO_COMP_REMOTE, NULL);
}
static LCI_error_t remote_range(void) {
  static int value[2];
  LCI_lbuffer_t b = {LCI_SEGMENT_ALL, value, sizeof value}, remote = b;
  LCI_memory_register(LCI_UR_DEVICE, value, sizeof value[0], &remote.segment);
  return LCI_putl(LCI_UR_ENDPOINT, b, NULL, 0, 0, remote, LCI_NO_COMP_REMOTE, NULL);
}
static LCI_error_t segment_text(void) {
  char text[LCI_SEGMENT_SERIALIZED_MAX] = "nonsense";
  LCI_segment_t segment;
  return LCI_segment_deserialize(text, &segment);
}
static LCI_error_t large_medium(void) {
  LCI_mbuffer_t b;
  b.length = (size_t)LCI_MEDIUM_SIZE + 1;
  b.address = malloc(b.length);
  return LCI_sendm(LCI_UR_ENDPOINT, b, 0, 0);
}
static LCI_error_t null_buffer(void) {
  LCI_mbuffer_t b = {NULL, 8};
  return LCI_sendm(LCI_UR_ENDPOINT, b, 0, 0);
}
static LCI_error_t put_to_null(void) {
  LCI_mbuffer_t from = {&inside, sizeof inside}, to = {NULL, sizeof inside};
  return LCI_putm(LCI_UR_ENDPOINT, from, 0, 0, to, LCI_DEFAULT_COMP_REMOTE);
}
static LCI_error_t unknown_completion(uintptr_t number) {
  LCI_error_t code = LCI_puts(LCI_UR_ENDPOINT, zero, 0, 5, number);
  if (code != LCI_OK) return code;
  while ((code = LCI_progress(LCI_UR_DEVICE)) == LCI_ERR_RETRY) continue;
  return code;
}
static LCI_error_t unknown_long(uintptr_t number) {
  static int value;
  LCI_lbuffer_t b = {LCI_SEGMENT_ALL, &value, sizeof value};
  LCI_comp_t sync;
  LCI_request_t r;
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  while (LCI_putla(LCI_UR_ENDPOINT, b, sync, 0, 5, number, NULL) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  while (LCI_sync_test(sync, &r) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  return r.flag;
}
static LCI_error_t kind_of_default(void) {
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  LCI_comp_t sync;
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  LCI_plist_create(&plist);
  LCI_plist_set_default_comp(plist, sync);
  return LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist);
}
static LCI_error_t too_many_endpoints(void) {
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  int i;
  LCI_plist_create(&plist);
  for (i = 1; i < LCI_MAX_ENDPOINTS; ++i)
    if (LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist) != LCI_OK) return LCI_OK;
  return LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist);
}
static LCI_error_t iovec_count(void) {
  LCI_iovec_t v = {{NULL, 0}, NULL, 0};
  v.count = LCI_IOVEC_SIZE + 1;
  v.lbuffers = calloc((size_t)v.count, sizeof *v.lbuffers);
  return LCI_sendv(LCI_UR_ENDPOINT, v, 0, 0, NULL, NULL);
}
static LCI_error_t piggy_back(void) {
  LCI_iovec_t v = {{NULL, 0}, NULL, 0};
  v.piggy_back.length = LCI_get_iovec_piggy_back_size(0) + 1;
  v.piggy_back.address = malloc(v.piggy_back.length);
  return LCI_sendv(LCI_UR_ENDPOINT, v, 0, 0, NULL, NULL);
}
static void progress_in_handler(LCI_request_t r) {
  (void)r;
  inside = (int)LCI_progress(LCI_UR_DEVICE);
}
static LCI_error_t handler_calls(void) {
  LCI_comp_t handler;
  inside = -1;
  LCI_handler_create(LCI_UR_DEVICE, progress_in_handler, &handler);
  LCI_puts(LCI_UR_ENDPOINT, zero, 0, 0, (uintptr_t)handler);
  while (inside < 0) LCI_progress(LCI_UR_DEVICE);
  return (LCI_error_t)inside;
}
static void* poll_until_stopped(void* unused) {
  while (!__sync_fetch_and_add(&stop, 0)) LCI_progress(LCI_UR_DEVICE);
  return unused;
}
static LCI_error_t two_threads(void) {
  pthread_t thread;
  LCI_error_t code = LCI_OK;
  pthread_create(&thread, NULL, poll_until_stopped, NULL);
  while (code != LCI_ERR_FATAL) code = LCI_progress(LCI_UR_DEVICE);
  __sync_fetch_and_add(&stop, 1);
  pthread_join(thread, NULL);
  return code;
}
static LCI_error_t error_of_progress(void) {
  LCI_error_t code = LCI_OK;
  while (code != LCI_ERR_FATAL) code = LCI_progress(LCI_UR_DEVICE);
  return code;
}
/* A receive whose completion object is freed before its message comes. */
static LCI_error_t freed_for_receive(int kind) {
  static long value;
  LCI_mbuffer_t medium = {&value, sizeof value};
  LCI_lbuffer_t buffer = {LCI_SEGMENT_ALL, &value, sizeof value};
  LCI_iovec_t iovec = {{NULL, 0}, NULL, 0};
  LCI_comp_t comp;
  iovec.lbuffers = &buffer;
  iovec.count = 1;
  if (kind % 2)
    LCI_queue_create(LCI_UR_DEVICE, &comp);
  else
    LCI_sync_create(LCI_UR_DEVICE, 1 + kind % 4, &comp);
  if (kind == 0 || kind == 1) LCI_recvs(LCI_UR_ENDPOINT, 0, 0, comp, NULL);
  if (kind == 2) LCI_recvm(LCI_UR_ENDPOINT, medium, 0, 0, comp, NULL);
  if (kind == 3) LCI_recvmn(LCI_UR_ENDPOINT, 0, 0, comp, NULL);
  if (kind == 4) LCI_recvl(LCI_UR_ENDPOINT, buffer, 0, 0, comp, NULL);
  if (kind == 5) LCI_recvv(LCI_UR_ENDPOINT, iovec, 0, 0, comp, NULL);
  if ((kind % 2 ? LCI_queue_free(&comp) : LCI_sync_free(&comp)) != LCI_OK) return LCI_OK;
  if (kind < 2) LCI_sends(LCI_UR_ENDPOINT, zero, 0, 0);
  if (kind == 2 || kind == 3) LCI_sendm(LCI_UR_ENDPOINT, medium, 0, 0);
  if (kind == 4) LCI_sendl(LCI_UR_ENDPOINT, buffer, 0, 0, NULL, NULL);
  if (kind == 5) LCI_sendv(LCI_UR_ENDPOINT, iovec, 0, 0, NULL, NULL);
  return error_of_progress();
}
static LCI_error_t freed_default(void) {
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  LCI_comp_t queue;
  LCI_queue_create(LCI_UR_DEVICE, &queue);
  LCI_plist_create(&plist);
  LCI_plist_set_default_comp(plist, queue);
  LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist);
  LCI_queue_free(&queue);
  LCI_puts(ep, zero, 0, 0, LCI_DEFAULT_COMP_REMOTE);
  return error_of_progress();
}
static LCI_error_t invented_default(void) {
  LCI_plist_t plist;
  LCI_plist_create(&plist);
  return LCI_plist_set_default_comp(plist, &inside);
}
static LCI_error_t receives_of_freed_endpoint(int kind) {
  static long value;
  LCI_mbuffer_t medium = {&value, sizeof value};
  LCI_lbuffer_t buffer = {LCI_SEGMENT_ALL, &value, sizeof value};
  LCI_iovec_t iovec = {{NULL, 0}, NULL, 0};
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  LCI_plist_create(&plist);
  LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist);
  /* One that is complete does not count. */
  LCI_recvs(ep, 0, 1, LCI_UR_CQ, NULL);
  LCI_sends(ep, zero, 0, 1);
  while (LCI_queue_pop(LCI_UR_CQ, &(LCI_request_t){0}) != LCI_OK) LCI_progress(LCI_UR_DEVICE);
  if (kind == 0) LCI_recvs(ep, 0, 0, LCI_UR_CQ, NULL);
  if (kind == 1) LCI_recvm(ep, medium, 0, 0, LCI_UR_CQ, NULL);
  if (kind == 2) LCI_recvl(ep, buffer, 0, 0, LCI_UR_CQ, NULL);
  if (kind == 3) LCI_recvv(ep, iovec, 0, 0, LCI_UR_CQ, NULL);
  return LCI_endpoint_free(&ep);
}
static LCI_error_t receive_of_freed_device(void) {
  LCI_device_t device;
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  LCI_device_init(&device);
  LCI_plist_create(&plist);
  LCI_endpoint_init(&ep, device, plist);
  LCI_recvs(ep, 0, 0, LCI_UR_CQ, NULL);
  return LCI_device_free(&device);
}
static LCI_error_t invented_packet(int way) {
  LCI_mbuffer_t mine = {&inside, sizeof inside};
  if (way == 0) return LCI_mbuffer_free(mine);
  if (way == 1) return LCI_sendmn(LCI_UR_ENDPOINT, mine, 0, 0);
  if (way == 2) return LCI_putmna(LCI_UR_ENDPOINT, mine, 0, 0, LCI_DEFAULT_COMP_REMOTE);
  return LCI_putmn(LCI_UR_ENDPOINT, mine, 0, 0, mine, LCI_DEFAULT_COMP_REMOTE);
}
static LCI_error_t invented_long_buffer(void) {
  LCI_lbuffer_t mine = {LCI_SEGMENT_ALL, &inside, sizeof inside};
  return LCI_lbuffer_free(mine);
}
static LCI_error_t freed_long_buffer(void) {
  LCI_lbuffer_t buffer;
  LCI_lbuffer_alloc(LCI_UR_DEVICE, 100, &buffer);
  LCI_lbuffer_free(buffer);
  return LCI_lbuffer_free(buffer);
}
static LCI_error_t received_iovec(int count, LCI_lbuffer_t* buffers, LCI_comp_t completion) {
  LCI_iovec_t iovec = {{NULL, 0}, NULL, 0};
  iovec.piggy_back.address = &inside;
  iovec.piggy_back.length = sizeof inside;
  iovec.lbuffers = buffers;
  iovec.count = count;
  return LCI_recvv(LCI_UR_ENDPOINT, iovec, 0, 0, completion, NULL);
}
static LCI_error_t invented_collective(void) {
  LCIX_collective_t c = (LCIX_collective_t)(void*)&inside;
  return LCIX_coll_progress(&c);
}
static LCI_error_t freed_common_queue(void) {
  LCI_comp_t queue = LCI_UR_CQ;
  return LCI_queue_free(&queue);
}
static LCI_error_t truncated(void) {
  int small;
  long large = 1;
  LCI_mbuffer_t from = {&large, sizeof large}, into = {&small, sizeof small};
  LCI_comp_t sync;
  LCI_request_t r;
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  LCI_recvm(LCI_UR_ENDPOINT, into, 0, 0, sync, NULL);
  LCI_sendm(LCI_UR_ENDPOINT, from, 0, 0);
  LCI_sync_wait(sync, &r);
  return r.flag;
}

static LCI_error_t call(const char* name) {
  LCI_comp_t comp = NULL;
  LCI_request_t r;
  LCI_endpoint_t no_endpoint = NULL;
  LCI_device_t device = LCI_UR_DEVICE;
  LCI_segment_t segment;
  LCI_plist_t plist;
  size_t n;
#define CASE(text, expression) \
  if (strcmp(name, text) == 0) return expression
  CASE("tag", LCI_puts(LCI_UR_ENDPOINT, zero, 0, 65536, LCI_DEFAULT_COMP_REMOTE));
  CASE("tag of a receive", LCI_recvs(LCI_UR_ENDPOINT, 0, 70000, LCI_UR_CQ, NULL));
  CASE("rank", LCI_sends(LCI_UR_ENDPOINT, zero, 1, 0));
  CASE("rank negative", LCI_recvs(LCI_UR_ENDPOINT, -1, 0, LCI_UR_CQ, NULL));
  CASE("medium size", large_medium());
  CASE("endpoint null", LCI_puts(no_endpoint, zero, 0, 0, LCI_DEFAULT_COMP_REMOTE));
  CASE("endpoint freed", freed_endpoint());
  CASE("endpoint of the library", LCI_endpoint_free(&LCI_UR_ENDPOINT));
  CASE("endpoints", too_many_endpoints());
  CASE("device null", LCI_mbuffer_alloc(NULL, &none));
  CASE("device of the library", LCI_device_free(&device));
  CASE("buffer null", null_buffer());
  CASE("result null", LCI_queue_pop(LCI_UR_CQ, NULL));
  CASE("results null", LCI_queue_pop_multiple(LCI_UR_CQ, 1, NULL, &n));
  CASE("awaited results null", LCI_queue_wait_multiple(LCI_UR_CQ, 1, NULL));
  CASE("comp freed", LCI_recvs(LCI_UR_ENDPOINT, 0, 0, freed_sync(), NULL));
  CASE("comp invented", LCI_recvs(LCI_UR_ENDPOINT, 0, 0, (LCI_comp_t)(uintptr_t)123456, NULL));
  CASE("comp null where allocated", LCI_recvl(LCI_UR_ENDPOINT, no_buffer, 0, 0, NULL, NULL));
  CASE("comp null for a short", LCI_recvs(LCI_UR_ENDPOINT, 0, 0, NULL, NULL));
  CASE("queue is a sync", (LCI_sync_create(NULL, 1, &comp), LCI_queue_pop(comp, &r)));
  CASE("sync is a queue", LCI_sync_test(LCI_UR_CQ, &r));
  CASE("sync freed", LCI_sync_test(freed_sync(), &r));
  CASE("queue freed", LCI_queue_len(freed_sync(), &n));
  CASE("threshold", LCI_sync_create(NULL, 0, &comp));
  CASE("handler null", LCI_handler_create(NULL, NULL, &comp));
  CASE("plist freed", freed_plist());
  CASE("packet freed twice", freed_packet());
  CASE("packet freed and sent", sent_packet());
  CASE("plist null", LCI_plist_set_default_comp(NULL, NULL));
  CASE("kind of default", kind_of_default());
  CASE("segment not of buffer", unregistered());
  CASE("segment of other device", segment_of_other_device());
  CASE("segment freed", freed_segment());
  CASE("segment all is remote", remote_all());
  CASE("remote range", remote_range());
  CASE("remote null", put_to_null());
  CASE("segment text", segment_text());
  CASE("iovec count", iovec_count());
  CASE("piggy-back", piggy_back());
  CASE("completion unknown", unknown_completion((uintptr_t)4000));
  CASE("completion freed", unknown_completion((uintptr_t)freed_sync()));
  CASE("completion impossible", unknown_completion((uintptr_t)1 << 40));
  CASE("completion none", LCI_puts(LCI_UR_ENDPOINT, zero, 0, 0, LCI_NO_COMP_REMOTE));
  CASE("long to unknown", unknown_long((uintptr_t)4000));
  CASE("handler calls", handler_calls());
  CASE("two threads", two_threads());
  CASE("truncated", truncated());
  CASE("sync freed, receive of a short", freed_for_receive(0));
  CASE("queue freed, receive of a short", freed_for_receive(1));
  CASE("sync freed, receive of a medium", freed_for_receive(2));
  CASE("queue freed, receive into a packet", freed_for_receive(3));
  CASE("sync freed, receive of a long", freed_for_receive(4));
  CASE("queue freed, receive of an iovec", freed_for_receive(5));
  CASE("default freed", freed_default());
  CASE("default invented", invented_default());
  CASE("queue of the library", freed_common_queue());
  CASE("endpoint freed, receive of a short", receives_of_freed_endpoint(0));
  CASE("endpoint freed, receive of a medium", receives_of_freed_endpoint(1));
  CASE("endpoint freed, receive of a long", receives_of_freed_endpoint(2));
  CASE("endpoint freed, receive of an iovec", receives_of_freed_endpoint(3));
  CASE("packet invented and freed", invented_packet(0));
  CASE("packet invented and sent", invented_packet(1));
  CASE("packet invented and put", invented_packet(2));
  CASE("packet invented and put to an address", invented_packet(3));
  CASE("long buffer invented", invented_long_buffer());
  CASE("long buffer freed twice", freed_long_buffer());
  CASE("iovec count of a receive", received_iovec(-1, &no_buffer, LCI_UR_CQ));
  CASE("iovec to be allocated for nobody", received_iovec(1, NULL, NULL));
  CASE("collective invented", invented_collective());
  CASE("no result of a queue", LCI_queue_create(LCI_UR_DEVICE, NULL));
  CASE("no result of a synchronizer", LCI_sync_create(LCI_UR_DEVICE, 1, NULL));
  CASE("no result of a handler", LCI_handler_create(LCI_UR_DEVICE, progress_in_handler, NULL));
  CASE("no result of a registration", LCI_memory_register(LCI_UR_DEVICE, &inside, sizeof inside, NULL));
  CASE("no result of a long buffer", LCI_lbuffer_alloc(LCI_UR_DEVICE, 8, NULL));
  CASE("no result of a device", LCI_device_init(NULL));
  CASE("no result of an endpoint", LCI_endpoint_init(NULL, LCI_UR_DEVICE, NULL));
  CASE("no result of a length", LCI_queue_len(LCI_UR_CQ, NULL));
  CASE("no awaited result", LCI_queue_wait(LCI_UR_CQ, NULL));
  CASE("no device of a registration", LCI_memory_register(NULL, &inside, sizeof inside, &segment));
  CASE("no device of a long buffer", LCI_lbuffer_alloc(NULL, 8, &no_buffer));
  CASE("no device of an endpoint", LCI_endpoint_init(&no_endpoint, NULL, NULL));
  CASE("no endpoint of a list", LCI_plist_get(NULL, &plist));
  CASE("device freed, receive of a short", receive_of_freed_device());
  CASE("root", collective(1, op, 1));
  CASE("op null", collective(0, NULL, 1));
  CASE("collective null", collective(0, op, 0));
  CASE("after the end", after_end());
  fprintf(stderr, "no case %s\n", name);
  exit(2);
}

int main(int argc, char** argv) {
  LCI_error_t code;
  if (argc != 2) return 2;
  if (strcmp(argv[1], "before") == 0) {
    printf("%d\n", (int)LCI_barrier());
    return 0;
  }
  if (LCI_initialize() != LCI_OK) return 3;
  code = call(argv[1]);
  printf("%d\n", (int)code);
  fflush(stdout);
  return 0;
}
