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
