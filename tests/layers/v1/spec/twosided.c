/* Section 4.9, two-sided communication of short, medium and long messages: each call that sends against each that
 * receives, with all kinds of completion, by each match, the receive before and after the message. */
#include "tests/layers/v1/spec/spec.h"

/* --- the calls --- */

struct transfer {
  struct worker* w;
  LCI_endpoint_t endpoint;
  int to, from;
  LCI_tag_t tag;
  size_t length, capacity;
  LCI_segment_t source_segment, sink_segment;
  LCI_comp_t send_comp, receive_comp;
  LCI_mbuffer_t packet; /* that LCI_sendmn() has not yet accepted */
};

static LCI_error_t post_sends(struct transfer* t) {
  return LCI_sends(t->endpoint, short_of(t->tag + 1), t->to, t->tag);
}
static LCI_error_t post_sendm(struct transfer* t) {
  LCI_error_t code = LCI_sendm(t->endpoint, medium_of(t->w->source, t->length), t->to, t->tag);
  if (code == LCI_OK) memset(t->w->source, OVERWRITTEN, t->length);
  return code;
}
static LCI_error_t post_sendmn(struct transfer* t) {
  const LCI_error_t code = fill_packet(&t->packet, t->w->source, t->length);
  if (code != LCI_OK) return code;
  return packet_sent(&t->packet, LCI_sendmn(t->endpoint, t->packet, t->to, t->tag), t->tag);
}
static LCI_error_t post_sendmc(struct transfer* t) {
  return LCI_sendmc(t->endpoint, medium_of(t->w->source, t->length), t->to, t->tag, t->send_comp, t);
}
static LCI_error_t post_sendl(struct transfer* t) {
  return LCI_sendl(t->endpoint, long_of(t->source_segment, t->w->source, t->length), t->to, t->tag, t->send_comp, t);
}

static LCI_error_t post_recvs(struct transfer* t) {
  return LCI_recvs(t->endpoint, t->from, t->tag, t->receive_comp, t->w);
}
static LCI_error_t post_recvm(struct transfer* t) {
  return LCI_recvm(t->endpoint, medium_of(t->w->sink, t->capacity), t->from, t->tag, t->receive_comp, t->w);
}
static LCI_error_t post_recvmn(struct transfer* t) {
  return LCI_recvmn(t->endpoint, t->from, t->tag, t->receive_comp, t->w);
}
static LCI_error_t post_recvl(struct transfer* t) {
  return LCI_recvl(t->endpoint, long_of(t->sink_segment, t->w->sink, t->capacity), t->from, t->tag, t->receive_comp,
                   t->w);
}
/* A segment that was never set must be ignored. */
static LCI_error_t post_recvl_null(struct transfer* t) {
  return LCI_recvl(t->endpoint, long_of((LCI_segment_t)(uintptr_t)0x1234567, NULL, 0), t->from, t->tag, t->receive_comp,
                   t->w);
}

static void check_recvs(struct transfer* t, const LCI_request_t* request) {
  CHECK_EQ(request->type, LCI_IMMEDIATE);
  CHECK_EQ(number_in(request), t->tag + 1);
}
static void check_sink(struct transfer* t) {
  CHECK(has_payload(t->w->sink, t->length, t->from, t->tag));
  CHECK(is_all(t->w->sink + t->length, t->capacity - t->length + GUARD, UNTOUCHED));
}
static void check_recvm(struct transfer* t, const LCI_request_t* request) {
  CHECK_EQ(request->type, LCI_MEDIUM);
  CHECK(request->data.mbuffer.address == t->w->sink);
  CHECK_EQ(request->data.mbuffer.length, t->length);
  check_sink(t);
}
static void check_recvmn(struct transfer* t, const LCI_request_t* request) {
  CHECK_EQ(request->type, LCI_MEDIUM);
  CHECK(request->data.mbuffer.address != NULL && request->data.mbuffer.address != t->w->sink);
  if (!request->data.mbuffer.address) return;
  CHECK_EQ(request->data.mbuffer.length, t->length);
  CHECK(has_payload(request->data.mbuffer.address, t->length, t->from, t->tag));
  memset(request->data.mbuffer.address, OVERWRITTEN, (size_t)LCI_MEDIUM_SIZE); /* all of it is the receiver's */
  CHECK_OK(LCI_mbuffer_free(request->data.mbuffer));
}
static void check_recvl(struct transfer* t, const LCI_request_t* request) {
  CHECK_EQ(request->type, LCI_LONG);
  CHECK(request->data.lbuffer.address == t->w->sink);
  CHECK(request->data.lbuffer.segment == t->sink_segment);
  CHECK_EQ(request->data.lbuffer.length, t->length);
  check_sink(t);
}
static void check_recvl_null(struct transfer* t, const LCI_request_t* request) {
  CHECK_EQ(request->type, LCI_LONG);
  CHECK_EQ(request->data.lbuffer.length, t->length);
  CHECK(t->length == 0 || request->data.lbuffer.address != NULL);
  CHECK(has_payload(request->data.lbuffer.address, t->length, t->from, t->tag));
  if (t->length > 0) memset(request->data.lbuffer.address, OVERWRITTEN, t->length);
  CHECK_OK(LCI_lbuffer_free(request->data.lbuffer));
}

