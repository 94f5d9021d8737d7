/* Shared by tests of all combinations of functions and completion objects. Starts threads, each with its own objects
 * and endpoints, and parses the arguments [THREADS [long]]. With more than one thread, the first one makes progress. */
#ifndef TESTS_LAYERS_V1_OBJECTS_H
#define TESTS_LAYERS_V1_OBJECTS_H

#include <pthread.h>
#include <sched.h>

#include "tests/layers/v1/check.h"

enum { QUEUE, SYNC, HANDLER, KINDS };
enum { most_threads = 8 };
static PER_RANK int threads = 1, next, before, running, very_long;

static void relax(void) {
  if (threads == 1)
    LCI_progress(LCI_UR_DEVICE);
  else
    sched_yield();
}
#define INSIST(call)                                     \
  do {                                                   \
    LCI_error_t code_;                                   \
    while ((code_ = (call)) == LCI_ERR_RETRY) relax();   \
    if (code_ != LCI_OK) fail_check(__LINE__, #call, t); \
  } while (0)
#define EXPECT(condition)                                  \
  do {                                                     \
    if (!(condition)) fail_check(__LINE__, #condition, t); \
    __sync_fetch_and_add(&done_checks, 1);                 \
  } while (0)
static void fail_check(int line, const char* text, int thread) {
  fprintf(stderr, "line %d: rank %d thread %d: %s is false\n", line, LCI_RANK, thread, text);
  __sync_fetch_and_add(&failed_checks, 1);
}

/* Handlers store requests in the mailbox of their tag, from which one thread takes them: no two threads use the same
 * tags. A mailbox has room for several requests, since the previous rank may be a few messages ahead. */
enum { room = 16 };
struct mailbox {
  unsigned claimed, taken;
  int full[room];
  LCI_request_t requests[room];
};
static PER_RANK struct mailbox mailboxes[65536];
static void leave(struct mailbox* m, LCI_request_t r) {
  const unsigned at = __sync_fetch_and_add(&m->claimed, 1) % room;
  if (__sync_fetch_and_add(&m->full[at], 0)) abort();
  m->requests[at] = r;
  __sync_fetch_and_add(&m->full[at], 1);
}
/* Messages may arrive before a local completion with the same tag, so they have separate mailboxes. */
enum { of_arrivals = 32768 };
static void handle(LCI_request_t r) { leave(&mailboxes[r.tag], r); }
static void handle_arrival(LCI_request_t r) { leave(&mailboxes[r.tag + of_arrivals], r); }

/* The objects of one thread, separate for local completions and arriving messages. */
struct objects {
  LCI_comp_t local[KINDS], arrivals[KINDS];
  LCI_endpoint_t endpoints[KINDS];
  uintptr_t theirs[KINDS]; /* the next rank's `arrivals` */
};
static PER_RANK struct objects of_thread[most_threads];

static void take(int kind, LCI_comp_t object, LCI_tag_t tag, LCI_request_t* r, int t) {
  if (kind == QUEUE) {
    EXPECT(LCI_queue_wait(object, r) == LCI_OK);
  } else if (kind == SYNC) {
    EXPECT(LCI_sync_wait(object, r) == LCI_OK);
  } else {
    struct mailbox* m = &mailboxes[tag + (object == of_thread[t].arrivals[HANDLER] ? of_arrivals : 0)];
    const unsigned at = m->taken++ % room;
    while (__sync_fetch_and_add(&m->full[at], 0) == 0) relax();
    *r = m->requests[at];
    __sync_fetch_and_sub(&m->full[at], 1);
  }
}

static void make_objects(int t) {
  static const LCI_comp_type_t types[KINDS] = {LCI_COMPLETION_QUEUE, LCI_COMPLETION_SYNC, LCI_COMPLETION_HANDLER};
  struct objects* o = &of_thread[t];
  LCI_mbuffer_t out, in;
  LCI_plist_t plist;
  int kind, arrivals;
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  for (arrivals = 0; arrivals < 2; ++arrivals) {
    LCI_comp_t* to = arrivals ? o->arrivals : o->local;
    CHECK(LCI_queue_create(LCI_UR_DEVICE, &to[QUEUE]) == LCI_OK);
    CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &to[SYNC]) == LCI_OK);
    CHECK(LCI_handler_create(LCI_UR_DEVICE, arrivals ? handle_arrival : handle, &to[HANDLER]) == LCI_OK);
  }
  for (kind = 0; kind < KINDS; ++kind) {
    CHECK(LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, types[kind]) == LCI_OK);
    CHECK(LCI_plist_set_comp_type(plist, LCI_PORT_COMMAND, types[(kind + 1) % KINDS]) == LCI_OK);
    CHECK(LCI_plist_set_default_comp(plist, o->arrivals[kind]) == LCI_OK);
    CHECK(LCI_endpoint_init(&o->endpoints[kind], LCI_UR_DEVICE, plist) == LCI_OK);
  }
  CHECK(LCI_plist_free(&plist) == LCI_OK);
  out.address = o->arrivals;
  in.address = o->theirs;
  out.length = in.length = sizeof o->arrivals;
  AGAIN(LCI_recvm(LCI_UR_ENDPOINT, in, next, (LCI_tag_t)t, o->local[SYNC], NULL));
  AGAIN(LCI_sendm(LCI_UR_ENDPOINT, out, before, (LCI_tag_t)t));
  CHECK(LCI_sync_wait(o->local[SYNC], NULL) == LCI_OK);
}

/* Called in each thread; `t` is the index of its objects. */
static void work(int t);
static void* work_of_thread(void* number) {
  work((int)(size_t)number);
  __sync_fetch_and_sub(&running, 1);
  return NULL;
}

static int run(const char* program, int argc, char** argv) {
  pthread_t ids[most_threads];
  int t, kind;
  if (argc > 1) threads = atoi(argv[1]);
  very_long = argc > 2;
  if (threads < 1 || threads > most_threads) return 2;
  if (LCI_initialize() != LCI_OK) return 1;
  next = (LCI_RANK + 1) % LCI_NUM_PROCESSES;
  before = (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES;
  for (t = 0; t < threads; ++t) make_objects(t);
  running = threads;
  if (threads == 1) {
    work_of_thread(NULL);
  } else {
    for (t = 0; t < threads; ++t)
      if (pthread_create(&ids[t], NULL, work_of_thread, (void*)(size_t)t) != 0) return 3;
    while (__sync_fetch_and_add(&running, 0) > 0) LCI_progress(LCI_UR_DEVICE);
    for (t = 0; t < threads; ++t) CHECK(pthread_join(ids[t], NULL) == 0);
  }
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  CHECK(LCI_barrier() == LCI_OK);
  for (t = 0; t < threads; ++t)
    for (kind = 0; kind < KINDS; ++kind) {
      CHECK(LCI_gfence_wait(of_thread[t].endpoints[kind]) == LCI_OK);
      CHECK(LCI_endpoint_free(&of_thread[t].endpoints[kind]) == LCI_OK);
    }
  CHECK(LCI_finalize() == LCI_OK);
  return conclude(program);
}

#endif
