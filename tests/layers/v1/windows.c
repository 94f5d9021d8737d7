/* windows [THREADS [long]]: puts to and gets from memory of the next rank, and iovecs. Tests each function with each
 * kind of completion object at both ends; no, default and named remote completion; many sizes; several threads. */
#define _POSIX_C_SOURCE 200809L
#include "tests/layers/v1/objects.h"

enum { NONE, DEFAULT, NAMED, REMOTES };
enum { most_buffers = 9 };

/* A thread's part of this rank's memory, and of the next rank's. */
struct window {
  unsigned char *here, *there;
  size_t size;
  LCI_segment_t mine, theirs;
};
static PER_RANK struct window windows[most_threads];

/* Sends the serialized segment and the address to the previous rank. */
static void exchange_window(int t) {
  struct window* w = &windows[t];
  struct {
    char text[LCI_SEGMENT_SERIALIZED_MAX];
    unsigned char* address;
  } out, in;
  LCI_mbuffer_t m;
  const LCI_tag_t tag = (LCI_tag_t)(t * 4000 + 3999);
  w->size = very_long ? (size_t)LCI_MEDIUM_SIZE * 1000 + 4096 : (size_t)1 << 20;
  w->here = malloc(w->size);
  EXPECT(LCI_memory_register(LCI_UR_DEVICE, w->here, w->size, &w->mine) == LCI_OK);
  memset(&out, 0, sizeof out);
  EXPECT(LCI_segment_serialize(w->mine, out.text) == LCI_OK);
  out.address = w->here;
  m.address = &in;
  m.length = sizeof in;
  INSIST(LCI_recvm(LCI_UR_ENDPOINT, m, next, tag, of_thread[t].local[SYNC], NULL));
  m.address = &out;
  INSIST(LCI_sendm(LCI_UR_ENDPOINT, m, before, tag));
  EXPECT(LCI_sync_wait(of_thread[t].local[SYNC], NULL) == LCI_OK);
  EXPECT(LCI_segment_deserialize(in.text, &w->theirs) == LCI_OK);
  w->there = in.address;
}

static uintptr_t remote_of(int t, int kind, int remote) {
  return remote == NONE ? LCI_NO_COMP_REMOTE : remote == DEFAULT ? LCI_DEFAULT_COMP_REMOTE : of_thread[t].theirs[kind];
}

/* Waits until both neighbours have called it, too. So they have checked their memory, and have not written since. */
static void meet(int t, LCI_tag_t tag) {
  LCI_short_t word = {{0}};
  INSIST(LCI_recvs(LCI_UR_ENDPOINT, next, tag, of_thread[t].local[SYNC], NULL));
  INSIST(LCI_recvs(LCI_UR_ENDPOINT, before, tag, of_thread[t].local[SYNC], NULL));
  INSIST(LCI_sends(LCI_UR_ENDPOINT, word, before, tag));
  INSIST(LCI_sends(LCI_UR_ENDPOINT, word, next, tag));
  EXPECT(LCI_sync_wait(of_thread[t].local[SYNC], NULL) == LCI_OK);
  EXPECT(LCI_sync_wait(of_thread[t].local[SYNC], NULL) == LCI_OK);
}
static void await_pattern(const void* at, size_t n, LCI_tag_t tag) {
  while (!has_pattern(at, n, before, tag)) relax();
}

static void take_local(int t, int kind, LCI_tag_t tag, LCI_data_type_t type, void* context, LCI_request_t* r) {
  take(kind, of_thread[t].local[kind], tag, r, t);
  EXPECT(r->flag == LCI_OK && r->rank == next && r->tag == tag && r->type == type && r->user_context == context);
}
static void take_arrival(int t, int kind, LCI_tag_t tag, LCI_data_type_t type, LCI_request_t* r) {
  take(kind, of_thread[t].arrivals[kind], tag, r, t);
  EXPECT(r->flag == LCI_OK && r->rank == before && r->tag == tag && r->type == type && r->user_context == NULL);
}

