/* Section 4.10, one-sided communication of short, medium and long messages: each call, with all kinds of completion
 * here and there (none, the endpoint's default object, another object of the target). */
#include "tests/layers/v1/spec/spec.h"

struct transfer {
  struct worker* w;
  LCI_endpoint_t endpoint;
  int to, from;
  LCI_tag_t tag;
  size_t length;
  LCI_segment_t segment; /* of the local buffer */
  LCI_comp_t comp;
  uintptr_t remote_comp;
  LCI_lbuffer_t get_into;
  LCI_mbuffer_t packet; /* that has not yet been accepted */
};

static LCI_mbuffer_t source_m(const struct transfer* t) { return medium_of(t->w->source, t->length); }
static LCI_lbuffer_t source_l(const struct transfer* t) { return long_of(t->segment, t->w->source, t->length); }
static void* far_area(const struct transfer* t) { return (void*)(uintptr_t)t->w->cards[t->to].area; }
static LCI_mbuffer_t far_m(const struct transfer* t) { return medium_of(far_area(t), t->length); }
static LCI_lbuffer_t far_l(const struct transfer* t) {
  return long_of(t->w->far_segments[t->to], far_area(t), t->length);
}
static LCI_error_t overwrite_if_accepted(struct transfer* t, LCI_error_t code) {
  if (code == LCI_OK) memset(t->w->source, OVERWRITTEN, t->length);
  return code;
}
static LCI_error_t fill(struct transfer* t) { return fill_packet(&t->packet, t->w->source, t->length); }
static LCI_error_t give(struct transfer* t, LCI_error_t code) { return packet_sent(&t->packet, code, t->tag); }

static LCI_error_t post_puts(struct transfer* t) {
  return LCI_puts(t->endpoint, short_of(t->tag + 1), t->to, t->tag, t->remote_comp);
}
static LCI_error_t post_putm(struct transfer* t) {
  return overwrite_if_accepted(t, LCI_putm(t->endpoint, source_m(t), t->to, t->tag, far_m(t), t->remote_comp));
}
static LCI_error_t post_putmn(struct transfer* t) {
  const LCI_error_t code = fill(t);
  if (code != LCI_OK) return code;
  return give(t, LCI_putmn(t->endpoint, t->packet, t->to, t->tag, far_m(t), t->remote_comp));
}
static LCI_error_t post_putma(struct transfer* t) {
  return overwrite_if_accepted(t, LCI_putma(t->endpoint, source_m(t), t->to, t->tag, t->remote_comp));
}
static LCI_error_t post_putmna(struct transfer* t) {
  const LCI_error_t code = fill(t);
  if (code != LCI_OK) return code;
  return give(t, LCI_putmna(t->endpoint, t->packet, t->to, t->tag, t->remote_comp));
}
static LCI_error_t post_putmac(struct transfer* t) {
  return LCI_putmac(t->endpoint, source_m(t), t->to, t->tag, t->remote_comp, t->comp, t);
}
static LCI_error_t post_putl(struct transfer* t) {
  return LCI_putl(t->endpoint, source_l(t), t->comp, t->to, t->tag, far_l(t), t->remote_comp, t);
}
static LCI_error_t post_putla(struct transfer* t) {
  return LCI_putla(t->endpoint, source_l(t), t->comp, t->to, t->tag, t->remote_comp, t);
}
static LCI_error_t post_getl(struct transfer* t) {
  t->get_into = long_of(t->segment, t->w->sink, t->length);
  return LCI_getl(t->endpoint, &t->get_into, t->length, t->comp, t->to, t->tag, far_l(t), t->remote_comp, t);
}

/* --- what the target has --- */

