/* Device groups are separate worlds, endpoints of one device do not see each other's messages, property lists do what
 * they say, and an endpoint gets what was sent before it was created. */
#include "tests/layers/v1/check.h"

static PER_RANK int next, before;

static void put_number(LCI_endpoint_t ep, unsigned number, LCI_tag_t tag) {
  LCI_short_t s;
  LCI_error_t code;
  memset(&s, 0, sizeof s);
  memcpy(&s, &number, sizeof number);
  while ((code = LCI_puts(ep, s, next, tag, LCI_DEFAULT_COMP_REMOTE)) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  CHECK(code == LCI_OK);
}
static unsigned number_in(const LCI_request_t* r) {
  unsigned n;
  memcpy(&n, &r->data.immediate, sizeof n);
  return n;
}

/* Each endpoint has a queue of its own; the same tags are used everywhere, for puts and for sends. */
static void check_isolation(LCI_endpoint_t* eps, LCI_comp_t* queues, LCI_device_t* devices, int n) {
  LCI_comp_t sync;
  LCI_request_t r;
  LCI_short_t s;
  int i, space;
  for (i = n; i-- > 0;) put_number(eps[i], (unsigned)i, 1);
  for (i = 0; i < n; ++i) {
    CHECK(LCI_queue_wait(queues[i], &r) == LCI_OK);
    CHECK(r.rank == before && r.tag == 1 && number_in(&r) == (unsigned)i);
  }
  for (i = 0; i < n; ++i) CHECK(LCI_queue_pop(queues[i], &r) == LCI_ERR_RETRY);
  /* Receives of all endpoints are posted in one order, sends in the other. */
  CHECK(LCI_sync_create(NULL, 1, &sync) == LCI_OK);
  for (space = 0; space < 2; ++space) {
    unsigned out[16], in[16];
    for (i = 0; i < n; ++i) {
      LCI_mbuffer_t m = {&in[i], sizeof in[i]};
      in[i] = 0;
      if (space == 0)
        CHECK(LCI_recvm(eps[i], m, before, 2, queues[i], NULL) == LCI_OK);
      else
        CHECK(LCI_recvs(eps[i], before, 2, queues[i], NULL) == LCI_OK);
    }
    for (i = n; i-- > 0;) {
      LCI_mbuffer_t m = {&out[i], sizeof out[i]};
      LCI_error_t code;
      out[i] = 100u + (unsigned)i;
      memset(&s, 0, sizeof s);
      memcpy(&s, &out[i], sizeof out[i]);
      while ((code = space == 0 ? LCI_sendm(eps[i], m, next, 2) : LCI_sends(eps[i], s, next, 2)) == LCI_ERR_RETRY)
        LCI_progress(devices[i]);
      CHECK(code == LCI_OK);
    }
    for (i = 0; i < n; ++i) {
      CHECK(LCI_queue_wait(queues[i], &r) == LCI_OK);
      CHECK(r.flag == LCI_OK && r.rank == before);
      CHECK((space == 0 ? in[i] : number_in(&r)) == 100u + (unsigned)i);
    }
  }
  CHECK(LCI_sync_free(&sync) == LCI_OK);
}

static void devices_and_endpoints(void) {
  LCI_device_t devices[12];
  LCI_endpoint_t eps[12];
  LCI_comp_t queues[12];
  LCI_plist_t plist, copy;
  char text[160];
  int d, e, n = 0;
  CHECK(LCI_NUM_DEVICES == 1);
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  for (d = 0; d < 3; ++d) {
    LCI_device_t device = LCI_UR_DEVICE;
    if (d > 0) CHECK(LCI_device_init(&device) == LCI_OK);
    for (e = 0; e < 4; ++e, ++n) {
      devices[n] = device;
      CHECK(LCI_queue_create(device, &queues[n]) == LCI_OK);
      CHECK(LCI_plist_set_default_comp(plist, queues[n]) == LCI_OK);
      CHECK(LCI_endpoint_init(&eps[n], device, plist) == LCI_OK);
    }
  }
  CHECK(LCI_NUM_DEVICES == 3);
  CHECK(LCI_plist_get(eps[3], &copy) == LCI_OK);
  CHECK(LCI_plist_decode(copy, text) == LCI_OK);
  CHECK(strstr(text, "rank and tag") != NULL && strstr(text, "queue") != NULL);
  CHECK(LCI_plist_free(&copy) == LCI_OK && copy == NULL);
  CHECK(LCI_plist_free(&plist) == LCI_OK && plist == NULL);
  check_isolation(eps, queues, devices, n);
  for (n = 0; n < 12; ++n) {
    CHECK(LCI_gfence_wait(eps[n]) == LCI_OK);
    CHECK(LCI_endpoint_free(&eps[n]) == LCI_OK && eps[n] == NULL);
    CHECK(LCI_queue_free(&queues[n]) == LCI_OK && queues[n] == NULL);
  }
  for (d = 1; d < 3; ++d) {
    LCI_device_t device = devices[4 * d];
    CHECK(LCI_device_free(&device) == LCI_OK && device == NULL);
  }
  CHECK(LCI_NUM_DEVICES == 1);
}

/* A wildcard endpoint takes messages of any rank; the request names the real one. */
static void wildcards(void) {
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  LCI_comp_t queue;
  LCI_request_t r;
  LCI_short_t s;
  char* seen = calloc(1, (size_t)LCI_NUM_PROCESSES);
  int i, space, in[64];
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  CHECK(LCI_plist_set_match_type(plist, LCI_MATCH_TAG) == LCI_OK);
  CHECK(LCI_plist_set_match(&plist, LCI_MATCH_TAG) == LCI_OK);
  CHECK(LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist) == LCI_OK);
  CHECK(LCI_plist_free(&plist) == LCI_OK);
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &queue) == LCI_OK);
  for (space = 0; space < 3; ++space) {
    memset(seen, 0, (size_t)LCI_NUM_PROCESSES);
    for (i = 0; i < LCI_NUM_PROCESSES; ++i) {
      LCI_mbuffer_t m = {&in[i], sizeof in[i]};
      LCI_lbuffer_t l = {LCI_SEGMENT_ALL, &in[i], sizeof in[i]};
      if (space == 0) AGAIN(LCI_recvs(ep, LCI_RANK_ANY, 3, queue, NULL));
      if (space == 1) AGAIN(LCI_recvm(ep, m, LCI_RANK_ANY, 3, queue, NULL));
      if (space == 2) AGAIN(LCI_recvl(ep, l, LCI_RANK_ANY, 3, queue, NULL));
    }
    for (i = 0; i < LCI_NUM_PROCESSES; ++i) {
      LCI_mbuffer_t m = {&LCI_RANK, sizeof LCI_RANK};
      LCI_lbuffer_t l = {LCI_SEGMENT_ALL, &LCI_RANK, sizeof LCI_RANK};
      memset(&s, 0, sizeof s);
      memcpy(&s, &LCI_RANK, sizeof LCI_RANK);
      if (space == 0) AGAIN(LCI_sends(ep, s, i, 3));
      if (space == 1) AGAIN(LCI_sendm(ep, m, i, 3));
      if (space == 2) AGAIN(LCI_sendl(ep, l, i, 3, NULL, NULL));
    }
    for (i = 0; i < LCI_NUM_PROCESSES; ++i) {
      int value;
      CHECK(LCI_queue_wait(queue, &r) == LCI_OK);
      CHECK(r.flag == LCI_OK && r.tag == 3 && r.rank >= 0 && r.rank < LCI_NUM_PROCESSES && !seen[r.rank]);
      seen[r.rank] = 1;
      memcpy(&value,
             space == 0 ? (void*)&r.data.immediate : (space == 1 ? r.data.mbuffer.address : r.data.lbuffer.address),
             sizeof value);
      CHECK(value == r.rank);
    }
  }
  CHECK(LCI_gfence_wait(ep) == LCI_OK);
  CHECK(LCI_endpoint_free(&ep) == LCI_OK);
  CHECK(LCI_queue_free(&queue) == LCI_OK);
  free(seen);
}

