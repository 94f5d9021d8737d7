/* What the tests of the LCI v1.7 specification share. They are written from its text and from lci.h alone: a file for
 * each chapter, whose cases are products of axes (`struct axis`). Some run on several threads of each rank. */
#ifndef TESTS_LAYERS_V1_SPEC_SPEC_H
#define TESTS_LAYERS_V1_SPEC_SPEC_H

#include <lci.h>
#include <pthread.h>
#include <string.h>

/* Before variables of a rank: in a build whose ranks are threads, each has its own. Such ranks start no threads. */
#ifdef PER_RANK
#define RANKS_ARE_THREADS 1
#else
#define RANKS_ARE_THREADS 0
#define PER_RANK
#endif

/* --- checks --- */

/* What failed checks print beside their place: the case of this thread. */
void case_is(const char* format, ...) __attribute__((format(printf, 1, 2)));
void check_at(int holds, const char* condition, const char* file, int line);
void check_equal_at(long long actual, long long expected, const char* text, const char* file, int line);
extern PER_RANK int checks_done, checks_failed;
/* Ends the program: without this event nothing can go on. */
void give_up(const char* missing);
#define CHECK(condition) check_at((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_EQ(actual, expected) \
  check_equal_at((long long)(actual), (long long)(expected), #actual " == " #expected, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_EQ(call, LCI_OK)

/* --- progress and waiting --- */

/* LCI_progress() if no other thread is in it. */
LCI_error_t progress_on(LCI_device_t device);
/* How often LCI_progress() may fail, and how often it did. */
extern PER_RANK int failures_allowed, failures_seen;
enum { SECONDS_OF_PATIENCE = 90 };
/* A loop that waits for `what` calls step(). It gives up after SECONDS_OF_PATIENCE. */
struct patience {
  unsigned long turns;
  double end;
};
void step(struct patience* patience, LCI_device_t device, const char* what);
/* Calls until the result is not LCI_ERR_RETRY. */
#define AGAIN_ON(device, call)                                                                        \
  do {                                                                                                \
    struct patience patience_ = {0, 0};                                                               \
    LCI_error_t code_;                                                                                \
    while ((code_ = (call)) == LCI_ERR_RETRY) step(&patience_, device, "no LCI_ERR_RETRY of " #call); \
    CHECK_EQ(code_, LCI_OK);                                                                          \
  } while (0)
#define AGAIN(call) AGAIN_ON(LCI_UR_DEVICE, call)
/* Some rounds of progress, after which what must not happen would have happened. */
void settle(LCI_device_t device);
double seconds_now(void);
double cpu_seconds_of_thread(void);

/* --- completion objects --- */

enum { BY_QUEUE, BY_HANDLER, BY_SYNC, BY_NOTHING, KINDS = BY_NOTHING };
extern const char* const kind_names[]; /* also of BY_NOTHING */
LCI_comp_type_t comp_type_of(int kind);
/* A completion object of any kind, whose completions are taken one by one. */
struct box {
  int kind;
  int shelf; /* of a handler */
  LCI_comp_t comp;
};
void box_open(struct box* box, LCI_device_t device, int kind);
/* Checks that nothing is left in it. */
void box_close(struct box* box);
int box_take(struct box* box, LCI_request_t* request);
/* Asleep in LCI_queue_wait() and LCI_sync_wait() if `asleep`, else with steps. */
void box_wait(struct box* box, LCI_device_t device, LCI_request_t* request, int asleep);
/* The fields that each completion has. */
void check_request(const LCI_request_t* request, int rank, LCI_tag_t tag, const void* user_context);

/* --- payload, ranks --- */

/* The rank `distance` after this one, or before it if negative, where rank 0 comes after the last. */
int rank_at(int distance);
/* Bytes of a message that `rank` sends with `tag`, at least largest_message() of them. */
const char* payload(int rank, LCI_tag_t tag);
/* More than LCI_MEDIUM_SIZE * 1000. */
size_t largest_message(void);
int has_payload(const void* at, size_t length, int rank, LCI_tag_t tag);
/* Whether all bytes are `byte`. */
int is_all(const void* at, size_t length, int byte);
/* Collective, one thread: the `size` bytes of each rank, in their order. At most LCI_MEDIUM_SIZE. */
void exchange(const void* mine, void* all, size_t size);
/* A short message with this number. */
LCI_short_t short_of(uint64_t number);
uint64_t number_in(const LCI_request_t* request);
LCI_mbuffer_t medium_of(const void* address, size_t length);
LCI_lbuffer_t long_of(LCI_segment_t segment, const void* address, size_t length);
/* A buffer of the library, allocated and filled if there is none yet, to be sent; LCI_ERR_RETRY if none is free. */
LCI_error_t fill_packet(LCI_mbuffer_t* packet, const void* source, size_t length);
/* What a send of the buffer has returned: accepted, it is the library's. */
LCI_error_t packet_sent(LCI_mbuffer_t* packet, LCI_error_t code, LCI_tag_t tag);
/* A short message to `to`, and one from `from`, on an endpoint of its own. One thread. */
void handshake(int to, int from);
/* An endpoint of `device`, with these properties; default_comp may be NULL. */
LCI_endpoint_t endpoint_with(LCI_device_t device, LCI_match_t match, LCI_comp_type_t command, LCI_comp_type_t message,
                             LCI_comp_t default_comp);

/* --- products of axes --- */

struct axis {
  const char* name;
  int values;
};
enum { MAX_AXES = 16 };
struct worker;
/* Runs the cases of the product: with `whole` all of them; else about `some`, in steps without a common divisor with
 * the product, so that each pair of values of neighbouring axes is met. `run` is called with a value for each axis. */
void each_case(const struct axis* axes, int n, unsigned long some, struct worker* worker,
               void (*run)(struct worker* worker, const int* values));

/* --- threads with what they need to communicate --- */

enum { MAX_THREADS = 4, GUARD = 64, UNTOUCHED = 0x5a, OVERWRITTEN = 0xee };
/* What other ranks know about a worker. */
struct card {
  uint64_t area, piggy_back;
  uint64_t comps[KINDS];
  char segment[LCI_SEGMENT_SERIALIZED_MAX];
};
struct worker {
  int thread;
  unsigned number; /* of the case; the same on all ranks */
  unsigned tokens;
  /* Completions of operations that this rank posts, of receives, of puts and gets of others. */
  struct box local[KINDS], receive[KINDS], explicit_remote[KINDS], default_remote[KINDS];
  LCI_endpoint_t endpoints[2][KINDS][KINDS]; /* by match, kind at command port, kind at message port */
  LCI_comp_t token;
  /* Registered: what is sent, what is written to or read by others, what is received. */
  char *source, *area, *sink;
  LCI_segment_t source_segment, area_segment, sink_segment;
  size_t size; /* bytes of each of these, without GUARD */
  char *piggy_source, *piggy_area, *piggy_sink;
  struct card* cards;          /* by rank */
  LCI_segment_t* far_segments; /* by rank */
};
extern PER_RANK int worker_count, whole;
extern PER_RANK struct worker workers[MAX_THREADS];
void open_workers(int threads);
void close_workers(void);
/* Runs `body` for each worker at once, in threads if there are several; then nothing must be left over. */
void on_workers(void (*body)(struct worker*));
/* Tells `tell` and waits until `hear` has told this worker. */
void swap_tokens(struct worker* worker, int tell, int hear);
/* Begins a case of the worker: returns its tag, and the ranks `shift` after and before this one. */
LCI_tag_t start_case(struct worker* worker, int shift, int* to, int* from);
/* Number of bytes of a message, by the value of the axis: up to LCI_MEDIUM_SIZE for the first MEDIUM_SIZES values. */
enum { SIZES = 8, MEDIUM_SIZES = 5 };
size_t size_of(const struct worker* worker, int value);
/* Remote completion, by the value of the axis: none, the endpoint's default object of each kind, another object of each
 * kind. The object at rank `to` as an operation names it, and this rank's box for operations of others. */
enum { NO_REMOTE, DEFAULT_REMOTE, EXPLICIT_REMOTE = DEFAULT_REMOTE + KINDS, REMOTES = EXPLICIT_REMOTE + KINDS };
int kind_of_remote(int remote);
uintptr_t comp_of_remote(const struct worker* worker, int to, int remote);
struct box* box_of_remote(struct worker* worker, int remote);
const char* name_of_remote(int remote);

/* --- chapters --- */

void environment_before(void), environment(void), environment_after(void);
void devices(void), endpoints(void), memory(void), queues(void), synchronizers(void), handlers(void);
void twosided(void), matching(void), onesided(void), iovecs(void), bursts(void), plists(void), progressing(void);
void fences(void), limits(void), extras(void), collectives(void), back_pressure(void);
/* The parameter types of the specification, compiled as C99 and as C11. */
void document_c99(void), document_c11(void);

#endif