/* Long puts and gets. `each`: with all kinds of local completion, otherwise with one that differs from `kind`. */
static void long_memory(int t, int kind, int remote, LCI_tag_t tag, size_t n, int each) {
  struct window* w = &windows[t];
  LCI_endpoint_t ep = of_thread[t].endpoints[kind];
  LCI_lbuffer_t local = {LCI_SEGMENT_ALL, NULL, 0}, far;
  LCI_request_t r;
  int local_kind;
  local.address = malloc(n + 1);
  local.length = n;
  far.segment = w->theirs;
  far.address = w->there + 17;
  far.length = n;
  for (local_kind = 0; local_kind < KINDS + 1; ++local_kind) { /* the last: none */
    LCI_comp_t to;
    if (!each && local_kind != (kind + 1) % KINDS) continue;
    to = local_kind < KINDS ? of_thread[t].local[local_kind] : NULL;
    memset(w->here, 0, n + 32);
    fill_pattern(local.address, n, LCI_RANK, tag);
    meet(t, tag);
    INSIST(LCI_putl(ep, local, to, next, tag, far, remote_of(t, kind, remote), &far));
    if (to != NULL)
      take_local(t, local_kind, tag, LCI_LONG, &far, &r);
    else
      EXPECT(LCI_fence_wait(ep) == LCI_OK); /* for the local buffer */
    if (remote != NONE) {
      take_arrival(t, kind, tag, LCI_LONG, &r);
      EXPECT(r.data.lbuffer.address == w->here + 17 && r.data.lbuffer.length == n);
    } else {
      await_pattern(w->here + 17, n, tag);
    }
    EXPECT(has_pattern(w->here + 17, n, before, tag) && w->here[16] == 0 && w->here[17 + n] == 0);
    /* Get the data that this rank has put. */
    memset(local.address, 0, n);
    meet(t, tag);
    if (to == NULL) {
      INSIST(LCI_getl(ep, &local, n, NULL, next, tag, far, remote_of(t, kind, remote), NULL));
      EXPECT(LCI_fence_wait(ep) == LCI_OK);
    } else {
      INSIST(LCI_getl(ep, &local, n, to, next, tag, far, remote_of(t, kind, remote), &local));
      take_local(t, local_kind, tag, LCI_LONG, &local, &r);
      EXPECT(r.data.lbuffer.address == local.address && r.data.lbuffer.length == n);
    }
    EXPECT(has_pattern(local.address, n, LCI_RANK, tag));
    if (remote != NONE) {
      take_arrival(t, kind, tag, LCI_LONG, &r);
      EXPECT(r.data.lbuffer.address == w->here + 17 && r.data.lbuffer.length == n);
    }
    meet(t, tag);
  }
  free(local.address);
}

static void medium_memory(int t, int kind, int remote, LCI_tag_t tag, size_t n) {
  struct window* w = &windows[t];
  LCI_endpoint_t ep = of_thread[t].endpoints[kind];
  LCI_mbuffer_t local, packet, far;
  LCI_request_t r;
  int nocopy;
  local.address = malloc(n + 1);
  local.length = far.length = n;
  far.address = w->there + 5;
  for (nocopy = 0; nocopy < 2; ++nocopy) {
    memset(w->here, 0, n + 32);
    fill_pattern(local.address, n, LCI_RANK, tag);
    meet(t, tag);
    if (nocopy) {
      INSIST(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet));
      memcpy(packet.address, local.address, n);
      packet.length = n;
      INSIST(LCI_putmn(ep, packet, next, tag, far, remote_of(t, kind, remote)));
    } else {
      INSIST(LCI_putm(ep, local, next, tag, far, remote_of(t, kind, remote)));
      memset(local.address, 0xee, n); /* reusable at once */
    }
    if (remote != NONE) {
      take_arrival(t, kind, tag, LCI_MEDIUM, &r);
      EXPECT(r.data.mbuffer.address == w->here + 5 && r.data.mbuffer.length == n);
    } else {
      await_pattern(w->here + 5, n, tag);
    }
    EXPECT(has_pattern(w->here + 5, n, before, tag) && w->here[4] == 0 && w->here[5 + n] == 0);
    meet(t, tag);
  }
  free(local.address);
}