/* The last rank creates its endpoint late: what the others have put waits for it. */
static void late_endpoint(void) {
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  LCI_comp_t queue;
  LCI_request_t r;
  LCI_mbuffer_t m = {&next, sizeof next};
  LCI_lbuffer_t l = {LCI_SEGMENT_ALL, &next, sizeof next};
  int i, kinds = 0;
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &queue) == LCI_OK);
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  CHECK(LCI_plist_set_default_comp(plist, queue) == LCI_OK);
  if (LCI_RANK == LCI_NUM_PROCESSES - 1)
    for (i = 0; i < 200000; ++i) LCI_progress(LCI_UR_DEVICE);
  CHECK(LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist) == LCI_OK);
  put_number(ep, 5, 4);
  AGAIN(LCI_putma(ep, m, next, 4, LCI_DEFAULT_COMP_REMOTE));
  AGAIN(LCI_putla(ep, l, NULL, next, 4, LCI_DEFAULT_COMP_REMOTE, NULL));
  for (i = 0; i < 3; ++i) {
    CHECK(LCI_queue_wait(queue, &r) == LCI_OK);
    CHECK(r.flag == LCI_OK && r.rank == before && r.tag == 4);
    kinds |= 1 << r.type;
    if (r.type == LCI_IMMEDIATE) CHECK(number_in(&r) == 5);
    if (r.type == LCI_MEDIUM) CHECK(*(int*)r.data.mbuffer.address == LCI_RANK && LCI_mbuffer_free(r.data.mbuffer) == 0);
    if (r.type == LCI_LONG) CHECK(*(int*)r.data.lbuffer.address == LCI_RANK && LCI_lbuffer_free(r.data.lbuffer) == 0);
  }
  CHECK(kinds == (1 << LCI_IMMEDIATE | 1 << LCI_MEDIUM | 1 << LCI_LONG));
  CHECK(LCI_gfence_wait(ep) == LCI_OK);
  CHECK(LCI_endpoint_free(&ep) == LCI_OK);
  CHECK(LCI_plist_free(&plist) == LCI_OK);
  CHECK(LCI_queue_free(&queue) == LCI_OK);
}

