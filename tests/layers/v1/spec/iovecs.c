/* Sections 4.6.4, 4.9.4, 4.10.4: messages of one medium buffer and many long ones. */
#include "tests/layers/v1/spec/spec.h"

enum { CALL, LOCAL, REMOTE, COUNT, PIGGY, LENGTHS, ASLEEP, SEGMENT, SHIFT, AXES };
enum { COUNTS = 5, PIGGIES = 4, LENGTH_PATTERNS = 3, BETWEEN = 16 };

struct transfer {
  struct worker* w;
  LCI_endpoint_t endpoint;
  int to, from;
  LCI_tag_t tag;
  int count;
  size_t piggy_length;
  LCI_iovec_t source, target, far, sink; /* `target`: this rank's area, `far`: that of `to` */
  LCI_comp_t comp, receive_comp;
  uintptr_t remote_comp;
};

static int count_of(int value) {
  const int counts[COUNTS] = {1, 2, 5, 0, LCI_IOVEC_SIZE};
  return counts[value];
}
static size_t piggy_length_of(int value, int count) {
  const size_t largest = LCI_get_iovec_piggy_back_size(count);
  const size_t lengths[PIGGIES] = {0, 1, 100, largest};
  return lengths[value];
}
static size_t length_of(int pattern, int count, int i) {
  if (count > 16) return (size_t)(i * 7 % 97);
  if (pattern == 0) return (size_t)(i * 5 + 1);
  if (pattern == 1) return i == 0 ? (size_t)LCI_MEDIUM_SIZE + 1 : i == 1 ? 0 : 3000u + (size_t)i;
  return 70001;
}
static LCI_tag_t tag_of_buffer(const struct transfer* t, int i) { return t->tag + 37u * (LCI_tag_t)(i + 1); }

/* An iovec over consecutive memory, BETWEEN bytes apart; `slack` more bytes in each buffer. */
static LCI_iovec_t lay_out(const struct transfer* t, const int* v, LCI_segment_t segment, char* memory, char* piggy,
                           size_t slack) {
  LCI_iovec_t iovec;
  int i;
  memset(&iovec, 0, sizeof iovec);
  iovec.piggy_back = medium_of(piggy, t->piggy_length);
  iovec.count = t->count;
  iovec.lbuffers = malloc(sizeof *iovec.lbuffers * (size_t)(t->count + 1));
  if (!iovec.lbuffers) give_up("memory");
  for (i = 0; i < t->count; ++i) {
    const size_t length = length_of(v[LENGTHS], t->count, i);
    iovec.lbuffers[i] = long_of(segment, memory, length + slack);
    memory += length + BETWEEN;
  }
  return iovec;
}

static void fill(const struct transfer* t, const int* v, const LCI_iovec_t* iovec) {
  int i;
  memcpy(iovec->piggy_back.address, payload(LCI_RANK, t->tag), t->piggy_length);
  for (i = 0; i < t->count; ++i)
    memcpy(iovec->lbuffers[i].address, payload(LCI_RANK, tag_of_buffer(t, i)), length_of(v[LENGTHS], t->count, i));
}
static void make(const struct transfer* t, const int* v, const LCI_iovec_t* iovec, int byte) {
  int i;
  memset(iovec->piggy_back.address, byte, (size_t)LCI_MEDIUM_SIZE);
  for (i = 0; i < t->count; ++i) memset(iovec->lbuffers[i].address, byte, length_of(v[LENGTHS], t->count, i) + BETWEEN);
}
/* `laid_out`: buffers of this test, with BETWEEN bytes after each, which must remain as they were. */
static void check_content(const struct transfer* t, const int* v, const LCI_iovec_t* iovec, int from, int laid_out) {
  int i;
  CHECK(has_payload(iovec->piggy_back.address, t->piggy_length, from, t->tag));
  for (i = 0; i < t->count; ++i) {
    const size_t length = length_of(v[LENGTHS], t->count, i);
    CHECK(has_payload(iovec->lbuffers[i].address, length, from, tag_of_buffer(t, i)));
    if (laid_out) CHECK(is_all((char*)iovec->lbuffers[i].address + length, BETWEEN, UNTOUCHED));
  }
  if (laid_out) {
    const char* piggy = iovec->piggy_back.address;
    CHECK(is_all(piggy + t->piggy_length, (size_t)LCI_MEDIUM_SIZE + GUARD - t->piggy_length, UNTOUCHED));
  }
}

/* --- the calls --- */

