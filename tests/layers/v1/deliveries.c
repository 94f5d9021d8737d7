/* While one thread waits for a fence, another delivers completions, and takes long. When the fence returns, each
 * completion was delivered. The last rank sends and puts to the rank before it. With three ranks the messages of a
 * group fence come from another rank than the puts, so that they are received while a put is being delivered. */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/layers/v1/check.h"

enum { turns = 6, long_size = 100000, page_size = 4096 };
static int source, target; /* ranks */
static atomic_int ended, stops, not_freed;
static char from[long_size], into[long_size];
static LCI_endpoint_t ep;
static LCI_comp_t handler, received;
static char* page; /* of this rank */

static void sleep_ms(long ms) {
  struct timespec t;
  t.tv_sec = 0;
  t.tv_nsec = ms * 1000000;
  nanosleep(&t, NULL);
}
/* The library has allocated what a put fills. */
static LCI_error_t free_data(LCI_request_t r) {
  LCI_error_t code;
  if (r.type == LCI_MEDIUM) return LCI_mbuffer_free(r.data.mbuffer);
  if (r.type == LCI_LONG) return LCI_lbuffer_free(r.data.lbuffer);
  if (r.type != LCI_IOVEC) return LCI_OK;
  code = LCI_lbuffer_free(r.data.iovec.lbuffers[0]);
  free(r.data.iovec.lbuffers);
  return code;
}
static void on_completion(LCI_request_t r) {
  sleep_ms(30);
  if (LCI_RANK == target && free_data(r) != LCI_OK) atomic_fetch_add(&not_freed, 1);
  atomic_fetch_add(&ended, 1);
}
static void* make_progress(void* unused) {
  while (!atomic_load(&stops)) LCI_progress(LCI_UR_DEVICE);
  return unused;
}
/* The thread that writes to the page first waits here. */
static void on_fault(int number, siginfo_t* info, void* context) {
  char* const at = (char*)info->si_addr;
  (void)context;
  if (at < page || at >= page + page_size) _exit(128 + number);
  sleep_ms(100);
  mprotect(page, page_size, PROT_READ | PROT_WRITE);
}

static void free_endpoint(LCI_request_t r) {
  CHECK(LCI_endpoint_free((LCI_endpoint_t*)r.user_context) == LCI_OK);
  atomic_fetch_add(&ended, 1);
}

static LCI_lbuffer_t long_buffer(void* address) {
  LCI_lbuffer_t b;
  b.segment = LCI_SEGMENT_ALL;
  b.address = address;
  b.length = long_size;
  return b;
}
static LCI_iovec_t iovec(LCI_lbuffer_t* of) {
  LCI_iovec_t v;
  memset(&v, 0, sizeof v);
  v.lbuffers = of;
  v.count = 1;
  return v;
}
#define POST(call)                                      \
  do {                                                  \
    LCI_error_t code_;                                  \
    while ((code_ = (call)) == LCI_ERR_RETRY) continue; \
    CHECK(code_ == LCI_OK);                             \
  } while (0)

/* The receive is posted late, so that the sender's completion is delivered while it waits. */
static void test_fence(int vector) {
  LCI_lbuffer_t b = long_buffer(LCI_RANK == source ? from : into);
  atomic_store(&ended, 0);
  if (LCI_RANK == source) {
    if (vector)
      POST(LCI_sendv(ep, iovec(&b), target, 1, handler, NULL));
    else
      POST(LCI_sendl(ep, b, target, 1, handler, NULL));
    CHECK(LCI_fence_wait(ep) == LCI_OK);
    CHECK(atomic_load(&ended) == 1);
  } else if (LCI_RANK == target) {
    LCI_request_t r;
    sleep_ms(20);
    if (vector)
      POST(LCI_recvv(ep, iovec(&b), source, 1, received, NULL));
    else
      POST(LCI_recvl(ep, b, source, 1, received, NULL));
    while (LCI_queue_pop(received, &r) != LCI_OK) sleep_ms(1);
    CHECK(r.flag == LCI_OK);
  }
}

enum { put_short, put_medium, put_long, put_vector, n_puts };
static void test_group_fence(int what) {
  LCI_lbuffer_t b = long_buffer(from);
  LCI_mbuffer_t medium = {from, 100};
  LCI_short_t words;
  atomic_store(&ended, 0);
  memset(&words, 1, sizeof words);
  CHECK(LCI_gfence_wait(ep) == LCI_OK); /* no rank puts before all have set their number to 0 */
  if (LCI_RANK == source) {
    if (what == put_short) POST(LCI_puts(ep, words, target, 1, LCI_DEFAULT_COMP_REMOTE));
    if (what == put_medium) POST(LCI_putma(ep, medium, target, 1, LCI_DEFAULT_COMP_REMOTE));
    if (what == put_long) POST(LCI_putla(ep, b, NULL, target, 1, LCI_DEFAULT_COMP_REMOTE, NULL));
    if (what == put_vector) POST(LCI_putva(ep, iovec(&b), NULL, target, 1, LCI_DEFAULT_COMP_REMOTE, NULL));
  }
  CHECK(LCI_gfence_wait(ep) == LCI_OK);
  CHECK(atomic_load(&ended) == (LCI_RANK == target));
}

