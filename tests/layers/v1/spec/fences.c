/* Section 4.11: fences. */
#include "tests/layers/v1/spec/spec.h"

#include <time.h>

enum { MESSAGES = 12, LENGTH = 50000 };

struct field { /* memory of this rank for messages of all others */
  char* bytes;
  LCI_segment_t segment;
  uint64_t addresses[64];
  LCI_segment_t far_segments[64];
};
static PER_RANK struct field field;

static size_t field_size(void) { return (size_t)LCI_NUM_PROCESSES * MESSAGES * LENGTH; }
static size_t place(int from, int i) { return ((size_t)from * MESSAGES + (size_t)i) * LENGTH; }
static LCI_lbuffer_t far_place(int to, int i) {
  return long_of(field.far_segments[to], (char*)(uintptr_t)field.addresses[to] + place(LCI_RANK, i), LENGTH);
}

static void open_field(void) {
  char mine[LCI_SEGMENT_SERIALIZED_MAX], all[64][LCI_SEGMENT_SERIALIZED_MAX];
  uint64_t address;
  int r;
  memset(mine, 0, sizeof mine);
  field.bytes = malloc(field_size());
  if (!field.bytes) give_up("memory");
  CHECK_OK(LCI_memory_register(LCI_UR_DEVICE, field.bytes, field_size(), &field.segment));
  CHECK_OK(LCI_segment_serialize(field.segment, mine));
  exchange(mine, all, sizeof mine);
  address = (uintptr_t)field.bytes;
  exchange(&address, field.addresses, sizeof address);
  for (r = 0; r < LCI_NUM_PROCESSES; ++r) CHECK_OK(LCI_segment_deserialize(all[r], &field.far_segments[r]));
}
static void close_field(void) {
  int r;
  CHECK_OK(LCI_barrier());
  for (r = 0; r < LCI_NUM_PROCESSES; ++r) CHECK_OK(LCI_memory_deregister(&field.far_segments[r]));
  CHECK_OK(LCI_memory_deregister(&field.segment));
  free(field.bytes);
}

/* Without any completion: after LCI_fence_wait() the sources may be overwritten, after LCI_gfence_wait() all data is at
 * its target. */
static void puts_and_fences(LCI_endpoint_t endpoint) {
  static const char* const calls[] = {"putl", "putm", "putvs", "putv"};
  char* source = malloc((size_t)MESSAGES * LENGTH);
  int call, round, i, r;
  if (!source) give_up("memory");
  for (call = 0; call < 4; ++call)
    for (round = 0; round < (whole ? 30 : 4); ++round) {
      const size_t length = call == 1 ? 4000 : LENGTH;
      const LCI_tag_t first = (LCI_tag_t)(call * 1000 + round * 20);
      LCI_lbuffer_t near_buffers[MESSAGES], far_buffers[MESSAGES];
      LCI_iovec_t near_iovec, far_iovec;
      case_is("%s without completion, round %d", calls[call], round);
      memset(field.bytes, UNTOUCHED, field_size());
      memset(&near_iovec, 0, sizeof near_iovec);
      memset(&far_iovec, 0, sizeof far_iovec);
      CHECK_OK(LCI_barrier());
      for (r = 0; r < LCI_NUM_PROCESSES; ++r) {
        for (i = 0; i < MESSAGES; ++i) {
          memcpy(source + i * LENGTH, payload(LCI_RANK, first + (LCI_tag_t)i), length);
          near_buffers[i] = long_of(LCI_SEGMENT_ALL, source + i * LENGTH, length);
          far_buffers[i] = far_place(r, i);
          if (call == 0)
            AGAIN(LCI_putl(endpoint, near_buffers[i], NULL, r, 1, far_buffers[i], LCI_NO_COMP_REMOTE, NULL));
          if (call == 1)
            AGAIN(LCI_putm(endpoint, medium_of(near_buffers[i].address, length), r, 1,
                           medium_of(far_buffers[i].address, length), LCI_NO_COMP_REMOTE));
        }
        near_iovec.lbuffers = near_buffers;
        far_iovec.lbuffers = far_buffers;
        near_iovec.count = far_iovec.count = MESSAGES;
        if (call == 2) AGAIN(LCI_putvs(endpoint, near_iovec, r, 1, far_iovec, LCI_NO_COMP_REMOTE, NULL));
        if (call == 3) AGAIN(LCI_putv(endpoint, near_iovec, NULL, r, 1, far_iovec, LCI_NO_COMP_REMOTE, NULL));
        if (call != 1) CHECK_OK(LCI_fence_wait(endpoint));
        memset(source, OVERWRITTEN, (size_t)MESSAGES * LENGTH);
      }
      CHECK_OK(LCI_gfence_wait(endpoint));
      for (r = 0; r < LCI_NUM_PROCESSES; ++r)
        for (i = 0; i < MESSAGES; ++i) CHECK(has_payload(field.bytes + place(r, i), length, r, first + (LCI_tag_t)i));
    }
  free(source);
}