static LCI_error_t overwrite_piggy(struct transfer* t, LCI_error_t code) {
  /* It can be reused immediately. */
  if (code == LCI_OK) memset(t->source.piggy_back.address, OVERWRITTEN, t->piggy_length);
  return code;
}
static LCI_error_t post_sendv(struct transfer* t) {
  return LCI_sendv(t->endpoint, t->source, t->to, t->tag, t->comp, t);
}
static LCI_error_t post_putv(struct transfer* t) {
  return overwrite_piggy(t, LCI_putv(t->endpoint, t->source, t->comp, t->to, t->tag, t->far, t->remote_comp, t));
}
static LCI_error_t post_putvs(struct transfer* t) {
  return overwrite_piggy(t, LCI_putvs(t->endpoint, t->source, t->to, t->tag, t->far, t->remote_comp, t));
}
static LCI_error_t post_putva(struct transfer* t) {
  return LCI_putva(t->endpoint, t->source, t->comp, t->to, t->tag, t->remote_comp, t);
}
static LCI_error_t post_getv(struct transfer* t) {
  return LCI_getv(t->endpoint, t->sink, t->comp, t->to, t->tag, t->far, t->remote_comp, t);
}
static LCI_error_t post_recvv(struct transfer* t) {
  return LCI_recvv(t->endpoint, t->sink, t->from, t->tag, t->receive_comp, t->w);
}
static LCI_error_t post_recvv_null(struct transfer* t) {
  LCI_iovec_t none;
  memset(&none, 0, sizeof none);
  return LCI_recvv(t->endpoint, none, t->from, t->tag, t->receive_comp, t->w);
}

