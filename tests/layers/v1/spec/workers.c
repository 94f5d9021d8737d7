/* Threads with completion objects, endpoints and memory of their own. */
#include "tests/layers/v1/spec/spec.h"

enum { SMALL_AREA = 1 << 20, LARGE_BUT_NOT_GIANT = 100003, MAX_RANKS = 16 };

PER_RANK int worker_count = 0, whole = 0;
PER_RANK struct worker workers[MAX_THREADS];

static char* memory_of(size_t size, LCI_segment_t* segment) {
  char* memory = malloc(size + GUARD);
  if (!memory) give_up("memory");
  memset(memory, UNTOUCHED, size + GUARD);
  if (segment) CHECK_OK(LCI_memory_register(LCI_UR_DEVICE, memory, size + GUARD, segment));
  return memory;
}

static void open_worker(struct worker* w, int thread, struct card* card) {
  int kind, match, command;
  memset(w, 0, sizeof *w);
  w->thread = thread;
  /* One thread of a rank sends the largest messages. */
  w->size = thread == 0 ? largest_message() : SMALL_AREA;
  w->source = memory_of(w->size, &w->source_segment);
  w->area = memory_of(w->size, &w->area_segment);
  w->sink = memory_of(w->size, &w->sink_segment);
  w->piggy_source = memory_of((size_t)LCI_MEDIUM_SIZE, NULL);
  w->piggy_area = memory_of((size_t)LCI_MEDIUM_SIZE, NULL);
  w->piggy_sink = memory_of((size_t)LCI_MEDIUM_SIZE, NULL);
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &w->token));
  memset(card, 0, sizeof *card);
  for (kind = 0; kind < KINDS; ++kind) {
    box_open(&w->local[kind], LCI_UR_DEVICE, kind);
    box_open(&w->receive[kind], LCI_UR_DEVICE, kind);
    box_open(&w->explicit_remote[kind], LCI_UR_DEVICE, kind);
    box_open(&w->default_remote[kind], LCI_UR_DEVICE, kind);
    card->comps[kind] = (uintptr_t)w->explicit_remote[kind].comp;
    for (match = 0; match < 2; ++match)
      for (command = 0; command < KINDS; ++command)
        w->endpoints[match][command][kind] =
            endpoint_with(LCI_UR_DEVICE, match ? LCI_MATCH_TAG : LCI_MATCH_RANKTAG, comp_type_of(command),
                          comp_type_of(kind), w->default_remote[kind].comp);
  }
  card->area = (uintptr_t)w->area;
  card->piggy_back = (uintptr_t)w->piggy_area;
  CHECK_OK(LCI_segment_serialize(w->area_segment, card->segment));
  CHECK(memchr(card->segment, 0, sizeof card->segment) != NULL);
}

void open_workers(int threads) {
  struct card mine[MAX_THREADS];
  struct card* all;
  int t, r;
  case_is("what the workers need");
  if (LCI_NUM_PROCESSES > MAX_RANKS) give_up("less ranks");
  all = malloc(sizeof mine * (size_t)LCI_NUM_PROCESSES);
  if (!all) give_up("memory");
  memset(mine, 0, sizeof mine);
  worker_count = threads;
  for (t = 0; t < threads; ++t) open_worker(&workers[t], t, &mine[t]);
  exchange(mine, all, sizeof mine);
  for (t = 0; t < threads; ++t) {
    workers[t].cards = malloc(sizeof(struct card) * (size_t)LCI_NUM_PROCESSES);
    workers[t].far_segments = malloc(sizeof(LCI_segment_t) * (size_t)LCI_NUM_PROCESSES);
    if (!workers[t].cards || !workers[t].far_segments) give_up("memory");
    for (r = 0; r < LCI_NUM_PROCESSES; ++r) {
      workers[t].cards[r] = all[r * MAX_THREADS + t];
      CHECK_OK(LCI_segment_deserialize(workers[t].cards[r].segment, &workers[t].far_segments[r]));
      CHECK(workers[t].far_segments[r] != NULL);
    }
  }
  free(all);
}