struct send_call {
  const char* name;
  int signals; /* has a completion argument */
  int may_be_silent;
  LCI_error_t (*post)(struct transfer*);
};
struct receive_call {
  const char* name;
  int may_be_silent; /* its completion may be NULL */
  LCI_error_t (*post)(struct transfer*);
  void (*check)(struct transfer*, const LCI_request_t*);
};
/* Messages of one mode match each other, whatever the calls. */
struct mode {
  LCI_data_type_t type;
  int sizes;
  int send_calls, receive_calls;
  struct send_call sends[3];
  struct receive_call receives[3];
};
static const struct mode short_mode = {
    LCI_IMMEDIATE, 1, 1, 1, {{"sends", 0, 0, post_sends}}, {{"recvs", 0, post_recvs, check_recvs}}};
static const struct mode medium_mode = {
    LCI_MEDIUM,
    MEDIUM_SIZES,
    3,
    2,
    {{"sendm", 0, 0, post_sendm}, {"sendmn", 0, 0, post_sendmn}, {"sendmc", 1, 0, post_sendmc}},
    {{"recvm", 1, post_recvm, check_recvm}, {"recvmn", 0, post_recvmn, check_recvmn}}};
static const struct mode long_mode = {
    LCI_LONG,
    SIZES,
    1,
    2,
    {{"sendl", 1, 1, post_sendl}},
    {{"recvl", 1, post_recvl, check_recvl}, {"recvl of NULL", 0, post_recvl_null, check_recvl_null}}};

/* --- a case --- */

enum {
  SEND,
  RECEIVE,
  SEND_COMP,
  RECEIVE_COMP,
  SIZE,
  ORDER,
  ASLEEP,
  MATCH,
  SOURCE_SEGMENT,
  SINK_SEGMENT,
  EXACT,
  ENDPOINT,
  SHIFT,
  AXES
};
enum { OWN, SHARED, UR, ENDPOINTS };
static __thread const struct mode* mode;

static LCI_endpoint_t endpoint_of(struct worker* w, const int* v, int send_kind, int receive_kind) {
  struct worker* owner = v[ENDPOINT] == SHARED ? &workers[0] : w;
  if (v[ENDPOINT] == UR) return LCI_UR_ENDPOINT;
  return owner->endpoints[v[MATCH]][send_kind == BY_NOTHING ? BY_QUEUE : send_kind]
                         [receive_kind == BY_NOTHING ? BY_QUEUE : receive_kind];
}

static int makes_sense(const struct worker* w, const int* v) {
  const struct send_call* send = &mode->sends[v[SEND]];
  const struct receive_call* receive = &mode->receives[v[RECEIVE]];
  if (v[SEND_COMP] == BY_NOTHING ? send->signals && !send->may_be_silent : !send->signals) return 0;
  if (v[RECEIVE_COMP] == BY_NOTHING) {
    /* Complete after LCI_gfence_wait() only, which is for one thread. */
    if (!receive->may_be_silent || worker_count > 1) return 0;
  }
  if (worker_count == 1 && v[ENDPOINT] == SHARED) return 0;
  /* A fence of a shared endpoint also waits for other threads' messages. If several threads waited so, those that
   * receive their messages might wait for each other. */
  if (w->thread > 0 && v[ENDPOINT] != OWN && send->signals && v[SEND_COMP] == BY_NOTHING) return 0;
  return !(v[ENDPOINT] == UR && v[MATCH]);
}

static void check_sent(struct transfer* t, const LCI_request_t* request) {
  check_request(request, t->to, t->tag, t);
  if (mode->type != LCI_LONG) return;
  CHECK_EQ(request->type, LCI_LONG);
  CHECK(request->data.lbuffer.segment == t->source_segment);
  CHECK(request->data.lbuffer.address == t->w->source);
  CHECK_EQ(request->data.lbuffer.length, t->length);
}

static void receive(struct transfer* t, const struct receive_call* call) { AGAIN(call->post(t)); }