static void check_area(struct transfer* t) {
  CHECK(has_payload(t->w->area, t->length, t->from, t->tag));
  CHECK(is_all(t->w->area + t->length, GUARD, UNTOUCHED));
}
static void has_short(struct transfer* t, const LCI_request_t* request) { CHECK_EQ(number_in(request), t->tag + 1); }
static void has_medium(struct transfer* t, const LCI_request_t* request) {
  CHECK(request->data.mbuffer.address == t->w->area);
  CHECK_EQ(request->data.mbuffer.length, t->length);
  check_area(t);
}
static void has_packet_of_library(struct transfer* t, const LCI_request_t* request) {
  CHECK(request->data.mbuffer.address != NULL && request->data.mbuffer.address != t->w->area);
  if (!request->data.mbuffer.address) return;
  CHECK_EQ(request->data.mbuffer.length, t->length);
  CHECK(has_payload(request->data.mbuffer.address, t->length, t->from, t->tag));
  memset(request->data.mbuffer.address, OVERWRITTEN, (size_t)LCI_MEDIUM_SIZE); /* all of it is the target's */
  CHECK_OK(LCI_medium_free(request->data.mbuffer));
}
static void has_long(struct transfer* t, const LCI_request_t* request) {
  CHECK(request->data.lbuffer.address == t->w->area);
  CHECK_EQ(request->data.lbuffer.length, t->length);
  check_area(t);
}
static void has_long_of_library(struct transfer* t, const LCI_request_t* request) {
  CHECK_EQ(request->data.lbuffer.length, t->length);
  CHECK(t->length == 0 || request->data.lbuffer.address != NULL);
  CHECK(has_payload(request->data.lbuffer.address, t->length, t->from, t->tag));
  if (t->length > 0) memset(request->data.lbuffer.address, OVERWRITTEN, t->length);
  CHECK_OK(LCI_lbuffer_free(request->data.lbuffer));
}
/* The area that was read, which its owner may now overwrite. */
static void was_read(struct transfer* t, const LCI_request_t* request) {
  CHECK(request->data.lbuffer.address == t->w->area);
  CHECK_EQ(request->data.lbuffer.length, t->length);
  memset(t->w->area, OVERWRITTEN, t->length);
}

