/* Many messages at once, completed by one queue, one handler, or one synchronizer for all of them, which fires again
 * and again: sections 4.7 and T15. */
#include "tests/layers/v1/spec/spec.h"

enum { WINDOW = 24 };
enum { CALL, KIND, RECEIVE_KIND, SIZE, SHIFT, AXES };

struct burst {
  struct worker* w;
  LCI_endpoint_t endpoint;
  int to, from;
  size_t length;
  LCI_comp_t comp, receive_comp;
  uintptr_t far_comp;
  LCI_tag_t first_tag;
};

static LCI_tag_t tag_at(const struct burst* b, int i) { return b->first_tag + (LCI_tag_t)i; }
static char* slot(char* memory, int i) { return memory + i * 0x4000; }
static LCI_mbuffer_t medium_at(const struct burst* b, int i) { return medium_of(slot(b->w->source, i), b->length); }
static LCI_lbuffer_t long_at(const struct burst* b, int i) {
  return long_of(i % 2 ? b->w->source_segment : LCI_SEGMENT_ALL, slot(b->w->source, i), b->length);
}

static LCI_error_t post_sends(struct burst* b, int i) {
  return LCI_sends(b->endpoint, short_of(tag_at(b, i)), b->to, tag_at(b, i));
}
static LCI_error_t post_sendm(struct burst* b, int i) {
  return LCI_sendm(b->endpoint, medium_at(b, i), b->to, tag_at(b, i));
}
static LCI_error_t post_sendmc(struct burst* b, int i) {
  return LCI_sendmc(b->endpoint, medium_at(b, i), b->to, tag_at(b, i), b->comp, slot(b->w->source, i));
}
static LCI_error_t post_sendl(struct burst* b, int i) {
  return LCI_sendl(b->endpoint, long_at(b, i), b->to, tag_at(b, i), b->comp, slot(b->w->source, i));
}
static LCI_error_t post_puts(struct burst* b, int i) {
  return LCI_puts(b->endpoint, short_of(tag_at(b, i)), b->to, tag_at(b, i), b->far_comp);
}
static LCI_error_t post_putma(struct burst* b, int i) {
  return LCI_putma(b->endpoint, medium_at(b, i), b->to, tag_at(b, i), b->far_comp);
}
static LCI_error_t post_putmac(struct burst* b, int i) {
  return LCI_putmac(b->endpoint, medium_at(b, i), b->to, tag_at(b, i), b->far_comp, b->comp, slot(b->w->source, i));
}
static LCI_error_t post_putla(struct burst* b, int i) {
  return LCI_putla(b->endpoint, long_at(b, i), b->comp, b->to, tag_at(b, i), b->far_comp, slot(b->w->source, i));
}
static LCI_error_t post_recvs(struct burst* b, int i) {
  return LCI_recvs(b->endpoint, b->from, tag_at(b, i), b->receive_comp, slot(b->w->sink, i));
}
static LCI_error_t post_recvm(struct burst* b, int i) {
  return LCI_recvm(b->endpoint, medium_of(slot(b->w->sink, i), b->length), b->from, tag_at(b, i), b->receive_comp,
                   slot(b->w->sink, i));
}
static LCI_error_t post_recvmn(struct burst* b, int i) {
  return LCI_recvmn(b->endpoint, b->from, tag_at(b, i), b->receive_comp, slot(b->w->sink, i));
}
static LCI_error_t post_recvl(struct burst* b, int i) {
  LCI_lbuffer_t buffer = long_of(LCI_SEGMENT_ALL, i % 3 ? slot(b->w->sink, i) : NULL, i % 3 ? b->length : 0);
  return LCI_recvl(b->endpoint, buffer, b->from, tag_at(b, i), b->receive_comp, slot(b->w->sink, i));
}

