/* Iovecs in all directions, puts to and gets from registered memory, for any number of ranks in a ring. */
#include "tests/layers/v1/check.h"

#define MOST 40

static PER_RANK LCI_comp_t sync1;
static PER_RANK int next, before;

/* Registered memory, and that of the neighbours. */
static PER_RANK unsigned char* window;
static const size_t window_size = 1 << 20;
static PER_RANK LCI_segment_t mine, next_segment;
static PER_RANK unsigned char* next_window;

static void exchange_windows(void) {
  struct {
    char text[LCI_SEGMENT_SERIALIZED_MAX];
    void* address;
  } out, in;
  LCI_mbuffer_t m;
  window = malloc(window_size);
  CHECK(LCI_memory_register(LCI_UR_DEVICE, window, window_size, &mine) == LCI_OK);
  memset(&out, 0, sizeof out);
  CHECK(LCI_segment_serialize(mine, out.text) == LCI_OK);
  CHECK(strlen(out.text) < LCI_SEGMENT_SERIALIZED_MAX);
  out.address = window;
  m.address = &in;
  m.length = sizeof in;
  AGAIN(LCI_recvm(LCI_UR_ENDPOINT, m, next, 50, sync1, NULL));
  m.address = &out;
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, m, before, 50));
  LCI_sync_wait(sync1, NULL);
  CHECK(LCI_segment_deserialize(in.text, &next_segment) == LCI_OK);
  next_window = in.address;
}

/* Long buffers of various sizes, also empty ones, filled for this rank, or not. */
static LCI_iovec_t make(int count, size_t piggy_back, LCI_segment_t segment, unsigned char* at, int from) {
  LCI_iovec_t v;
  int i;
  v.count = count;
  v.lbuffers = count > 0 ? malloc((size_t)count * sizeof *v.lbuffers) : NULL;
  for (i = 0; i < count; ++i) {
    v.lbuffers[i].segment = segment;
    v.lbuffers[i].length = i % 5 == 4 ? 0 : (size_t)(i % 64 * (i % 64) * 13 + (i % 7 == 3 ? 20000 : 1));
    v.lbuffers[i].address = at;
    if (at != NULL) {
      at += v.lbuffers[i].length + 1;
    } else {
      v.lbuffers[i].address = calloc(1, v.lbuffers[i].length + 1);
    }
    if (from >= 0) fill_pattern(v.lbuffers[i].address, v.lbuffers[i].length, from, (unsigned)i);
  }
  v.piggy_back.length = piggy_back;
  v.piggy_back.address = at != NULL ? (void*)at : calloc(1, piggy_back + 1);
  if (from >= 0) fill_pattern(v.piggy_back.address, piggy_back, from, 99);
  return v;
}

static int holds(const LCI_iovec_t* v, int from) {
  int i;
  for (i = 0; i < v->count; ++i)
    if (!has_pattern(v->lbuffers[i].address, v->lbuffers[i].length, from, (unsigned)i)) return 0;
  return has_pattern(v->piggy_back.address, v->piggy_back.length, from, 99);
}

static void drop(LCI_iovec_t v, int own) {
  int i;
  for (i = 0; own && i < v.count; ++i) free(v.lbuffers[i].address);
  free(v.lbuffers);
  if (own) free(v.piggy_back.address);
}

static void free_received(LCI_iovec_t v) {
  int i;
  for (i = 0; i < v.count; ++i) CHECK(LCI_lbuffer_free(v.lbuffers[i]) == LCI_OK);
  free(v.lbuffers);
  free(v.piggy_back.address);
}

static void send_and_put(int count, size_t piggy_back) {
  LCI_iovec_t out = make(count, piggy_back, LCI_SEGMENT_ALL, NULL, LCI_RANK), in, none;
  LCI_request_t r[2];
  LCI_comp_t both;
  int i;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 2, &both) == LCI_OK);
  /* Into buffers of the receiver's. */
  in = make(count, piggy_back, LCI_SEGMENT_ALL, NULL, -1);
  AGAIN(LCI_recvv(LCI_UR_ENDPOINT, in, before, 1, both, &in));
  AGAIN(LCI_sendv(LCI_UR_ENDPOINT, out, next, 1, both, &out));
  LCI_sync_wait(both, r);
  for (i = 0; i < 2; ++i) {
    CHECK(r[i].flag == LCI_OK && r[i].tag == 1 && r[i].type == LCI_IOVEC && r[i].data.iovec.count == count);
    CHECK(r[i].rank == (r[i].user_context == &in ? before : next));
  }
  CHECK(holds(&in, before));
  drop(in, 1);
  /* Into buffers that the library allocates. */
  memset(&none, 0, sizeof none);
  AGAIN(LCI_sendv(LCI_UR_ENDPOINT, out, next, 2, both, &out));
  AGAIN(LCI_recvv(LCI_UR_ENDPOINT, none, before, 2, both, NULL));
  LCI_sync_wait(both, r);
  i = r[0].user_context == NULL ? 0 : 1;
  CHECK(r[0].flag == LCI_OK && r[1].flag == LCI_OK && r[i].data.iovec.count == count);
  CHECK(r[i].data.iovec.piggy_back.length == piggy_back && holds(&r[i].data.iovec, before));
  free_received(r[i].data.iovec);
  AGAIN(LCI_putva(LCI_UR_ENDPOINT, out, sync1, next, 3, LCI_DEFAULT_COMP_REMOTE, &out));
  LCI_queue_wait(LCI_UR_CQ, r);
  CHECK(r[0].flag == LCI_OK && r[0].rank == before && r[0].tag == 3 && r[0].type == LCI_IOVEC);
  CHECK(r[0].data.iovec.count == count && r[0].user_context == NULL && holds(&r[0].data.iovec, before));
  free_received(r[0].data.iovec);
  LCI_sync_wait(sync1, r);
  CHECK(r[0].flag == LCI_OK && r[0].rank == next && r[0].type == LCI_IOVEC && r[0].user_context == &out);
  CHECK(r[0].data.iovec.lbuffers == out.lbuffers && r[0].data.iovec.count == count);
  CHECK(LCI_sync_free(&both) == LCI_OK);
  drop(out, 1);
}