static const struct call {
  const char* name;
  LCI_data_type_t type;
  int sizes;
  int signals;       /* has a local completion */
  int may_be_silent; /* which may be NULL */
  int fixed_target;  /* the caller names the target's memory, so that no completion is needed there */
  int is_get;
  LCI_error_t (*post)(struct transfer*);
  void (*check)(struct transfer*, const LCI_request_t*);
} calls[] = {
    {"puts", LCI_IMMEDIATE, 1, 0, 0, 0, 0, post_puts, has_short},
    {"putm", LCI_MEDIUM, MEDIUM_SIZES, 0, 0, 1, 0, post_putm, has_medium},
    {"putmn", LCI_MEDIUM, MEDIUM_SIZES, 0, 0, 1, 0, post_putmn, has_medium},
    {"putma", LCI_MEDIUM, MEDIUM_SIZES, 0, 0, 0, 0, post_putma, has_packet_of_library},
    {"putmna", LCI_MEDIUM, MEDIUM_SIZES, 0, 0, 0, 0, post_putmna, has_packet_of_library},
    {"putmac", LCI_MEDIUM, MEDIUM_SIZES, 1, 0, 0, 0, post_putmac, has_packet_of_library},
    {"putl", LCI_LONG, SIZES, 1, 1, 1, 0, post_putl, has_long},
    {"putla", LCI_LONG, SIZES, 1, 1, 0, 0, post_putla, has_long_of_library},
    {"getl", LCI_LONG, SIZES, 1, 1, 1, 1, post_getl, was_read},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* --- a case --- */

enum { CALL, LOCAL, REMOTE, SIZE, ASLEEP, SEGMENT, ENDPOINT, SHIFT, AXES };

static int makes_sense(const struct call* call, const int* v) {
  if (v[SIZE] >= call->sizes) return 0;
  if (v[LOCAL] == BY_NOTHING ? call->signals && !call->may_be_silent : !call->signals) return 0;
  /* Complete after LCI_gfence_wait() only, which is for one thread. */
  if (v[REMOTE] == NO_REMOTE && (!call->fixed_target || (worker_count > 1 && !call->is_get))) return 0;
  if (v[SEGMENT] && call->type != LCI_LONG) return 0;
  /* The default object of a shared endpoint is one thread's. */
  return !(v[ENDPOINT] && (worker_count == 1 || v[REMOTE] < EXPLICIT_REMOTE));
}

static void run_case(struct worker* w, const int* v) {
  const struct call* call = &calls[v[CALL]];
  const int remote_kind = kind_of_remote(v[REMOTE]);
  struct worker* owner = v[ENDPOINT] ? &workers[0] : w;
  struct transfer t;
  LCI_request_t request;
  if (!makes_sense(call, v)) return;
  memset(&t, 0, sizeof t);
  t.w = w;
  t.tag = start_case(w, v[SHIFT], &t.to, &t.from);
  /* The default object is that of the target's endpoint; an explicit one need not be of that kind. */
  t.endpoint = owner->endpoints[0][v[LOCAL] == BY_NOTHING ? BY_QUEUE : v[LOCAL]][remote_kind % KINDS];
  t.length = size_of(w, v[SIZE]);
  t.segment = v[SEGMENT] ? (call->is_get ? w->sink_segment : w->source_segment) : LCI_SEGMENT_ALL;
  t.comp = v[LOCAL] == BY_NOTHING ? NULL : w->local[v[LOCAL]].comp;
  t.remote_comp = comp_of_remote(w, t.to, v[REMOTE]);
  case_is("%s, completed by %s here and %s%s there, %zu bytes, %s, %s, %s endpoint, rank + %d, thread %d", call->name,
          kind_names[v[LOCAL]], name_of_remote(v[REMOTE]), kind_names[remote_kind], t.length,
          v[ASLEEP] ? "asleep" : "polling", v[SEGMENT] ? "registered" : "any", v[ENDPOINT] ? "shared" : "own", v[SHIFT],
          w->thread);

  if (call->is_get) {
    memcpy(w->area, payload(LCI_RANK, t.tag), t.length);
    memset(w->sink, UNTOUCHED, t.length + GUARD);
  } else {
    memset(w->area, UNTOUCHED, t.length + GUARD);
    memcpy(w->source, payload(LCI_RANK, t.tag), t.length);
  }
  swap_tokens(w, t.from, t.to);
  AGAIN(call->post(&t));

  if (t.comp) {
    box_wait(&w->local[v[LOCAL]], LCI_UR_DEVICE, &request, v[ASLEEP]);
    check_request(&request, t.to, t.tag, &t);
    if (call->type == LCI_LONG) {
      CHECK_EQ(request.type, LCI_LONG);
      CHECK(request.data.lbuffer.address == (call->is_get ? w->sink : w->source));
      CHECK(request.data.lbuffer.segment == t.segment);
      CHECK_EQ(request.data.lbuffer.length, t.length);
    }
  } else if (call->signals) {
    CHECK_OK(LCI_fence_wait(t.endpoint));
  }
  if (call->is_get) {
    CHECK(has_payload(w->sink, t.length, t.to, t.tag));
    CHECK(is_all(w->sink + t.length, GUARD, UNTOUCHED));
  } else {
    memset(w->source, OVERWRITTEN, t.length);
  }

  if (v[REMOTE] != NO_REMOTE) {
    box_wait(box_of_remote(w, v[REMOTE]), LCI_UR_DEVICE, &request, v[ASLEEP]);
    check_request(&request, t.from, t.tag, NULL);
    CHECK_EQ(request.type, call->type);
    call->check(&t, &request);
  } else if (call->is_get) {
    swap_tokens(w, t.to, t.from); /* it has read this rank's area */
  } else {
    CHECK_OK(LCI_gfence_wait(t.endpoint));
    check_area(&t);
  }
}

static void run_calls(struct worker* w) {
  const struct axis axes[AXES] = {{"call", CALLS},
                                  {"local completion", KINDS + 1},
                                  {"remote completion", REMOTES},
                                  {"size", SIZES},
                                  {"asleep", 2},
                                  {"registered", 2},
                                  {"shared endpoint", worker_count > 1 ? 2 : 1},
                                  {"shift", LCI_NUM_PROCESSES}};
  each_case(axes, AXES, 8000, w, run_case);
}

/* --- cases that are no product --- */

/* A received packet may be sent on at once, by LCI_putmna() and LCI_sendmn(). */
static void packets_sent_on(struct worker* w) {
  enum { ROUNDS = 40 };
  const int to = rank_at(1);
  const int from = rank_at(-1);
  struct box* box = &w->default_remote[BY_QUEUE];
  LCI_endpoint_t endpoint = w->endpoints[0][BY_QUEUE][BY_QUEUE];
  LCI_request_t request;
  LCI_mbuffer_t packet;
  int round;
  case_is("a packet goes round %d times", ROUNDS);
  AGAIN(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet));
  packet.length = 1000;
  memcpy(packet.address, payload(LCI_RANK, 3), packet.length);
  for (round = 1; round <= ROUNDS; ++round) {
    const int origin = rank_at(-round);
    if (round % 2) {
      AGAIN(LCI_putmna(endpoint, packet, to, 3, LCI_DEFAULT_COMP_REMOTE));
    } else {
      AGAIN(LCI_recvmn(endpoint, from, 3, box->comp, NULL));
      AGAIN(LCI_sendmn(endpoint, packet, to, 3));
    }
    box_wait(box, LCI_UR_DEVICE, &request, 0);
    check_request(&request, from, 3, NULL);
    packet = request.data.mbuffer;
    CHECK_EQ(packet.length, 1000);
    CHECK(has_payload(packet.address, packet.length, origin, 3));
    handshake(to, from);
    handshake(from, to);
  }
  CHECK_OK(LCI_mbuffer_free(packet));
}