/* Long buffers of different sizes: contiguous in `at`, or separately allocated. */
static LCI_iovec_t vector_of(LCI_lbuffer_t buffers[], int count, size_t piggy_back, LCI_segment_t segment,
                             unsigned char* at) {
  static const size_t sizes[] = {1, 0, 4000, 7, 70000, 8, 12289, 0, 333};
  LCI_iovec_t v;
  int i;
  for (i = 0; i < count; ++i) {
    buffers[i].segment = segment;
    buffers[i].length = sizes[i % most_buffers];
    buffers[i].address = at != NULL ? at : malloc(buffers[i].length + 1);
    if (at != NULL) at += buffers[i].length + 1;
  }
  v.lbuffers = buffers;
  v.count = count;
  v.piggy_back.length = piggy_back;
  v.piggy_back.address = at != NULL ? (void*)at : malloc(piggy_back + 1);
  return v;
}
static void fill_vector(LCI_iovec_t v, int from, LCI_tag_t tag) {
  int i;
  for (i = 0; i < v.count; ++i) fill_pattern(v.lbuffers[i].address, v.lbuffers[i].length, from, tag + (LCI_tag_t)i);
  fill_pattern(v.piggy_back.address, v.piggy_back.length, from, tag);
}
static int vector_has(LCI_iovec_t v, int from, LCI_tag_t tag) {
  int i;
  for (i = 0; i < v.count; ++i)
    if (!has_pattern(v.lbuffers[i].address, v.lbuffers[i].length, from, tag + (LCI_tag_t)i)) return 0;
  return has_pattern(v.piggy_back.address, v.piggy_back.length, from, tag);
}
static void free_vector(LCI_iovec_t v, int received) {
  int i;
  for (i = 0; i < v.count; ++i) {
    if (received)
      LCI_lbuffer_free(v.lbuffers[i]);
    else
      free(v.lbuffers[i].address);
  }
  free(v.piggy_back.address);
  if (received) free(v.lbuffers);
}