/* A get is local to its caller: complete after LCI_fence_wait(). */
static void gets_and_fences(LCI_endpoint_t endpoint) {
  char* into = malloc((size_t)MESSAGES * LENGTH);
  int vector, r, i;
  if (!into) give_up("memory");
  for (r = 0; r < LCI_NUM_PROCESSES; ++r)
    for (i = 0; i < MESSAGES; ++i)
      memcpy(field.bytes + place(r, i), payload(LCI_RANK, (LCI_tag_t)(r * 20 + i)), LENGTH);
  CHECK_OK(LCI_barrier());
  for (vector = 0; vector < 2; ++vector)
    for (r = 0; r < LCI_NUM_PROCESSES; ++r) {
      LCI_lbuffer_t near_buffers[MESSAGES], far_buffers[MESSAGES];
      LCI_iovec_t near_iovec, far_iovec;
      case_is("%s from rank %d without completion", vector ? "getv" : "getl", r);
      memset(into, UNTOUCHED, (size_t)MESSAGES * LENGTH);
      memset(&near_iovec, 0, sizeof near_iovec);
      memset(&far_iovec, 0, sizeof far_iovec);
      for (i = 0; i < MESSAGES; ++i) {
        near_buffers[i] = long_of(LCI_SEGMENT_ALL, into + i * LENGTH, LENGTH);
        far_buffers[i] = far_place(r, i);
        if (!vector)
          AGAIN(LCI_getl(endpoint, &near_buffers[i], LENGTH, NULL, r, 1, far_buffers[i], LCI_NO_COMP_REMOTE, NULL));
      }
      near_iovec.lbuffers = near_buffers;
      far_iovec.lbuffers = far_buffers;
      near_iovec.count = far_iovec.count = MESSAGES;
      if (vector) AGAIN(LCI_getv(endpoint, near_iovec, NULL, r, 1, far_iovec, LCI_NO_COMP_REMOTE, NULL));
      CHECK_OK(LCI_fence_wait(endpoint));
      for (i = 0; i < MESSAGES; ++i) CHECK(has_payload(into + i * LENGTH, LENGTH, r, (LCI_tag_t)(LCI_RANK * 20 + i)));
    }
  CHECK_OK(LCI_barrier());
  free(into);
}

