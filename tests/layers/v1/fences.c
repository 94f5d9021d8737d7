/* Tests the guarantees of fences for sends, puts and gets. After LCI_fence_wait() all operations that this process has
 * issued on the endpoint are complete here; after LCI_gfence_wait() those of all ranks are complete at both ends. No
 * call of LCI_progress() follows. Receives are posted late, so that the fences have to wait. A barrier does not end
 * early for a message that can't be delivered. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "tests/layers/v1/check.h"

enum { sizes = 3, turns = 5 };
static const size_t size_of[sizes] = {8, 5000, 200000};
static PER_RANK int next, before;
static PER_RANK unsigned char* window;
static PER_RANK LCI_segment_t mine, theirs;
static PER_RANK unsigned char* their_window;
static PER_RANK LCI_comp_t issued, received;

static void exchange(LCI_endpoint_t ep) {
  struct {
    char text[LCI_SEGMENT_SERIALIZED_MAX];
    unsigned char* address;
  } out, in;
  LCI_mbuffer_t m;
  LCI_request_t r;
  memset(&out, 0, sizeof out);
  CHECK(LCI_memory_register(LCI_UR_DEVICE, window, 1 << 20, &mine) == LCI_OK);
  CHECK(LCI_segment_serialize(mine, out.text) == LCI_OK);
  out.address = window;
  m.address = &in;
  m.length = sizeof in;
  AGAIN(LCI_recvm(ep, m, next, 1, received, NULL));
  m.address = &out;
  AGAIN(LCI_sendm(ep, m, before, 1));
  CHECK(LCI_queue_wait(received, &r) == LCI_OK);
  CHECK(LCI_segment_deserialize(in.text, &theirs) == LCI_OK);
  their_window = in.address;
}

static LCI_lbuffer_t buffer_at(LCI_segment_t segment, void* address, size_t size) {
  LCI_lbuffer_t b;
  b.segment = segment;
  b.address = address;
  b.length = size;
  return b;
}

/* Posts two long receives and one of an iovec, for messages of the previous rank. */
static void post_receives(LCI_endpoint_t ep, size_t n, unsigned char* into) {
  LCI_iovec_t none;
  memset(&none, 0, sizeof none);
  AGAIN(LCI_recvl(ep, buffer_at(LCI_SEGMENT_ALL, into, n), before, 2, received, NULL));
  AGAIN(LCI_recvl(ep, buffer_at(LCI_SEGMENT_ALL, NULL, 0), before, 3, received, NULL));
  AGAIN(LCI_recvv(ep, none, before, 4, received, NULL));
}

/* Issues six operations, all with local completion. Returns how many of them signal the target's queue. */
static int issue(LCI_endpoint_t ep, size_t n, unsigned char* from, unsigned char* into, LCI_lbuffer_t* got,
                 LCI_lbuffer_t* of_vector) {
  const LCI_lbuffer_t local = buffer_at(LCI_SEGMENT_ALL, from, n);
  LCI_iovec_t v;
  memset(&v, 0, sizeof v);
  *of_vector = local;
  v.lbuffers = of_vector;
  v.count = 1;
  *got = buffer_at(LCI_SEGMENT_ALL, into, n);
  AGAIN(LCI_sendl(ep, local, next, 2, issued, NULL));
  AGAIN(LCI_sendl(ep, local, next, 3, issued, NULL));
  AGAIN(LCI_sendv(ep, v, next, 4, issued, NULL));
  AGAIN(LCI_putl(ep, local, issued, next, 5, buffer_at(theirs, their_window, n), LCI_DEFAULT_COMP_REMOTE, NULL));
  AGAIN(LCI_putla(ep, local, issued, next, 6, LCI_DEFAULT_COMP_REMOTE, NULL));
  AGAIN(LCI_getl(ep, got, n, issued, next, 7, buffer_at(theirs, their_window + (1 << 19), n), LCI_DEFAULT_COMP_REMOTE,
                 NULL));
  return 3;
}

static void take_issued(void) {
  int seen = 0, i;
  LCI_request_t r;
  for (i = 0; i < 6; ++i)
    if (LCI_queue_pop(issued, &r) == LCI_OK && r.flag == LCI_OK && r.rank == next) seen |= 1 << r.tag;
  CHECK(seen == 0xfc);
  CHECK(LCI_queue_pop(issued, &r) == LCI_ERR_RETRY);
}

/* Pops `n` completions from the queue, without progress. Frees buffers that the library has allocated. */
static void take_received(LCI_comp_t queue, int n, int tags) {
  int seen = 0, i;
  LCI_request_t r;
  size_t length = 0;
  CHECK(LCI_queue_len(queue, &length) == LCI_OK && length == (size_t)n);
  for (i = 0; i < n; ++i) {
    if (LCI_queue_pop(queue, &r) != LCI_OK) break;
    CHECK(r.flag == LCI_OK && r.rank == before);
    seen |= 1 << r.tag;
    if (r.tag == 3 || r.tag == 6) CHECK(LCI_lbuffer_free(r.data.lbuffer) == LCI_OK);
    if (r.tag == 8) CHECK(LCI_mbuffer_free(r.data.mbuffer) == LCI_OK);
    if (r.tag == 4) {
      CHECK(LCI_lbuffer_free(r.data.iovec.lbuffers[0]) == LCI_OK);
      free(r.data.iovec.lbuffers);
      free(r.data.iovec.piggy_back.address);
    }
  }
  CHECK(seen == tags);
}