/* A receive whose buffers do not fit is an error at both ends. */
static void misfit(void) {
  LCI_iovec_t out = make(3, 10, LCI_SEGMENT_ALL, NULL, LCI_RANK), in = make(2, 10, LCI_SEGMENT_ALL, NULL, -1);
  LCI_request_t r[2];
  LCI_comp_t both;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 2, &both) == LCI_OK);
  AGAIN(LCI_recvv(LCI_UR_ENDPOINT, in, before, 4, both, NULL));
  AGAIN(LCI_sendv(LCI_UR_ENDPOINT, out, next, 4, both, NULL));
  LCI_sync_wait(both, r);
  CHECK(r[0].flag == LCI_ERR_FATAL && r[1].flag == LCI_ERR_FATAL);
  drop(out, 1);
  drop(in, 1);
  CHECK(LCI_sync_free(&both) == LCI_OK);
}

static void put_and_get_long(size_t n, uintptr_t remote_completion) {
  LCI_lbuffer_t local, remote;
  LCI_request_t r;
  local.segment = LCI_SEGMENT_ALL;
  local.address = malloc(n + 1);
  local.length = n;
  fill_pattern(local.address, n, LCI_RANK, 5);
  remote.segment = next_segment;
  remote.address = next_window + 1000;
  remote.length = n;
  AGAIN(LCI_putl(LCI_UR_ENDPOINT, local, sync1, next, 5, remote, remote_completion, &local));
  LCI_sync_wait(sync1, &r);
  CHECK(r.flag == LCI_OK && r.rank == next && r.tag == 5 && r.type == LCI_LONG && r.user_context == &local);
  if (remote_completion != LCI_NO_COMP_REMOTE) {
    LCI_queue_wait(LCI_UR_CQ, &r);
    CHECK(r.flag == LCI_OK && r.rank == before && r.tag == 5 && r.type == LCI_LONG && r.user_context == NULL);
    CHECK(r.data.lbuffer.address == window + 1000 && r.data.lbuffer.length == n);
  } else {
    CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  }
  CHECK(has_pattern(window + 1000, n, before, 5));
  CHECK(LCI_barrier() == LCI_OK);
  fill_pattern(window + 2000, n, LCI_RANK, 6);
  CHECK(LCI_barrier() == LCI_OK);
  memset(local.address, 0, n);
  remote.address = next_window + 2000;
  AGAIN(LCI_getl(LCI_UR_ENDPOINT, &local, n, sync1, next, 7, remote, remote_completion, NULL));
  LCI_sync_wait(sync1, &r);
  CHECK(r.flag == LCI_OK && r.rank == next && r.tag == 7 && r.data.lbuffer.length == n);
  CHECK(has_pattern(local.address, n, next, 6));
  if (remote_completion != LCI_NO_COMP_REMOTE) {
    LCI_queue_wait(LCI_UR_CQ, &r);
    CHECK(r.rank == before && r.tag == 7 && r.type == LCI_LONG && r.data.lbuffer.address == window + 2000);
  }
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  free(local.address);
}