static void vectors(int t, int kind, int remote, LCI_tag_t tag, int count, size_t piggy_back) {
  struct window* w = &windows[t];
  struct objects* o = &of_thread[t];
  LCI_endpoint_t ep = o->endpoints[kind];
  LCI_lbuffer_t b[4][most_buffers];
  const LCI_iovec_t local = vector_of(b[0], count, piggy_back, LCI_SEGMENT_ALL, NULL);
  const LCI_iovec_t in = vector_of(b[1], count, piggy_back, LCI_SEGMENT_ALL, NULL);
  const LCI_iovec_t far = vector_of(b[2], count, piggy_back, w->theirs, w->there);
  const LCI_iovec_t here = vector_of(b[3], count, piggy_back, w->mine, w->here);
  const int other = (kind + 1) % KINDS;
  LCI_iovec_t none;
  LCI_request_t r;
  memset(&none, 0, sizeof none);
  fill_vector(local, LCI_RANK, tag);
  if (remote == NONE) { /* they have no remote completion */
    INSIST(LCI_recvv(ep, in, before, tag, o->local[other], &r));
    INSIST(LCI_sendv(ep, local, next, tag, o->local[kind], (void*)&local));
    take_local(t, kind, tag, LCI_IOVEC, (void*)&local, &r);
    take(other, o->local[other], tag, &r, t);
    EXPECT(r.flag == LCI_OK && r.rank == before && r.tag == tag && r.type == LCI_IOVEC && r.user_context == &r);
    EXPECT(r.data.iovec.count == count && vector_has(in, before, tag));
    INSIST(LCI_recvv(ep, none, before, tag, o->local[other], NULL));
    INSIST(LCI_sendv(ep, local, next, tag, o->local[kind], (void*)&local));
    take_local(t, kind, tag, LCI_IOVEC, (void*)&local, &r);
    take(other, o->local[other], tag, &r, t);
    EXPECT(r.flag == LCI_OK && r.data.iovec.count == count && vector_has(r.data.iovec, before, tag));
    free_vector(r.data.iovec, 1);
  } else {
    INSIST(LCI_putva(ep, local, o->local[other], next, tag, remote_of(t, kind, remote), (void*)&local));
    take_local(t, other, tag, LCI_IOVEC, (void*)&local, &r);
    take_arrival(t, kind, tag, LCI_IOVEC, &r);
    EXPECT(r.data.iovec.count == count && vector_has(r.data.iovec, before, tag));
    free_vector(r.data.iovec, 1);
  }
  memset(w->here, 0, 200000);
  meet(t, tag);
  INSIST(LCI_putv(ep, local, o->local[other], next, tag, far, remote_of(t, kind, remote), (void*)&far));
  take_local(t, other, tag, LCI_IOVEC, (void*)&far, &r);
  if (remote != NONE) take_arrival(t, kind, tag, LCI_IOVEC, &r);
  while (remote == NONE && !vector_has(here, before, tag)) relax();
  EXPECT(vector_has(here, before, tag));
  meet(t, tag);
  memset(w->here, 0, 200000);
  fill_vector(local, LCI_RANK, ++tag);
  meet(t, tag);
  INSIST(LCI_putvs(ep, local, next, tag, far, remote_of(t, kind, remote), NULL));
  EXPECT(LCI_fence_wait(ep) == LCI_OK);
  fill_vector(local, LCI_RANK + 1, tag); /* reusable after the fence */
  if (remote != NONE) take_arrival(t, kind, tag, LCI_IOVEC, &r);
  while (remote == NONE && !vector_has(here, before, tag)) relax();
  EXPECT(vector_has(here, before, tag));
  meet(t, tag);
  INSIST(LCI_getv(ep, in, o->local[other], next, tag, far, remote_of(t, kind, remote), (void*)&in));
  take_local(t, other, tag, LCI_IOVEC, (void*)&in, &r);
  EXPECT(vector_has(in, LCI_RANK, tag));
  if (remote != NONE) take_arrival(t, kind, tag, LCI_IOVEC, &r);
  meet(t, tag);
  free_vector(local, 0);
  free_vector(in, 0);
}

static void work(int t) {
  const size_t medium = (size_t)LCI_MEDIUM_SIZE;
  const size_t sizes[] = {0, 1, 8, 100, 4096, medium - 1, medium, medium + 1, 300000};
  LCI_tag_t tag = (LCI_tag_t)(t * 4000 + 1);
  size_t i;
  int kind, remote;
  exchange_window(t);
  for (kind = 0; kind < KINDS; ++kind)
    for (remote = 0; remote < REMOTES; ++remote) {
      for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        if (sizes[i] <= medium) medium_memory(t, kind, remote, ++tag, sizes[i]);
        long_memory(t, kind, remote, ++tag, sizes[i], sizes[i] == 100 || sizes[i] == medium + 1);
      }
      vectors(t, kind, remote, tag += 2, 0, 50);
      vectors(t, kind, remote, tag += 2, 1, 0);
      vectors(t, kind, remote, tag += 2, most_buffers, LCI_get_iovec_piggy_back_size(most_buffers));
    }
  if (very_long) long_memory(t, QUEUE, DEFAULT, ++tag, medium * 1000 + 3, 0);
  meet(t, ++tag);
  EXPECT(LCI_memory_deregister(&windows[t].mine) == LCI_OK && LCI_memory_deregister(&windows[t].theirs) == LCI_OK);
  free(windows[t].here);
}

int main(int argc, char** argv) { return run("windows", argc, argv); }
