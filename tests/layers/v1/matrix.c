/* Each function with each kind of completion object, remote completion by default and by name, many sizes, several
 * threads, between neighbours of a ring: matrix [THREADS [long]]. */
#define _POSIX_C_SOURCE 200809L
#include "tests/layers/v1/objects.h"

static void short_messages(int t, int kind, LCI_tag_t tag) {
  struct objects* o = &of_thread[t];
  LCI_short_t s;
  LCI_request_t r;
  int named;
  fill_pattern(&s, sizeof s, LCI_RANK, tag);
  INSIST(LCI_recvs(LCI_UR_ENDPOINT, before, tag, o->local[kind], &s));
  INSIST(LCI_sends(LCI_UR_ENDPOINT, s, next, tag));
  take(kind, o->local[kind], tag, &r, t);
  EXPECT(r.flag == LCI_OK && r.rank == before && r.tag == tag && r.type == LCI_IMMEDIATE && r.user_context == &s);
  EXPECT(has_pattern(&r.data.immediate, sizeof s, before, tag));
  for (named = 0; named < 2; ++named) {
    INSIST(LCI_puts(o->endpoints[kind], s, next, tag, named ? o->theirs[kind] : LCI_DEFAULT_COMP_REMOTE));
    take(kind, o->arrivals[kind], tag, &r, t);
    EXPECT(r.flag == LCI_OK && r.rank == before && r.tag == tag && r.type == LCI_IMMEDIATE && r.user_context == NULL);
    EXPECT(has_pattern(&r.data.immediate, sizeof s, before, tag));
  }
}

static void check_medium(const LCI_request_t* r, size_t n, LCI_tag_t tag, int t) {
  EXPECT(r->flag == LCI_OK && r->rank == before && r->tag == tag && r->type == LCI_MEDIUM);
  EXPECT(r->data.mbuffer.length == n && has_pattern(r->data.mbuffer.address, n, before, tag));
}

static void medium_messages(int t, int kind, LCI_tag_t tag, size_t n) {
  struct objects* o = &of_thread[t];
  LCI_mbuffer_t out, in, packet;
  LCI_request_t r;
  int mode, named;
  out.address = malloc(n + 1);
  in.address = malloc(n + 1);
  out.length = in.length = n;
  fill_pattern(out.address, n, LCI_RANK, tag);
  for (mode = 0; mode < 4; ++mode) { /* each kind of send with each kind of receive */
    const int packet_out = mode & 1, packet_in = mode & 2;
    memset(in.address, 0, n);
    if (packet_in)
      INSIST(LCI_recvmn(LCI_UR_ENDPOINT, before, tag, o->local[kind], &in));
    else
      INSIST(LCI_recvm(LCI_UR_ENDPOINT, in, before, tag, o->local[kind], &in));
    if (packet_out) {
      INSIST(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet));
      memcpy(packet.address, out.address, n);
      packet.length = n;
      INSIST(LCI_sendmn(LCI_UR_ENDPOINT, packet, next, tag));
    } else {
      INSIST(LCI_sendm(LCI_UR_ENDPOINT, out, next, tag));
    }
    take(kind, o->local[kind], tag, &r, t);
    check_medium(&r, n, tag, t);
    EXPECT(r.user_context == &in && (packet_in || r.data.mbuffer.address == in.address));
    if (packet_in) EXPECT(LCI_mbuffer_free(r.data.mbuffer) == LCI_OK);
  }
  for (mode = 0; mode < 2; ++mode)
    for (named = 0; named < 2; ++named) {
      const uintptr_t to = named ? o->theirs[kind] : LCI_DEFAULT_COMP_REMOTE;
      if (mode == 0) {
        INSIST(LCI_putma(o->endpoints[kind], out, next, tag, to));
      } else {
        INSIST(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet));
        memcpy(packet.address, out.address, n);
        packet.length = n;
        INSIST(LCI_putmna(o->endpoints[kind], packet, next, tag, to));
      }
      take(kind, o->arrivals[kind], tag, &r, t);
      check_medium(&r, n, tag, t);
      EXPECT(r.user_context == NULL && LCI_mbuffer_free(r.data.mbuffer) == LCI_OK);
    }
  /* With local completion. */
  INSIST(LCI_putmac(o->endpoints[kind], out, next, tag, LCI_DEFAULT_COMP_REMOTE, o->local[SYNC], &out));
  EXPECT(LCI_sync_wait(o->local[SYNC], &r) == LCI_OK && r.flag == LCI_OK && r.rank == next && r.user_context == &out);
  take(kind, o->arrivals[kind], tag, &r, t);
  check_medium(&r, n, tag, t);
  LCI_mbuffer_free(r.data.mbuffer);
  INSIST(LCI_recvm(LCI_UR_ENDPOINT, in, before, tag, o->local[kind], NULL));
  INSIST(LCI_sendmc(LCI_UR_ENDPOINT, out, next, tag, o->local[kind == SYNC ? QUEUE : SYNC], &out));
  if (kind == SYNC)
    EXPECT(LCI_queue_wait(o->local[QUEUE], &r) == LCI_OK && r.user_context == &out);
  else
    EXPECT(LCI_sync_wait(o->local[SYNC], &r) == LCI_OK && r.user_context == &out);
  take(kind, o->local[kind], tag, &r, t);
  check_medium(&r, n, tag, t);
  free(out.address);
  free(in.address);
}