/* Sends and receives without completion are complete after LCI_gfence_wait(), and signals of puts have been given. */
static void sends_and_gfence(LCI_endpoint_t endpoint, LCI_comp_t queue) {
  const int n = LCI_NUM_PROCESSES;
  char medium[64], received_medium[64];
  char* sent = malloc(LENGTH);
  char* received = malloc(LENGTH);
  int round, r;
  if (!sent || !received) give_up("memory");
  for (round = 0; round < (whole ? 100 : 10); ++round) {
    const int to = rank_at(round);
    const int from = rank_at(-round);
    const LCI_tag_t tag = (LCI_tag_t)round;
    size_t len = 0;
    LCI_request_t request;
    case_is("sends, receives and puts before LCI_gfence_wait(), round %d", round);
    memcpy(medium, payload(LCI_RANK, tag), sizeof medium);
    memcpy(sent, payload(LCI_RANK, tag + 1), LENGTH);
    memset(received, UNTOUCHED, LENGTH);
    memset(received_medium, UNTOUCHED, sizeof received_medium);
    if (round % 2) AGAIN(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, received, LENGTH), from, tag, NULL, NULL));
    AGAIN(LCI_sendm(endpoint, medium_of(medium, sizeof medium), to, tag));
    AGAIN(LCI_sendl(endpoint, long_of(LCI_SEGMENT_ALL, sent, LENGTH), to, tag, NULL, NULL));
    AGAIN(LCI_recvm(endpoint, medium_of(received_medium, sizeof medium), from, tag, NULL, NULL));
    if (round % 2 == 0) AGAIN(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, received, LENGTH), from, tag, NULL, NULL));
    for (r = 0; r < n; ++r) AGAIN(LCI_puts(endpoint, short_of(5), r, tag, LCI_DEFAULT_COMP_REMOTE));
    CHECK_OK(LCI_gfence_wait(endpoint));
    CHECK(has_payload(received_medium, sizeof medium, from, tag));
    CHECK(has_payload(received, LENGTH, from, tag + 1));
    CHECK_OK(LCI_queue_len(queue, &len));
    CHECK_EQ(len, n);
    while (LCI_queue_pop(queue, &request) == LCI_OK) check_request(&request, request.rank, tag, NULL);
    CHECK_OK(LCI_barrier());
  }
  free(sent);
  free(received);
}

/* Fences are about one endpoint, and receives do not count. */
static void unmatched(LCI_endpoint_t endpoint, LCI_endpoint_t other) {
  char* sent = malloc(LENGTH);
  char* received = malloc(LENGTH);
  LCI_comp_t sync = NULL;
  const int to = rank_at(1);
  const int from = rank_at(-1);
  if (!sent || !received) give_up("memory");
  case_is("fences while another endpoint has an unmatched send, and this one an unmatched receive");
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 2, &sync));
  memcpy(sent, payload(LCI_RANK, 4), LENGTH);
  AGAIN(LCI_sendl(other, long_of(LCI_SEGMENT_ALL, sent, LENGTH), to, 4, sync, NULL));
  CHECK_OK(LCI_fence_wait(endpoint));
  CHECK_OK(LCI_gfence_wait(endpoint));
  AGAIN(LCI_recvl(other, long_of(LCI_SEGMENT_ALL, received, LENGTH), from, 4, sync, NULL));
  CHECK_OK(LCI_sync_wait(sync, NULL));
  CHECK(has_payload(received, LENGTH, from, 4));
  CHECK_OK(LCI_gfence_wait(other));
  AGAIN(LCI_recvs(endpoint, from, 5, sync, NULL));
  AGAIN(LCI_recvs(endpoint, from, 6, sync, NULL));
  CHECK_OK(LCI_fence_wait(endpoint));
  AGAIN(LCI_sends(endpoint, short_of(1), to, 5));
  AGAIN(LCI_sends(endpoint, short_of(1), to, 6));
  CHECK_OK(LCI_sync_wait(sync, NULL));
  CHECK_OK(LCI_gfence_wait(endpoint));
  CHECK_OK(LCI_sync_free(&sync));
  free(sent);
  free(received);
}

/* --- a fence waits --- */

static LCI_endpoint_t fenced_endpoint;
static int fence_ended;