static void put_medium(size_t n, uintptr_t remote_completion) {
  LCI_mbuffer_t local, packet, remote;
  LCI_request_t r;
  int round;
  local.address = malloc(n + 1);
  local.length = n;
  fill_pattern(local.address, n, LCI_RANK, 8);
  remote.address = next_window + 3000;
  remote.length = n;
  for (round = 0; round < 2; ++round) {
    memset(window + 3000, 0, n);
    CHECK(LCI_barrier() == LCI_OK);
    if (round == 0) {
      AGAIN(LCI_putm(LCI_UR_ENDPOINT, local, next, 8, remote, remote_completion));
    } else {
      AGAIN(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet));
      memcpy(packet.address, local.address, n);
      packet.length = n;
      AGAIN(LCI_putmn(LCI_UR_ENDPOINT, packet, next, 8, remote, remote_completion));
    }
    if (remote_completion != LCI_NO_COMP_REMOTE) {
      LCI_queue_wait(LCI_UR_CQ, &r);
      CHECK(r.flag == LCI_OK && r.rank == before && r.tag == 8 && r.type == LCI_MEDIUM);
      CHECK(r.data.mbuffer.address == window + 3000 && r.data.mbuffer.length == n);
    }
    CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
    CHECK(has_pattern(window + 3000, n, before, 8));
    CHECK(LCI_barrier() == LCI_OK);
  }
  free(local.address);
}

static void put_and_get_iovec(int count, size_t piggy_back, uintptr_t remote_completion) {
  LCI_iovec_t local = make(count, piggy_back, LCI_SEGMENT_ALL, NULL, LCI_RANK);
  LCI_iovec_t remote = make(count, piggy_back, next_segment, next_window, -1), here, got;
  LCI_request_t r;
  memset(window, 0, window_size);
  CHECK(LCI_barrier() == LCI_OK);
  AGAIN(LCI_putv(LCI_UR_ENDPOINT, local, sync1, next, 9, remote, remote_completion, &local));
  LCI_sync_wait(sync1, &r);
  CHECK(r.flag == LCI_OK && r.rank == next && r.type == LCI_IOVEC && r.user_context == &local);
  if (remote_completion != LCI_NO_COMP_REMOTE) {
    LCI_queue_wait(LCI_UR_CQ, &r);
    CHECK(r.flag == LCI_OK && r.rank == before && r.tag == 9 && r.type == LCI_IOVEC && r.data.iovec.count == count);
  }
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  here = make(count, piggy_back, mine, window, -1);
  CHECK(holds(&here, before));
  CHECK(LCI_barrier() == LCI_OK);
  AGAIN(LCI_putvs(LCI_UR_ENDPOINT, local, next, 10, remote, LCI_NO_COMP_REMOTE, NULL));
  CHECK(LCI_fence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  got = make(count, piggy_back, LCI_SEGMENT_ALL, NULL, -1);
  AGAIN(LCI_getv(LCI_UR_ENDPOINT, got, sync1, next, 11, remote, remote_completion, NULL));
  LCI_sync_wait(sync1, &r);
  CHECK(r.flag == LCI_OK && r.rank == next && r.tag == 11 && r.type == LCI_IOVEC);
  CHECK(holds(&got, LCI_RANK)); /* what this rank has put there */
  if (remote_completion != LCI_NO_COMP_REMOTE) {
    LCI_queue_wait(LCI_UR_CQ, &r);
    CHECK(r.rank == before && r.tag == 11 && r.type == LCI_IOVEC);
  }
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  drop(local, 1);
  drop(got, 1);
  drop(remote, 0);
  drop(here, 0);
}

int main(void) {
  const uintptr_t completions[2] = {LCI_DEFAULT_COMP_REMOTE, LCI_NO_COMP_REMOTE};
  LCI_request_t r;
  int i;
  if (LCI_initialize() != LCI_OK) return 1;
  next = (LCI_RANK + 1) % LCI_NUM_PROCESSES;
  before = (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync1) == LCI_OK);
  exchange_windows();
  send_and_put(0, 0);
  send_and_put(0, 100);
  send_and_put(1, 0);
  send_and_put(7, 8);
  send_and_put(MOST, LCI_get_iovec_piggy_back_size(MOST));
  send_and_put(LCI_IOVEC_SIZE, LCI_get_iovec_piggy_back_size(LCI_IOVEC_SIZE));
  misfit();
  for (i = 0; i < 2; ++i) {
    put_and_get_long(0, completions[i]);
    put_and_get_long(8, completions[i]);
    put_and_get_long(500000, completions[i]);
    put_medium(0, completions[i]);
    put_medium(100, completions[i]);
    put_medium((size_t)LCI_MEDIUM_SIZE, completions[i]);
    put_and_get_iovec(0, 0, completions[i]);
    put_and_get_iovec(0, 10, completions[i]);
    put_and_get_iovec(9, 0, completions[i]);
    put_and_get_iovec(MOST, LCI_get_iovec_piggy_back_size(MOST), completions[i]);
  }
  CHECK(LCI_queue_pop(LCI_UR_CQ, &r) == LCI_ERR_RETRY);
  CHECK(LCI_barrier() == LCI_OK);
  CHECK(LCI_memory_deregister(&mine) == LCI_OK && mine == NULL);
  CHECK(LCI_memory_deregister(&next_segment) == LCI_OK);
  free(window);
  CHECK(LCI_sync_free(&sync1) == LCI_OK);
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("iovecs");
}