static void check_long(const LCI_request_t* r, int rank, size_t n, LCI_tag_t tag, int t) {
  EXPECT(r->flag == LCI_OK && r->rank == rank && r->tag == tag && r->type == LCI_LONG && r->data.lbuffer.length == n);
}

static void long_messages(int t, int kind, LCI_tag_t tag, size_t n) {
  struct objects* o = &of_thread[t];
  const int sends_by = kind == SYNC ? QUEUE : SYNC; /* another object than that of the receive */
  LCI_lbuffer_t out, in, none = {NULL, NULL, 0};
  LCI_request_t r;
  int registered, mode, named;
  for (registered = 0; registered < 2; ++registered) {
    if (registered) {
      EXPECT(LCI_lbuffer_memalign(LCI_UR_DEVICE, n, 4096, &out) == LCI_OK && (uintptr_t)out.address % 4096 == 0);
      EXPECT(LCI_lbuffer_alloc(LCI_UR_DEVICE, n, &in) == LCI_OK);
    } else {
      out.segment = in.segment = LCI_SEGMENT_ALL;
      out.address = malloc(n + 1);
      in.address = malloc(n + 1);
      out.length = in.length = n;
    }
    fill_pattern(out.address, n, LCI_RANK, tag);
    for (mode = 0; mode < 2; ++mode) { /* into the receiver's buffer, or one that the library allocates */
      memset(in.address, 0, n);
      INSIST(LCI_recvl(LCI_UR_ENDPOINT, mode == 0 ? in : none, before, tag, o->local[kind], &in));
      INSIST(LCI_sendl(LCI_UR_ENDPOINT, out, next, tag, o->local[sends_by], &out));
      take(kind, o->local[kind], tag, &r, t);
      check_long(&r, before, n, tag, t);
      EXPECT(r.user_context == &in && (mode == 1 || r.data.lbuffer.address == in.address));
      EXPECT(has_pattern(r.data.lbuffer.address, n, before, tag));
      if (mode == 1) EXPECT(LCI_lbuffer_free(r.data.lbuffer) == LCI_OK);
      take(sends_by, o->local[sends_by], tag, &r, t);
      check_long(&r, next, n, tag, t);
      EXPECT(r.user_context == &out && memcmp(&r.data.lbuffer, &out, sizeof out) == 0);
    }
    for (named = 0; named < 2; ++named) {
      INSIST(LCI_putla(o->endpoints[kind], out, o->local[sends_by], next, tag,
                       named ? o->theirs[kind] : LCI_DEFAULT_COMP_REMOTE, &out));
      take(kind, o->arrivals[kind], tag, &r, t);
      check_long(&r, before, n, tag, t);
      EXPECT(r.user_context == NULL && has_pattern(r.data.lbuffer.address, n, before, tag));
      EXPECT(LCI_lbuffer_free(r.data.lbuffer) == LCI_OK);
      take(sends_by, o->local[sends_by], tag, &r, t);
      check_long(&r, next, n, tag, t);
      EXPECT(memcmp(&r.data.lbuffer, &out, sizeof out) == 0);
    }
    /* Without local completion, LCI_fence_wait() waits until the buffer is free. */
    INSIST(LCI_putla(o->endpoints[kind], out, NULL, next, tag, LCI_DEFAULT_COMP_REMOTE, NULL));
    take(kind, o->arrivals[kind], tag, &r, t);
    EXPECT(has_pattern(r.data.lbuffer.address, n, before, tag) && LCI_lbuffer_free(r.data.lbuffer) == LCI_OK);
    EXPECT(LCI_fence_wait(o->endpoints[kind]) == LCI_OK);
    if (registered) {
      EXPECT(LCI_lbuffer_free(out) == LCI_OK && LCI_lbuffer_free(in) == LCI_OK);
    } else {
      free(out.address);
      free(in.address);
    }
  }
}

static void work(int t) {
  const size_t medium = (size_t)LCI_MEDIUM_SIZE;
  const size_t sizes[] = {0, 1, 8, 31, 64, 100, 1000, 4096, 8192, medium - 1, medium, medium + 1, 100000, 1u << 20};
  LCI_tag_t tag = (LCI_tag_t)(t * 4000);
  size_t i;
  int kind;
  for (kind = 0; kind < KINDS; ++kind) {
    short_messages(t, kind, ++tag);
    for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      if (sizes[i] <= medium) medium_messages(t, kind, ++tag, sizes[i]);
      long_messages(t, kind, ++tag, sizes[i]);
    }
  }
  if (very_long) long_messages(t, QUEUE, ++tag, medium * 1000 + 3);
}

int main(int argc, char** argv) { return run("matrix", argc, argv); }