enum { INTO_SINK, INTO_NEW, INTO_AREA, BY_GET };
static const struct call {
  const char* name;
  LCI_error_t (*post)(struct transfer*);
  LCI_error_t (*post_receive)(struct transfer*);
  int signals; /* has a local completion */
  int into;    /* where the data arrives */
} calls[] = {
    {"sendv to recvv", post_sendv, post_recvv, 1, INTO_SINK},
    {"sendv to recvv of NULL", post_sendv, post_recvv_null, 1, INTO_NEW},
    {"putv", post_putv, NULL, 1, INTO_AREA},
    {"putvs", post_putvs, NULL, 0, INTO_AREA},
    {"putva", post_putva, NULL, 1, INTO_NEW},
    {"getv", post_getv, NULL, 1, BY_GET},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* --- a case --- */

static int makes_sense(const struct call* call, const int* v) {
  if (v[LOCAL] == BY_NOTHING ? 0 : !call->signals) return 0;
  if (call->post_receive) {
    if (v[REMOTE] >= EXPLICIT_REMOTE) return 0; /* is a dimension of puts and gets */
    if (v[REMOTE] == NO_REMOTE && (call->into == INTO_NEW || worker_count > 1)) return 0;
  } else if (v[REMOTE] == NO_REMOTE && (call->into == INTO_NEW || (call->into == INTO_AREA && worker_count > 1))) {
    return 0;
  }
  return !(count_of(v[COUNT]) > 16 && v[LENGTHS]);
}

static void check_buffers(const struct transfer* t, const int* v, const struct call* call, const LCI_iovec_t* iovec) {
  int i;
  for (i = 0; i < t->count; ++i) {
    CHECK_EQ(iovec->lbuffers[i].length, length_of(v[LENGTHS], t->count, i));
    if (call->into != INTO_NEW) CHECK(iovec->lbuffers[i].address == t->sink.lbuffers[i].address);
  }
}

static void check_arrived(struct transfer* t, const int* v, const struct call* call, const LCI_request_t* request) {
  const LCI_iovec_t* iovec = &request->data.iovec;
  const LCI_iovec_t* mine = call->into == INTO_SINK ? &t->sink : &t->target;
  int i;
  check_request(request, t->from, t->tag, call->post_receive ? t->w : NULL);
  CHECK_EQ(request->type, LCI_IOVEC);
  CHECK_EQ(iovec->count, t->count);
  CHECK_EQ(iovec->piggy_back.length, t->piggy_length);
  if (!call->post_receive && call->into != INTO_NEW) {
    CHECK(iovec->lbuffers ==
          NULL); /* docs/guide/lci-v1.md: the peer has named the buffers, and nothing is to be freed */
  } else {
    CHECK(iovec->lbuffers != NULL || t->count == 0);
    if (iovec->count != t->count || (!iovec->lbuffers && t->count > 0)) return;
    check_buffers(t, v, call, iovec);
  }
  if (call->into == INTO_NEW) {
    check_content(t, v, iovec, t->from, 0);
    for (i = 0; i < t->count; ++i) CHECK_OK(LCI_lbuffer_free(iovec->lbuffers[i]));
    free(iovec->lbuffers);
    free(iovec->piggy_back.address);
  } else {
    CHECK(t->piggy_length == 0 || iovec->piggy_back.address == mine->piggy_back.address);
    if (call->into == BY_GET)
      make(t, v, &t->target, OVERWRITTEN); /* the area was read and can be reused */
    else
      check_content(t, v, mine, t->from, 1);
  }
}

static void run_case(struct worker* w, const int* v) {
  const struct call* call = &calls[v[CALL]];
  const int remote_kind = kind_of_remote(v[REMOTE]); /* of a send: of the completion of the receive */
  struct transfer t;
  LCI_request_t request;
  if (!makes_sense(call, v)) return;
  memset(&t, 0, sizeof t);
  t.w = w;
  t.tag = start_case(w, v[SHIFT], &t.to, &t.from);
  t.endpoint = w->endpoints[0][v[LOCAL] == BY_NOTHING ? BY_QUEUE : v[LOCAL]][remote_kind % KINDS];
  t.count = count_of(v[COUNT]);
  t.piggy_length = piggy_length_of(v[PIGGY], t.count);
  t.comp = v[LOCAL] == BY_NOTHING ? NULL : w->local[v[LOCAL]].comp;
  t.receive_comp = v[REMOTE] == NO_REMOTE ? NULL : w->receive[remote_kind].comp;
  t.remote_comp = comp_of_remote(w, t.to, v[REMOTE]);
  case_is("%s, completed by %s here and %s%s there, %d buffers and %zu bytes, lengths %d, %s, %s, rank + %d, thread %d",
          call->name, kind_names[v[LOCAL]], call->post_receive ? "" : name_of_remote(v[REMOTE]),
          kind_names[remote_kind], t.count, t.piggy_length, v[LENGTHS], v[ASLEEP] ? "asleep" : "polling",
          v[SEGMENT] ? "registered" : "any", v[SHIFT], w->thread);
  t.source = lay_out(&t, v, v[SEGMENT] ? w->source_segment : LCI_SEGMENT_ALL, w->source, w->piggy_source, 0);
  t.sink = lay_out(&t, v, v[SEGMENT] ? w->sink_segment : LCI_SEGMENT_ALL, w->sink, w->piggy_sink,
                   call->into == INTO_SINK ? v[ASLEEP] : 0); /* also longer than what is sent */
  t.target = lay_out(&t, v, w->area_segment, w->area, w->piggy_area, 0);
  t.far = lay_out(&t, v, w->far_segments[t.to], (char*)(uintptr_t)w->cards[t.to].area,
                  (char*)(uintptr_t)w->cards[t.to].piggy_back, 0);
  make(&t, v, &t.source, UNTOUCHED);
  make(&t, v, &t.sink, UNTOUCHED);
  make(&t, v, &t.target, UNTOUCHED);
  fill(&t, v, call->into == BY_GET ? &t.target : &t.source);
  if (call->post_receive && t.count != 1) AGAIN(call->post_receive(&t));
  swap_tokens(w, t.from, t.to);
  AGAIN(call->post(&t));
  if (call->post_receive && t.count == 1) AGAIN(call->post_receive(&t)); /* perhaps after the message */

  if (t.comp) {
    box_wait(&w->local[v[LOCAL]], LCI_UR_DEVICE, &request, v[ASLEEP]);
    check_request(&request, t.to, t.tag, &t);
    CHECK_EQ(request.type, LCI_IOVEC);
    CHECK_EQ(request.data.iovec.count, t.count);
    CHECK(request.data.iovec.lbuffers == (call->into == BY_GET ? t.sink : t.source).lbuffers);
  } else {
    CHECK_OK(LCI_fence_wait(t.endpoint));
  }
  if (call->into == BY_GET)
    check_content(&t, v, &t.sink, t.to, 1);
  else
    make(&t, v, &t.source, OVERWRITTEN);

  if (v[REMOTE] != NO_REMOTE) {
    box_wait(call->post_receive ? &w->receive[remote_kind] : box_of_remote(w, v[REMOTE]), LCI_UR_DEVICE, &request,
             v[ASLEEP]);
    check_arrived(&t, v, call, &request);
  } else if (call->into == BY_GET) {
    swap_tokens(w, t.to, t.from);
  } else {
    CHECK_OK(LCI_gfence_wait(t.endpoint));
    check_content(&t, v, call->into == INTO_SINK ? &t.sink : &t.target, t.from, 1);
  }
  free(t.source.lbuffers);
  free(t.sink.lbuffers);
  free(t.target.lbuffers);
  free(t.far.lbuffers);
}

static void run_calls(struct worker* w) {
  const struct axis axes[AXES] = {{"call", CALLS},
                                  {"local completion", KINDS + 1},
                                  {"remote completion", REMOTES},
                                  {"count", COUNTS},
                                  {"piggy-back", PIGGIES},
                                  {"lengths", LENGTH_PATTERNS},
                                  {"asleep", 2},
                                  {"registered", 2},
                                  {"shift", LCI_NUM_PROCESSES}};
  each_case(axes, AXES, 2000, w, run_case);
}

static void piggy_back_sizes(void) {
  int count;
  case_is("sizes of the piggy-back buffer");
  CHECK(LCI_IOVEC_SIZE >= 8);
  CHECK(LCI_get_iovec_piggy_back_size(0) <= (size_t)LCI_MEDIUM_SIZE);
  CHECK(LCI_get_iovec_piggy_back_size(1) >= 4000);
  CHECK(LCI_get_iovec_piggy_back_size(LCI_IOVEC_SIZE) > 0);
  for (count = 1; count <= LCI_IOVEC_SIZE; ++count)
    CHECK(LCI_get_iovec_piggy_back_size(count) <= LCI_get_iovec_piggy_back_size(count - 1));
}

void iovecs(void) {
  piggy_back_sizes();
  on_workers(run_calls);
}