static void close_worker(struct worker* w) {
  LCI_segment_t* segments[3];
  int kind, match, command, r;
  segments[0] = &w->source_segment;
  segments[1] = &w->area_segment;
  segments[2] = &w->sink_segment;
  for (kind = 0; kind < KINDS; ++kind) {
    for (match = 0; match < 2; ++match)
      for (command = 0; command < KINDS; ++command) {
        CHECK_OK(LCI_endpoint_free(&w->endpoints[match][command][kind]));
        CHECK(w->endpoints[match][command][kind] == NULL);
      }
    box_close(&w->local[kind]);
    box_close(&w->receive[kind]);
    box_close(&w->explicit_remote[kind]);
    box_close(&w->default_remote[kind]);
  }
  CHECK_OK(LCI_sync_free(&w->token));
  for (r = 0; r < LCI_NUM_PROCESSES; ++r) CHECK_OK(LCI_memory_deregister(&w->far_segments[r]));
  for (r = 0; r < 3; ++r) {
    CHECK_OK(LCI_memory_deregister(segments[r]));
    CHECK(*segments[r] == NULL);
  }
  free(w->source);
  free(w->area);
  free(w->sink);
  free(w->piggy_source);
  free(w->piggy_area);
  free(w->piggy_sink);
  free(w->cards);
  free(w->far_segments);
}

void close_workers(void) {
  int t;
  case_is("the end of the workers");
  CHECK_OK(LCI_barrier());
  for (t = 0; t < worker_count; ++t) close_worker(&workers[t]);
  worker_count = 0;
}

struct job {
  struct worker* worker;
  void (*body)(struct worker*);
};

static void* run_job(void* argument) {
  struct job* job = argument;
  job->body(job->worker);
  return NULL;
}

static void nothing_is_left(struct worker* w) {
  LCI_request_t request;
  int kind;
  for (kind = 0; kind < KINDS; ++kind) {
    CHECK(!box_take(&w->local[kind], &request));
    CHECK(!box_take(&w->receive[kind], &request));
    CHECK(!box_take(&w->explicit_remote[kind], &request));
    CHECK(!box_take(&w->default_remote[kind], &request));
  }
}

void on_workers(void (*body)(struct worker*)) {
  pthread_t threads[MAX_THREADS];
  struct job jobs[MAX_THREADS];
  int t;
  for (t = 0; t < worker_count; ++t) {
    jobs[t].worker = &workers[t];
    jobs[t].body = body;
  }
  if (worker_count == 1) {
    run_job(&jobs[0]);
  } else {
    for (t = 0; t < worker_count; ++t)
      if (pthread_create(&threads[t], NULL, run_job, &jobs[t]) != 0) give_up("a thread");
    for (t = 0; t < worker_count; ++t) pthread_join(threads[t], NULL);
  }
  case_is("after all cases");
  CHECK_OK(LCI_barrier());
  settle(LCI_UR_DEVICE);
  for (t = 0; t < worker_count; ++t) nothing_is_left(&workers[t]);
  CHECK_OK(LCI_barrier()); /* before others go on */
}

LCI_tag_t start_case(struct worker* w, int shift, int* to, int* from) {
  *to = rank_at(shift);
  *from = rank_at(-shift);
  return (LCI_tag_t)w->thread * 0x4000u + ++w->number * 5u % 0x4000u;
}

int kind_of_remote(int remote) { return remote == NO_REMOTE ? BY_NOTHING : (remote - DEFAULT_REMOTE) % KINDS; }

uintptr_t comp_of_remote(const struct worker* w, int to, int remote) {
  if (remote == NO_REMOTE) return LCI_NO_COMP_REMOTE;
  if (remote < EXPLICIT_REMOTE) return LCI_DEFAULT_COMP_REMOTE;
  return (uintptr_t)w->cards[to].comps[kind_of_remote(remote)];
}

struct box* box_of_remote(struct worker* w, int remote) {
  if (remote == NO_REMOTE) return NULL;
  return remote < EXPLICIT_REMOTE ? &w->default_remote[kind_of_remote(remote)]
                                  : &w->explicit_remote[kind_of_remote(remote)];
}

const char* name_of_remote(int remote) {
  return remote == NO_REMOTE ? "" : remote < EXPLICIT_REMOTE ? "default " : "explicit ";
}

size_t size_of(const struct worker* w, int value) {
  const size_t medium = (size_t)LCI_MEDIUM_SIZE;
  const size_t sizes[SIZES] = {0, 1, LCI_SHORT_SIZE, medium - 1, medium, medium + 1, LARGE_BUT_NOT_GIANT, 0};
  /* The largest messages take most of the time, so that not all cases have them. */
  const unsigned giants = whole ? 16 : 4;
  if (value < SIZES - 1) return sizes[value];
  return w->thread == 0 && w->number % giants == 0 ? largest_message() : LARGE_BUT_NOT_GIANT;
}
