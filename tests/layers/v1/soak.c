/* Random sends and puts of all kinds between all ranks: soak [SEED [CALLS]]. Checks that each message arrives once,
 * unchanged: for each pair of ranks and each kind, the number of messages and the sum of their hashes (of contents, tag
 * and size) must be the same at the sender and at the receiver. */
#include "tests/layers/v1/check.h"

enum { SHORTS, MEDIUMS, LONGS, VECTORS, KINDS };
enum { most_ranks = 16, receives = 4, endpoints = 3 };

static PER_RANK uint64_t state;
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

struct tally {
  uint64_t n, sum;
};
/* By target and by source. */
static PER_RANK struct tally sent[most_ranks][KINDS], arrived[most_ranks][KINDS];

static uint64_t mix(uint64_t h, const void* bytes, size_t n) {
  const unsigned char* b = bytes;
  size_t i;
  for (i = 0; i < n; ++i) h = (h ^ b[i]) * 1099511628211u;
  return h;
}
static void count(struct tally* t, uint64_t h) {
  ++t->n;
  t->sum += h;
}
static uint64_t seed_of(LCI_tag_t tag, size_t size) { return 14695981039346656037u + tag * 977u + size; }

static uint64_t hash_of_iovec(const LCI_iovec_t* v, LCI_tag_t tag) {
  uint64_t h = mix(seed_of(tag, (size_t)v->count), v->piggy_back.address, v->piggy_back.length);
  int i;
  for (i = 0; i < v->count; ++i) h = mix(h, v->lbuffers[i].address, v->lbuffers[i].length);
  return h;
}

static PER_RANK LCI_endpoint_t eps[endpoints];
/* Queues of what puts deliver, of completed receives, and of completed sends and puts. */
static PER_RANK LCI_comp_t arrivals, received, ended;
static PER_RANK size_t n_ended, n_issued, n_pending[4]; /* receives posted, by kind */

static void must(LCI_error_t code) { CHECK(code == LCI_OK); }

/* Counts a message that has arrived by a put or a receive, and frees its buffers. */
static void count_arrival(LCI_request_t* r) {
  struct tally* from = arrived[r->rank];
  int i;
  CHECK(r->flag == LCI_OK);
  switch (r->type) {
    case LCI_IMMEDIATE:
      count(&from[SHORTS], mix(seed_of(r->tag, 0), &r->data.immediate, sizeof r->data.immediate));
      break;
    case LCI_MEDIUM:
      count(&from[MEDIUMS],
            mix(seed_of(r->tag, r->data.mbuffer.length), r->data.mbuffer.address, r->data.mbuffer.length));
      must(LCI_mbuffer_free(r->data.mbuffer));
      break;
    case LCI_LONG:
      count(&from[LONGS],
            mix(seed_of(r->tag, r->data.lbuffer.length), r->data.lbuffer.address, r->data.lbuffer.length));
      must(LCI_lbuffer_free(r->data.lbuffer));
      break;
    case LCI_IOVEC:
      count(&from[VECTORS], hash_of_iovec(&r->data.iovec, r->tag));
      for (i = 0; i < r->data.iovec.count; ++i) must(LCI_lbuffer_free(r->data.iovec.lbuffers[i]));
      free(r->data.iovec.lbuffers);
      free(r->data.iovec.piggy_back.address);
      break;
  }
}

/* Frees the buffers of a completed send or put: user_context is the buffer, or the iovec. */
static void retire(LCI_request_t* r) {
  CHECK(r->flag == LCI_OK);
  if (r->type == LCI_IOVEC) {
    LCI_iovec_t* v = r->user_context;
    int i;
    for (i = 0; i < v->count; ++i) free(v->lbuffers[i].address);
    free(v->lbuffers);
    free(v->piggy_back.address);
    free(v);
  } else {
    free(r->user_context);
  }
  ++n_ended;
}