/* A packet stays the caller's with the calls that do not say otherwise: it can be sent again, and is freed once. */
static void packets_kept(struct worker* w) {
  enum { ROUNDS = 40, SENDS = 6, LENGTH = 1000 };
  const int to = rank_at(1);
  const int from = rank_at(-1);
  struct box* box = &w->default_remote[BY_QUEUE];
  struct box* local = &w->local[BY_QUEUE];
  LCI_endpoint_t endpoint = w->endpoints[0][BY_QUEUE][BY_QUEUE];
  LCI_request_t request;
  LCI_mbuffer_t packet, spare[SENDS];
  LCI_lbuffer_t as_long;
  int round, i;
  case_is("packets stay the caller's, %d times", ROUNDS);
  for (round = 1; round <= ROUNDS; ++round) {
    AGAIN(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet));
    packet.length = LENGTH;
    memcpy(packet.address, payload(LCI_RANK, (LCI_tag_t)round), LENGTH);
    as_long.segment = LCI_SEGMENT_ALL;
    as_long.address = packet.address;
    as_long.length = LENGTH;
    AGAIN(LCI_putma(endpoint, packet, to, (LCI_tag_t)round, LCI_DEFAULT_COMP_REMOTE));
    AGAIN(LCI_putmac(endpoint, packet, to, (LCI_tag_t)round, LCI_DEFAULT_COMP_REMOTE, local->comp, NULL));
    AGAIN(LCI_putla(endpoint, as_long, local->comp, to, (LCI_tag_t)round, LCI_DEFAULT_COMP_REMOTE, NULL));
    for (i = 0; i < 3; ++i)
      AGAIN(i == 2 ? LCI_recvl(endpoint, (LCI_lbuffer_t){0}, from, (LCI_tag_t)round, box->comp, NULL)
                   : LCI_recvmn(endpoint, from, (LCI_tag_t)round, box->comp, NULL));
    AGAIN(LCI_sendm(endpoint, packet, to, (LCI_tag_t)round));
    AGAIN(LCI_sendmc(endpoint, packet, to, (LCI_tag_t)round, local->comp, NULL));
    AGAIN(LCI_sendl(endpoint, as_long, to, (LCI_tag_t)round, local->comp, NULL));
    for (i = 0; i < 4; ++i) box_wait(local, LCI_UR_DEVICE, &request, 0);
    /* Were the packet free, it would be among these. */
    for (i = 0; i < SENDS; ++i) {
      AGAIN(LCI_mbuffer_alloc(LCI_UR_DEVICE, &spare[i]));
      CHECK(spare[i].address != packet.address);
    }
    for (i = 0; i < SENDS; ++i) CHECK_OK(LCI_mbuffer_free(spare[i]));
    CHECK(has_payload(packet.address, LENGTH, LCI_RANK, (LCI_tag_t)round));
    CHECK_OK(LCI_mbuffer_free(packet));
    for (i = 0; i < SENDS; ++i) {
      box_wait(box, LCI_UR_DEVICE, &request, 0);
      check_request(&request, from, (LCI_tag_t)round, NULL);
      if (request.type == LCI_MEDIUM) {
        CHECK(has_payload(request.data.mbuffer.address, request.data.mbuffer.length, from, (LCI_tag_t)round));
        CHECK_OK(LCI_mbuffer_free(request.data.mbuffer));
      } else {
        CHECK(has_payload(request.data.lbuffer.address, request.data.lbuffer.length, from, (LCI_tag_t)round));
        CHECK_OK(LCI_lbuffer_free(request.data.lbuffer));
      }
    }
    handshake(to, from);
    handshake(from, to);
  }
}