/* Endpoints and devices can be created and freed for ever. */
static void many_lives(void) {
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  LCI_device_t device;
  int i;
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  for (i = 0; i < 400; ++i) {
    CHECK(LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist) == LCI_OK);
    CHECK(LCI_endpoint_free(&ep) == LCI_OK);
  }
  for (i = 0; i < 5; ++i) {
    CHECK(LCI_device_initx(&device) == LCI_OK);
    CHECK(LCI_endpoint_init(&ep, device, plist) == LCI_OK);
    CHECK(LCI_endpoint_free(&ep) == LCI_OK);
    CHECK(LCI_device_free(&device) == LCI_OK);
  }
  CHECK(LCI_plist_free(&plist) == LCI_OK);
}

/* A rank whose sends are complete may create a device while others still wait for what it has sent, part of which may
 * be in its backlog. */
static void device_while_others_receive(void) {
  enum { n = 508, turns = 10 };
  static char data[50]; /* only sent */
  LCI_comp_t sent, received;
  LCI_request_t r;
  LCI_lbuffer_t* const buffers = (LCI_lbuffer_t*)calloc(n, sizeof(LCI_lbuffer_t));
  LCI_iovec_t v, none;
  int i, turn;
  memset(&v, 0, sizeof v);
  memset(&none, 0, sizeof none);
  for (i = 0; i < n; ++i) {
    buffers[i].address = data;
    buffers[i].length = sizeof data;
  }
  v.lbuffers = buffers;
  v.count = n;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sent) == LCI_OK);
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &received) == LCI_OK);
  for (turn = 0; turn < turns; ++turn) {
    LCI_device_t device;
    AGAIN(LCI_recvv(LCI_UR_ENDPOINT, none, before, 1, received, NULL));
    AGAIN(LCI_sendv(LCI_UR_ENDPOINT, v, next, 1, sent, NULL));
    CHECK(LCI_sync_wait(received, &r) == LCI_OK && r.flag == LCI_OK && r.data.iovec.count == n);
    for (i = 0; i < r.data.iovec.count; ++i) LCI_lbuffer_free(r.data.iovec.lbuffers[i]);
    free(r.data.iovec.lbuffers);
    CHECK(LCI_sync_wait(sent, NULL) == LCI_OK);
    CHECK(LCI_device_init(&device) == LCI_OK);
    CHECK(LCI_device_free(&device) == LCI_OK);
  }
  CHECK(LCI_sync_free(&sent) == LCI_OK && LCI_sync_free(&received) == LCI_OK);
  free(buffers);
}

static int is_initialized(void) {
  int flag = -1;
  CHECK(LCI_initialized(&flag) == LCI_OK);
  return flag;
}

/* Parts of a program initialize and finalize the library each for itself: only the first call and the last one count.
 * The library is initialized before and afterwards. */
static void counted_calls(void) {
  const LCI_device_t device = LCI_UR_DEVICE;
  const LCI_endpoint_t ep = LCI_UR_ENDPOINT;
  const LCI_comp_t queue = LCI_UR_CQ;
  LCI_request_t r;
  unsigned part;
  CHECK(LCI_initialize() == LCI_OK && LCI_initialize() == LCI_OK);
  for (part = 0; part < 2; ++part) {
    CHECK(LCI_finalize() == LCI_OK && is_initialized());
    CHECK(LCI_UR_DEVICE == device && LCI_UR_ENDPOINT == ep && LCI_UR_CQ == queue && LCI_NUM_DEVICES == 1);
    put_number(ep, part, 3);
    CHECK(LCI_queue_wait(queue, &r) == LCI_OK && r.rank == before && r.tag == 3 && number_in(&r) == part);
    CHECK(LCI_barrier() == LCI_OK);
  }
}

int main(void) {
  int lives;
  for (lives = 0; lives < 2; ++lives) { /* the library can be started again */
    if (LCI_initialize() != LCI_OK) return 1;
    next = (LCI_RANK + 1) % LCI_NUM_PROCESSES;
    before = (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES;
    devices_and_endpoints();
    wildcards();
    late_endpoint();
    many_lives();
    device_while_others_receive();
    counted_calls();
    CHECK(LCI_finalize() == LCI_OK && !is_initialized());
  }
  return conclude("worlds");
}