/* Posts receives for the sends of other ranks, until `receives` of each kind are outstanding. */
static void refill(void) {
  LCI_iovec_t none;
  LCI_lbuffer_t any;
  memset(&none, 0, sizeof none);
  memset(&any, 0, sizeof any);
  /* Endpoint 0 matches by tag only: the receives are for any rank, with tag 7. */
  while (n_pending[0] < receives && LCI_recvs(eps[0], LCI_RANK_ANY, 7, received, NULL) == LCI_OK) ++n_pending[0];
  while (n_pending[1] < receives && LCI_recvmn(eps[0], LCI_RANK_ANY, 7, received, NULL) == LCI_OK) ++n_pending[1];
  while (n_pending[2] < receives && LCI_recvl(eps[0], any, LCI_RANK_ANY, 7, received, NULL) == LCI_OK) ++n_pending[2];
  while (n_pending[3] < receives && LCI_recvv(eps[0], none, LCI_RANK_ANY, 7, received, NULL) == LCI_OK) ++n_pending[3];
}

/* Makes progress and handles all completions. */
static void serve(void) {
  LCI_request_t r;
  LCI_progress(LCI_UR_DEVICE);
  while (LCI_queue_pop(arrivals, &r) == LCI_OK) count_arrival(&r);
  while (LCI_queue_pop(received, &r) == LCI_OK) {
    --n_pending[r.type];
    count_arrival(&r);
  }
  while (LCI_queue_pop(ended, &r) == LCI_OK) retire(&r);
  refill();
}

#define INSIST(call)                                   \
  do {                                                 \
    LCI_error_t code_;                                 \
    while ((code_ = (call)) == LCI_ERR_RETRY) serve(); \
    CHECK(code_ == LCI_OK);                            \
  } while (0)

static void* random_bytes(size_t n) {
  unsigned char* b = malloc(n + 8);
  size_t i;
  for (i = 0; i < n; i += 8) {
    const uint64_t x = draw();
    memcpy(b + i, &x, 8);
  }
  return b;
}

static void random_call(void) {
  const int to = (int)(draw() % (uint64_t)LCI_NUM_PROCESSES), sends = draw() % 3 == 0;
  const LCI_endpoint_t ep = sends ? eps[0] : eps[1 + draw() % (endpoints - 1)];
  const LCI_tag_t tag = sends ? 7 : (LCI_tag_t)(draw() % 65536);
  const int kind = (int)(draw() % 8);
  if (kind < 3) {
    LCI_short_t s;
    s.words[0] = draw(), s.words[1] = draw(), s.words[2] = draw(), s.words[3] = draw();
    count(&sent[to][SHORTS], mix(seed_of(tag, 0), &s, sizeof s));
    if (sends)
      INSIST(LCI_sends(ep, s, to, tag));
    else
      INSIST(LCI_puts(ep, s, to, tag, LCI_DEFAULT_COMP_REMOTE));
  } else if (kind < 6) {
    LCI_mbuffer_t m;
    const int packet = draw() % 2 == 0;
    m.length = draw() % (draw() % 4 == 0 ? (uint64_t)LCI_MEDIUM_SIZE + 1 : 100);
    m.address = random_bytes(m.length);
    count(&sent[to][MEDIUMS], mix(seed_of(tag, m.length), m.address, m.length));
    if (packet) {
      LCI_mbuffer_t p;
      INSIST(LCI_mbuffer_alloc(LCI_UR_DEVICE, &p));
      memcpy(p.address, m.address, m.length);
      p.length = m.length;
      if (sends)
        INSIST(LCI_sendmn(ep, p, to, tag));
      else
        INSIST(LCI_putmna(ep, p, to, tag, LCI_DEFAULT_COMP_REMOTE));
    } else if (sends) {
      INSIST(LCI_sendm(ep, m, to, tag));
    } else {
      INSIST(LCI_putma(ep, m, to, tag, LCI_DEFAULT_COMP_REMOTE));
    }
    free(m.address);
  } else if (kind == 6) {
    LCI_lbuffer_t b;
    b.segment = LCI_SEGMENT_ALL;
    b.length = draw() % (draw() % 4 == 0 ? 300000 : 5000);
    b.address = random_bytes(b.length);
    count(&sent[to][LONGS], mix(seed_of(tag, b.length), b.address, b.length));
    ++n_issued;
    if (sends)
      INSIST(LCI_sendl(ep, b, to, tag, ended, b.address));
    else
      INSIST(LCI_putla(ep, b, ended, to, tag, LCI_DEFAULT_COMP_REMOTE, b.address));
  } else {
    LCI_iovec_t* v = malloc(sizeof *v);
    int i;
    v->count = (int)(draw() % 6);
    v->lbuffers = malloc((size_t)(v->count + 1) * sizeof *v->lbuffers);
    for (i = 0; i < v->count; ++i) {
      v->lbuffers[i].segment = LCI_SEGMENT_ALL;
      v->lbuffers[i].length = draw() % 20000 * (draw() % 3 != 0);
      v->lbuffers[i].address = random_bytes(v->lbuffers[i].length);
    }
    v->piggy_back.length = draw() % 500;
    v->piggy_back.address = random_bytes(v->piggy_back.length);
    count(&sent[to][VECTORS], hash_of_iovec(v, tag));
    ++n_issued;
    if (sends)
      INSIST(LCI_sendv(ep, *v, to, tag, ended, v));
    else
      INSIST(LCI_putva(ep, *v, ended, to, tag, LCI_DEFAULT_COMP_REMOTE, v));
  }
  if (draw() % 8 == 0) serve();
}