static void nap(void) {
  const struct timespec t = {0, 10 * 1000 * 1000};
  nanosleep(&t, NULL);
}

/* A message to a completion object that does not exist arrives while its target waits in a barrier. The barrier goes
 * on, as the other ranks wait for it, and the next LCI_progress() reports the message. */
static void barrier_with_lost_message(void) {
  LCI_short_t word;
  LCI_error_t code;
  int failures = 0;
  time_t end;
  int i;
  memset(&word, 0, sizeof word);
  CHECK(LCI_barrier() == LCI_OK);
  while ((code = LCI_puts(LCI_UR_ENDPOINT, word, next, 5, 4000)) == LCI_ERR_RETRY)
    failures += LCI_progress(LCI_UR_DEVICE) == LCI_ERR_FATAL;
  CHECK(code == LCI_OK);
  if (LCI_RANK == 0) nap(); /* the others wait meanwhile */
  CHECK(LCI_barrier() == LCI_OK);
  end = time(NULL) + 60;
  while (failures == 0 && time(NULL) < end) failures += LCI_progress(LCI_UR_DEVICE) == LCI_ERR_FATAL;
  CHECK(failures == 1);
  for (i = 0; i < 100; ++i) CHECK(LCI_progress(LCI_UR_DEVICE) != LCI_ERR_FATAL);
  CHECK(LCI_barrier() == LCI_OK);
}

/* A message that nobody receives before LCI_finalize() does not count for the fences of the library's next life. */
static void end_with_unreceived_message(void) {
  LCI_short_t word;
  memset(&word, 0, sizeof word);
  AGAIN(LCI_sends(LCI_UR_ENDPOINT, word, next, 10));
  CHECK(LCI_finalize() == LCI_OK);
  CHECK(LCI_initialize() == LCI_OK);
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
}

int main(void) {
  unsigned char *from, *into, *back;
  LCI_lbuffer_t got, of_vector;
  LCI_mbuffer_t medium;
  LCI_short_t word = {{1}};
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  LCI_request_t r;
  int turn, arrivals;
  if (LCI_initialize() != LCI_OK) return 1;
  next = (LCI_RANK + 1) % LCI_NUM_PROCESSES;
  before = (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES;
  window = calloc(1, 1 << 20);
  from = malloc(size_of[sizes - 1]);
  into = malloc(size_of[sizes - 1]);
  back = malloc(size_of[sizes - 1]);
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &issued) == LCI_OK && LCI_queue_create(LCI_UR_DEVICE, &received) == LCI_OK);
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  CHECK(LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist) == LCI_OK);
  CHECK(LCI_plist_free(&plist) == LCI_OK);
  exchange(ep);
  for (turn = 0; turn < turns; ++turn) {
    const size_t n = size_of[turn % sizes];
    fill_pattern(window + (1 << 19), n, LCI_RANK, 50);
    fill_pattern(from, n, LCI_RANK, 51);
    memset(into, 0, n);
    memset(back, 0, n);
    memset(window, 0, n);
    CHECK(LCI_barrier() == LCI_OK);
    /* The local fence. First post the receives that the previous rank's sends need to complete. */
    arrivals = issue(ep, n, from, back, &got, &of_vector);
    if (LCI_RANK % 2 == 1) nap();
    post_receives(ep, n, into);
    CHECK(LCI_fence_wait(ep) == LCI_OK);
    take_issued();
    CHECK(has_pattern(back, n, next, 50));
    memset(from, 0, n); /* all reads of it have completed */
    CHECK(LCI_gfence_wait(ep) == LCI_OK);
    take_received(LCI_UR_CQ, arrivals, 1 << 5 | 1 << 6 | 1 << 7);
    take_received(received, 3, 1 << 2 | 1 << 3 | 1 << 4);
    CHECK(has_pattern(window, n, before, 51) && has_pattern(into, n, before, 51));
    /* The group's fence without a local fence, also for operations that complete locally at once. */
    memset(window, 0, n);
    fill_pattern(from, n, LCI_RANK, 52);
    CHECK(LCI_barrier() == LCI_OK);
    arrivals = issue(ep, n, from, back, &got, &of_vector);
    medium.address = from;
    medium.length = 8;
    AGAIN(LCI_putma(ep, medium, next, 8, LCI_DEFAULT_COMP_REMOTE));
    AGAIN(LCI_puts(ep, word, next, 9, LCI_DEFAULT_COMP_REMOTE));
    if (LCI_RANK % 2 == 0) nap();
    post_receives(ep, n, into);
    CHECK(LCI_gfence_wait(ep) == LCI_OK);
    take_issued();
    take_received(LCI_UR_CQ, arrivals + 2, 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9);
    take_received(received, 3, 1 << 2 | 1 << 3 | 1 << 4);
    CHECK(has_pattern(window, n, before, 52) && has_pattern(into, n, before, 52));
  }
  CHECK(LCI_queue_pop(LCI_UR_CQ, &r) == LCI_ERR_RETRY);
  barrier_with_lost_message();
  CHECK(LCI_memory_deregister(&mine) == LCI_OK && LCI_memory_deregister(&theirs) == LCI_OK);
  CHECK(LCI_endpoint_free(&ep) == LCI_OK);
  free(window);
  free(from);
  free(into);
  free(back);
  end_with_unreceived_message();
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("fences");
}