static void run_case(struct worker* w, const int* v) {
  const struct send_call* send = &mode->sends[v[SEND]];
  const struct receive_call* call = &mode->receives[v[RECEIVE]];
  struct transfer t;
  LCI_request_t request;
  if (!makes_sense(w, v)) return;
  memset(&t, 0, sizeof t);
  t.w = w;
  t.tag = start_case(w, v[SHIFT], &t.to, &t.from);
  t.endpoint = endpoint_of(w, v, v[SEND_COMP], v[RECEIVE_COMP]);
  t.length = size_of(w, v[SIZE]);
  t.capacity = v[EXACT] ? t.length : mode->type == LCI_LONG ? w->size : (size_t)LCI_MEDIUM_SIZE;
  if (t.capacity > t.length + 5000) t.capacity = t.length + 5000;
  t.source_segment = v[SOURCE_SEGMENT] ? w->source_segment : LCI_SEGMENT_ALL;
  t.sink_segment = v[SINK_SEGMENT] ? w->sink_segment : LCI_SEGMENT_ALL;
  t.send_comp = v[SEND_COMP] == BY_NOTHING ? NULL : w->local[v[SEND_COMP]].comp;
  t.receive_comp = v[RECEIVE_COMP] == BY_NOTHING ? NULL : w->receive[v[RECEIVE_COMP]].comp;
  case_is("%s %s, completed by %s and %s, %zu bytes into %zu, %s, %s, %s, %s%s, %s endpoint, rank + %d, thread %d",
          send->name, call->name, kind_names[v[SEND_COMP]], kind_names[v[RECEIVE_COMP]], t.length, t.capacity,
          v[ORDER] ? "message first" : "receive first", v[ASLEEP] ? "asleep" : "polling", v[MATCH] ? "tag" : "rank+tag",
          v[SOURCE_SEGMENT] ? "registered to " : "any to ", v[SINK_SEGMENT] ? "registered" : "any",
          v[ENDPOINT] == UR       ? "UR"
          : v[ENDPOINT] == SHARED ? "shared"
                                  : "own",
          v[SHIFT], w->thread);

  memcpy(w->source, payload(LCI_RANK, t.tag), t.length);
  memset(w->sink, UNTOUCHED, t.capacity + GUARD);
  if (v[ORDER] == 0) receive(&t, call);
  swap_tokens(w, t.from, t.to);
  AGAIN(send->post(&t));
  if (v[ORDER] == 1) {
    swap_tokens(w, t.to, t.from);
    progress_on(LCI_UR_DEVICE);
    progress_on(LCI_UR_DEVICE);
    CHECK(v[RECEIVE_COMP] == BY_NOTHING || !box_take(&w->receive[v[RECEIVE_COMP]], &request));
    receive(&t, call);
  }
  if (t.send_comp) {
    box_wait(&w->local[v[SEND_COMP]], LCI_UR_DEVICE, &request, v[ASLEEP]);
    check_sent(&t, &request);
    memset(w->source, OVERWRITTEN, t.length);
  } else if (send->signals) {
    CHECK_OK(LCI_fence_wait(t.endpoint));
    memset(w->source, OVERWRITTEN, t.length);
  }
  if (t.receive_comp) {
    box_wait(&w->receive[v[RECEIVE_COMP]], LCI_UR_DEVICE, &request, v[ASLEEP]);
    check_request(&request, t.from, t.tag, w);
    call->check(&t, &request);
  } else {
    CHECK_OK(LCI_gfence_wait(t.endpoint));
    check_sink(&t);
  }
}

static void run_modes(struct worker* w) {
  static const struct {
    const struct mode* mode;
    unsigned long some;
  } modes[] = {{&short_mode, 1000}, {&medium_mode, 5000}, {&long_mode, 2500}};
  size_t i;
  for (i = 0; i < sizeof modes / sizeof *modes; ++i) {
    const struct axis axes[AXES] = {{"send", modes[i].mode->send_calls},
                                    {"receive", modes[i].mode->receive_calls},
                                    {"completion of the send", KINDS + 1},
                                    {"completion of the receive", KINDS + 1},
                                    {"size", modes[i].mode->sizes},
                                    {"message first", 2},
                                    {"asleep", 2},
                                    {"match by tag", 2},
                                    {"registered source", modes[i].mode->type == LCI_LONG ? 2 : 1},
                                    {"registered sink", modes[i].mode->type == LCI_LONG ? 2 : 1},
                                    {"exact", modes[i].mode->type == LCI_IMMEDIATE ? 1 : 2},
                                    {"endpoint", ENDPOINTS},
                                    {"shift", LCI_NUM_PROCESSES}};
    mode = modes[i].mode;
    each_case(axes, AXES, modes[i].some, w, run_case);
  }
}

void twosided(void) { on_workers(run_modes); }