static const struct call {
  const char* name;
  int signals;
  LCI_data_type_t type;
  LCI_error_t (*post)(struct burst*, int i);
  LCI_error_t (*receive)(struct burst*, int i);
} calls[] = {
    {"sends, recvs", 0, LCI_IMMEDIATE, post_sends, post_recvs},
    {"sendm, recvm", 0, LCI_MEDIUM, post_sendm, post_recvm},
    {"sendmc, recvmn", 1, LCI_MEDIUM, post_sendmc, post_recvmn},
    {"sendl, recvl", 1, LCI_LONG, post_sendl, post_recvl},
    {"puts", 0, LCI_IMMEDIATE, post_puts, NULL},
    {"putma", 0, LCI_MEDIUM, post_putma, NULL},
    {"putmac", 1, LCI_MEDIUM, post_putmac, NULL},
    {"putla", 1, LCI_LONG, post_putla, NULL},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* A synchronizer for WINDOW completions, or a box. */
struct collector {
  struct box box;
  int kind;
  LCI_comp_t comp;
};
static void collector_open(struct collector* c, int kind) {
  memset(c, 0, sizeof *c);
  c->kind = kind;
  if (kind == BY_SYNC) {
    CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, WINDOW, &c->comp));
  } else {
    box_open(&c->box, LCI_UR_DEVICE, kind);
    c->comp = c->box.comp;
  }
}
static void collector_close(struct collector* c) {
  LCI_request_t requests[WINDOW];
  if (c->kind == BY_SYNC) {
    CHECK_EQ(LCI_sync_test(c->comp, requests), LCI_ERR_RETRY);
    CHECK_OK(LCI_sync_free(&c->comp));
  } else {
    box_close(&c->box);
  }
}
static void collect(struct collector* c, LCI_request_t* requests, int asleep) {
  struct patience patience = {0, 0};
  int i;
  memset(requests, 0x77, sizeof *requests * WINDOW);
  if (c->kind == BY_SYNC && asleep) {
    CHECK_OK(LCI_sync_wait(c->comp, requests));
  } else if (c->kind == BY_SYNC) {
    LCI_error_t code;
    while ((code = LCI_sync_test(c->comp, requests)) == LCI_ERR_RETRY)
      step(&patience, LCI_UR_DEVICE, "a synchronizer of many completions");
    CHECK_EQ(code, LCI_OK);
  } else if (c->kind == BY_QUEUE && asleep) {
    CHECK_OK(LCI_queue_wait_multiple(c->comp, WINDOW, requests));
  } else {
    for (i = 0; i < WINDOW; ++i) box_wait(&c->box, LCI_UR_DEVICE, &requests[i], asleep);
  }
}

/* Each message once. */
static void check_tags(const struct burst* b, const LCI_request_t* requests, int peer, char* memory) {
  char seen[WINDOW] = {0};
  int i;
  for (i = 0; i < WINDOW; ++i) {
    const LCI_tag_t at = requests[i].tag - b->first_tag;
    CHECK(at < WINDOW);
    if (at >= WINDOW) continue;
    CHECK_EQ(seen[at]++, 0);
    check_request(&requests[i], peer, tag_at(b, (int)at), memory ? slot(memory, (int)at) : NULL);
  }
}

static void check_data(const struct burst* b, const struct call* call, const LCI_request_t* request) {
  CHECK_EQ(request->type, call->type);
  if (call->type == LCI_IMMEDIATE) {
    CHECK_EQ(number_in(request), request->tag);
  } else if (call->type == LCI_MEDIUM) {
    CHECK_EQ(request->data.mbuffer.length, b->length);
    CHECK(has_payload(request->data.mbuffer.address, b->length, b->from, request->tag));
    if (call->receive != post_recvm) CHECK_OK(LCI_mbuffer_free(request->data.mbuffer));
  } else {
    char* mine = slot(b->w->sink, (int)(request->tag - b->first_tag));
    CHECK_EQ(request->data.lbuffer.length, b->length);
    CHECK(has_payload(request->data.lbuffer.address, b->length, b->from, request->tag));
    if (request->data.lbuffer.address != mine) CHECK_OK(LCI_lbuffer_free(request->data.lbuffer));
  }
}

static __thread struct collector senders[KINDS], receivers[KINDS];
static __thread uint64_t* far_receivers; /* [rank * KINDS + kind] of this thread */