static void* fence_in_thread(void* unused) {
  (void)unused;
  case_is("a fence in a thread");
  CHECK_OK(LCI_fence_wait(fenced_endpoint));
  __atomic_store_n(&fence_ended, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* It does not end before a large send, for which no receive is posted. */
static void fence_waits(LCI_endpoint_t endpoint) {
  const size_t length = 4 << 20;
  const struct timespec moment = {0, 60 * 1000 * 1000};
  char* sent = malloc(length);
  char* received = malloc(length);
  LCI_comp_t sync = NULL;
  LCI_request_t request;
  pthread_t thread;
  if (!sent || !received) give_up("memory");
  case_is("a fence while its endpoint has an unmatched send");
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync));
  memcpy(sent, payload(LCI_RANK, 8), length);
  AGAIN(LCI_sendl(endpoint, long_of(LCI_SEGMENT_ALL, sent, length), LCI_RANK, 8, NULL, NULL));
  fenced_endpoint = endpoint;
  fence_ended = 0;
  if (pthread_create(&thread, NULL, fence_in_thread, NULL) != 0) give_up("a thread");
  nanosleep(&moment, NULL);
  CHECK_EQ(__atomic_load_n(&fence_ended, __ATOMIC_ACQUIRE), 0);
  AGAIN(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, received, length), LCI_RANK, 8, sync, &sync));
  CHECK_OK(LCI_sync_wait(sync, &request));
  check_request(&request, LCI_RANK, 8, &sync);
  CHECK(has_payload(received, length, LCI_RANK, 8));
  pthread_join(thread, NULL);
  CHECK_EQ(fence_ended, 1);
  CHECK_OK(LCI_sync_free(&sync));
  free(sent);
  free(received);
}

/* It waits for what was issued before it, not for what another thread issues later: there is an unmatched send at each
 * moment. */
static void fence_ends(LCI_endpoint_t endpoint) {
  const size_t length = 100000;
  const double end = seconds_now() + 30;
  char* sent = calloc(1, length);
  char* received = malloc(length);
  LCI_comp_t sync = NULL;
  pthread_t thread;
  int i;
  if (!sent || !received) give_up("memory");
  case_is("a fence while another thread sends without end");
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync));
  fenced_endpoint = endpoint;
  fence_ended = 0;
  AGAIN(LCI_sendl(endpoint, long_of(LCI_SEGMENT_ALL, sent, length), LCI_RANK, 0, NULL, NULL));
  if (pthread_create(&thread, NULL, fence_in_thread, NULL) != 0) give_up("a thread");
  for (i = 0; !__atomic_load_n(&fence_ended, __ATOMIC_ACQUIRE) && seconds_now() < end; ++i) {
    AGAIN(LCI_sendl(endpoint, long_of(LCI_SEGMENT_ALL, sent, length), LCI_RANK, (LCI_tag_t)(i + 1) % 2, NULL, NULL));
    AGAIN(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, received, length), LCI_RANK, (LCI_tag_t)i % 2, sync, NULL));
    CHECK_OK(LCI_sync_wait(sync, NULL));
  }
  CHECK_EQ(__atomic_load_n(&fence_ended, __ATOMIC_ACQUIRE), 1);
  AGAIN(LCI_recvl(endpoint, long_of(LCI_SEGMENT_ALL, received, length), LCI_RANK, (LCI_tag_t)i % 2, sync, NULL));
  CHECK_OK(LCI_sync_wait(sync, NULL));
  pthread_join(thread, NULL);
  CHECK_OK(LCI_fence_wait(endpoint));
  CHECK_OK(LCI_sync_free(&sync));
  free(sent);
  free(received);
}

void fences(void) {
  LCI_comp_t queue = NULL;
  LCI_endpoint_t endpoint, other;
  CHECK_OK(LCI_queue_create(LCI_UR_DEVICE, &queue));
  endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, queue);
  other = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_TAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, queue);
  open_field();
  case_is("fences without communication");
  CHECK_OK(LCI_fence_wait(endpoint));
  CHECK_OK(LCI_gfence_wait(endpoint));
  puts_and_fences(endpoint);
  gets_and_fences(endpoint);
  sends_and_gfence(endpoint, queue);
  unmatched(endpoint, other);
  if (!RANKS_ARE_THREADS) {
    fence_waits(endpoint);
    fence_ends(endpoint);
  }
  close_field();
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&endpoint));
  CHECK_OK(LCI_endpoint_free(&other));
  CHECK_OK(LCI_queue_free(&queue));
}