/* Puts data to a page that rank 1 can't write at first. */
static void test_placed(void) {
  LCI_mbuffer_t address = {&page, sizeof page}, remote = {NULL, 100}, local = {from, 100};
  LCI_request_t r;
  mprotect(page, page_size, PROT_NONE);
  if (LCI_RANK == target) POST(LCI_sendm(ep, address, source, 1));
  if (LCI_RANK == source) {
    address.address = &remote.address;
    POST(LCI_recvm(ep, address, target, 1, received, NULL));
    while (LCI_queue_pop(received, &r) != LCI_OK) sleep_ms(1);
    POST(LCI_putm(ep, local, target, 1, remote, LCI_NO_COMP_REMOTE));
  }
  CHECK(LCI_gfence_wait(ep) == LCI_OK);
  /* write() does not wait for the page: it fails. */
  if (LCI_RANK == target) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], page, 1) == 1);
    close(ends[0]);
    close(ends[1]);
  }
}

int main(void) {
  struct sigaction action;
  pthread_t thread;
  LCI_plist_t plist;
  int i;
  CHECK(LCI_initialize() == LCI_OK);
  source = LCI_NUM_PROCESSES - 1;
  target = source - 1;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  page = (char*)mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(LCI_handler_create(LCI_UR_DEVICE, on_completion, &handler) == LCI_OK);
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &received) == LCI_OK);
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  CHECK(LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, LCI_COMPLETION_HANDLER) == LCI_OK);
  CHECK(LCI_plist_set_default_comp(plist, handler) == LCI_OK);
  CHECK(LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist) == LCI_OK);
  CHECK(LCI_plist_free(&plist) == LCI_OK);
  CHECK(pthread_create(&thread, NULL, make_progress, NULL) == 0);
  for (i = 0; i < turns; ++i) {
    int what;
    test_fence(0);
    test_fence(1);
    for (what = 0; what < n_puts; ++what) test_group_fence(what);
    test_placed();
  }
  /* Who has got the last completion may free the endpoint at once. */
  for (i = 0; i < 200; ++i) {
    LCI_comp_t sync;
    LCI_endpoint_t one;
    LCI_lbuffer_t b = long_buffer(LCI_RANK == source ? from : into);
    CHECK(LCI_endpoint_init(&one, LCI_UR_DEVICE, NULL) == LCI_OK);
    CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync) == LCI_OK);
    if (LCI_RANK == source) POST(LCI_sendl(one, b, target, 1, sync, NULL));
    if (LCI_RANK == target) POST(LCI_recvl(one, b, source, 1, sync, NULL));
    if (LCI_RANK >= target) CHECK(LCI_sync_wait(sync, NULL) == LCI_OK);
    CHECK(LCI_endpoint_free(&one) == LCI_OK);
    CHECK(LCI_sync_free(&sync) == LCI_OK);
  }
  atomic_store(&stops, 1);
  pthread_join(thread, NULL);
  /* So may the handler of that completion, which the post may call. */
  for (i = 0; i < 10; ++i) {
    static LCI_comp_t freeing;
    LCI_endpoint_t one;
    LCI_lbuffer_t b = long_buffer(LCI_RANK == source ? from : into);
    LCI_request_t r;
    atomic_store(&ended, 0);
    if (i == 0) CHECK(LCI_handler_create(LCI_UR_DEVICE, free_endpoint, &freeing) == LCI_OK);
    CHECK(LCI_endpoint_init(&one, LCI_UR_DEVICE, NULL) == LCI_OK);
    if (LCI_RANK == source && i % 2 == 0) POST(LCI_sendl(one, b, target, 1, freeing, &one));
    if (LCI_RANK == source && i % 2 == 1) POST(LCI_sendv(one, iovec(&b), target, 1, freeing, &one));
    CHECK(LCI_barrier() == LCI_OK);
    if (LCI_RANK == target && i % 2 == 0) POST(LCI_recvl(one, b, source, 1, received, NULL));
    if (LCI_RANK == target && i % 2 == 1) POST(LCI_recvv(one, iovec(&b), source, 1, received, NULL));
    while (LCI_RANK == source && atomic_load(&ended) == 0) LCI_progress(LCI_UR_DEVICE);
    while (LCI_RANK == target && LCI_queue_pop(received, &r) != LCI_OK) LCI_progress(LCI_UR_DEVICE);
    if (LCI_RANK != source) CHECK(LCI_endpoint_free(&one) == LCI_OK);
  }
  CHECK(atomic_load(&not_freed) == 0);
  CHECK(LCI_endpoint_free(&ep) == LCI_OK);
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("deliveries");
}