/* Gets from each rank the counts of what it has sent to this rank, waits until that has arrived, and compares. */
static void compare(void) {
  struct tally expected[most_ranks][KINDS];
  LCI_comp_t sync;
  LCI_mbuffer_t m;
  int rank, kind;
  size_t n = 0;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, LCI_NUM_PROCESSES, &sync) == LCI_OK);
  for (rank = 0; rank < LCI_NUM_PROCESSES; ++rank) {
    m.address = expected[rank];
    m.length = sizeof expected[rank];
    INSIST(LCI_recvm(LCI_UR_ENDPOINT, m, rank, 1, sync, NULL));
  }
  for (rank = 0; rank < LCI_NUM_PROCESSES; ++rank) {
    m.address = sent[rank];
    m.length = sizeof sent[rank];
    INSIST(LCI_sendm(LCI_UR_ENDPOINT, m, rank, 1));
  }
  while (LCI_sync_test(sync, NULL) == LCI_ERR_RETRY) serve();
  for (n = 0; n == 0 || n_ended < n_issued;) {
    n = 1;
    for (rank = 0; rank < LCI_NUM_PROCESSES; ++rank)
      for (kind = 0; kind < KINDS; ++kind) n &= arrived[rank][kind].n >= expected[rank][kind].n;
    serve();
  }
  CHECK(LCI_barrier() == LCI_OK);
  serve();
  for (rank = 0; rank < LCI_NUM_PROCESSES; ++rank)
    for (kind = 0; kind < KINDS; ++kind) {
      CHECK(arrived[rank][kind].n == expected[rank][kind].n);
      CHECK(arrived[rank][kind].sum == expected[rank][kind].sum);
    }
  CHECK(n_ended == n_issued);
  CHECK(LCI_sync_free(&sync) == LCI_OK);
}

int main(int argc, char** argv) {
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  size_t calls = argc > 2 ? strtoul(argv[2], NULL, 0) : 20000;
  LCI_plist_t plist;
  int i;
  if (LCI_initialize() != LCI_OK) return 1;
  if (LCI_NUM_PROCESSES > most_ranks) return 2;
  if (LCI_RANK == 0) printf("soak: seed %llu\n", (unsigned long long)seed);
  state = (seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)LCI_RANK * 0xbf58476d1ce4e5b9u;
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &arrivals) == LCI_OK);
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &received) == LCI_OK);
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &ended) == LCI_OK);
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  CHECK(LCI_plist_set_default_comp(plist, arrivals) == LCI_OK);
  CHECK(LCI_plist_set_match_type(plist, LCI_MATCH_TAG) == LCI_OK);
  for (i = 0; i < endpoints; ++i) CHECK(LCI_endpoint_init(&eps[i], LCI_UR_DEVICE, plist) == LCI_OK);
  CHECK(LCI_plist_free(&plist) == LCI_OK);
  refill();
  while (calls-- > 0) random_call();
  compare();
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("soak");
}