/* A part of a segment, at an odd address: the bytes around it remain. */
static void part_of_a_segment(struct worker* w) {
  const size_t offsets[] = {1, 63, 4095, 70001};
  const int to = rank_at(1);
  const int from = rank_at(-1);
  LCI_endpoint_t endpoint = w->endpoints[0][BY_QUEUE][BY_QUEUE];
  LCI_request_t request;
  size_t i;
  for (i = 0; i < sizeof offsets / sizeof *offsets; ++i) {
    const size_t offset = offsets[i], length = 5003;
    char* far_address = (char*)(uintptr_t)w->cards[to].area + offset;
    LCI_lbuffer_t into = long_of(w->sink_segment, w->sink + offset, length);
    case_is("%zu bytes at offset %zu of a segment", length, offset);
    memset(w->area, UNTOUCHED, 100000);
    memset(w->sink, UNTOUCHED, 100000);
    memcpy(w->source + offset, payload(LCI_RANK, 9), length);
    handshake(from, to);
    AGAIN(LCI_putl(endpoint, long_of(w->source_segment, w->source + offset, length), w->local[BY_QUEUE].comp, to, 9,
                   long_of(w->far_segments[to], far_address, length), LCI_DEFAULT_COMP_REMOTE, NULL));
    box_wait(&w->local[BY_QUEUE], LCI_UR_DEVICE, &request, 0);
    box_wait(&w->default_remote[BY_QUEUE], LCI_UR_DEVICE, &request, 0);
    check_request(&request, from, 9, NULL);
    CHECK(request.data.lbuffer.address == w->area + offset);
    CHECK(has_payload(w->area + offset, length, from, 9));
    CHECK(is_all(w->area, offset, UNTOUCHED) && is_all(w->area + offset + length, 1000, UNTOUCHED));
    handshake(from, to); /* the area of the next rank is filled */
    AGAIN(LCI_getl(endpoint, &into, length, w->local[BY_QUEUE].comp, to, 9,
                   long_of(w->far_segments[to], far_address, length), LCI_NO_COMP_REMOTE, NULL));
    box_wait(&w->local[BY_QUEUE], LCI_UR_DEVICE, &request, 0);
    check_request(&request, to, 9, NULL);
    CHECK(has_payload(w->sink + offset, length, LCI_RANK, 9)); /* what this rank has put there */
    CHECK(is_all(w->sink, offset, UNTOUCHED) && is_all(w->sink + offset + length, 1000, UNTOUCHED));
    handshake(to, from);
  }
}

static void special_cases(struct worker* w) {
  if (w->thread != 0) return;
  packets_sent_on(w);
  packets_kept(w);
  part_of_a_segment(w);
}

void onesided(void) {
  on_workers(run_calls);
  if (worker_count == 1) on_workers(special_cases);
}