static void run_case(struct worker* w, const int* v) {
  const struct call* call = &calls[v[CALL]];
  const size_t lengths[] = {0, 8, (size_t)LCI_MEDIUM_SIZE};
  LCI_request_t requests[WINDOW];
  struct burst b;
  int round, i;
  if (!call->signals && v[KIND] != BY_QUEUE) return;
  if (call->type == LCI_IMMEDIATE && v[SIZE]) return;
  memset(&b, 0, sizeof b);
  b.w = w;
  b.to = rank_at(v[SHIFT]);
  b.from = rank_at(-v[SHIFT]);
  b.endpoint = workers[0].endpoints[0][v[KIND]][v[RECEIVE_KIND]];
  b.length = lengths[v[SIZE]] < 0x4000 ? lengths[v[SIZE]] : 0x4000;
  b.comp = senders[v[KIND]].comp;
  b.receive_comp = receivers[v[RECEIVE_KIND]].comp;
  b.far_comp = (uintptr_t)far_receivers[b.to * KINDS + v[RECEIVE_KIND]];
  for (round = 0; round < 3; ++round) {
    w->number += WINDOW / 5 + 1;
    b.first_tag = (LCI_tag_t)w->thread * 0x4000u + w->number * 5u % 0x3f00u;
    case_is("%d messages by %s, completed by %s and %s, %zu bytes each, round %d, rank + %d, thread %d", WINDOW,
            call->name, call->signals ? kind_names[v[KIND]] : "return", kind_names[v[RECEIVE_KIND]], b.length, round,
            v[SHIFT], w->thread);
    for (i = 0; i < WINDOW; ++i) {
      memcpy(slot(w->source, i), payload(LCI_RANK, tag_at(&b, i)), b.length);
      memset(slot(w->sink, i), UNTOUCHED, b.length);
      if (call->receive && (round + i) % 2 == 0) AGAIN(call->receive(&b, i));
    }
    swap_tokens(w, b.from, b.to);
    for (i = 0; i < WINDOW; ++i) AGAIN(call->post(&b, i));
    for (i = 0; i < WINDOW; ++i)
      if (call->receive && (round + i) % 2 == 1) AGAIN(call->receive(&b, i));
    if (call->signals) {
      collect(&senders[v[KIND]], requests, round % 2);
      check_tags(&b, requests, b.to, w->source);
    }
    collect(&receivers[v[RECEIVE_KIND]], requests, round % 2);
    check_tags(&b, requests, b.from, call->receive ? w->sink : NULL);
    for (i = 0; i < WINDOW; ++i) check_data(&b, call, &requests[i]);
    swap_tokens(w, b.from, b.to); /* `to` has them all: no more than WINDOW completions are outstanding */
  }
}

static PER_RANK struct collector made[MAX_THREADS][2][KINDS];
static PER_RANK uint64_t* made_everywhere;

static void run_calls(struct worker* w) {
  const struct axis axes[AXES] = {{"call", CALLS},
                                  {"completion of the post", KINDS},
                                  {"completion at the target", KINDS},
                                  {"size", 3},
                                  {"shift", LCI_NUM_PROCESSES}};
  uint64_t far[64 * KINDS];
  int r, kind;
  memcpy(senders, made[w->thread][0], sizeof senders);
  memcpy(receivers, made[w->thread][1], sizeof receivers);
  for (r = 0; r < LCI_NUM_PROCESSES; ++r)
    for (kind = 0; kind < KINDS; ++kind)
      far[r * KINDS + kind] = made_everywhere[(r * MAX_THREADS + w->thread) * KINDS + kind];
  far_receivers = far;
  each_case(axes, AXES, 500, w, run_case);
}

void bursts(void) {
  uint64_t mine[MAX_THREADS * KINDS];
  int t, kind;
  memset(mine, 0, sizeof mine);
  for (t = 0; t < worker_count; ++t)
    for (kind = 0; kind < KINDS; ++kind) {
      collector_open(&made[t][0][kind], kind);
      collector_open(&made[t][1][kind], kind);
      mine[t * KINDS + kind] = (uintptr_t)made[t][1][kind].comp;
    }
  made_everywhere = malloc(sizeof mine * (size_t)LCI_NUM_PROCESSES);
  if (!made_everywhere) give_up("memory");
  exchange(mine, made_everywhere, sizeof mine);
  on_workers(run_calls);
  for (t = 0; t < worker_count; ++t)
    for (kind = 0; kind < KINDS; ++kind) {
      collector_close(&made[t][0][kind]);
      collector_close(&made[t][1][kind]);
    }
  free(made_everywhere);
}
