/* Completion objects of all kinds as boxes, and messages between the tests themselves. */
#include "tests/layers/v1/spec/spec.h"

enum { SHELVES = 32, SHELF_SIZE = 128 };

const char* const kind_names[] = {"queue", "handler", "synchronizer", "nothing"};

LCI_comp_type_t comp_type_of(int kind) {
  static const LCI_comp_type_t types[] = {LCI_COMPLETION_QUEUE, LCI_COMPLETION_HANDLER, LCI_COMPLETION_SYNC,
                                          LCI_COMPLETION_NONE};
  return types[kind];
}

/* --- where handlers put their requests: each shelf has a handler of its own --- */

struct shelf {
  pthread_mutex_t lock;
  int used;
  unsigned put, taken;
  LCI_request_t requests[SHELF_SIZE];
};
static PER_RANK struct shelf shelves[SHELVES];

static void put_on(int index, LCI_request_t request) {
  struct shelf* shelf = &shelves[index];
  pthread_mutex_lock(&shelf->lock);
  CHECK(shelf->used);
  CHECK(shelf->put - shelf->taken < SHELF_SIZE);
  shelf->requests[shelf->put++ % SHELF_SIZE] = request;
  pthread_mutex_unlock(&shelf->lock);
}

static int take_from(struct shelf* shelf, LCI_request_t* request) {
  int taken = 0;
  pthread_mutex_lock(&shelf->lock);
  if (shelf->put != shelf->taken) {
    *request = shelf->requests[shelf->taken++ % SHELF_SIZE];
    taken = 1;
  }
  pthread_mutex_unlock(&shelf->lock);
  return taken;
}

/* In octal. */
#define EIGHT(X, first) X(first##0) X(first##1) X(first##2) X(first##3) X(first##4) X(first##5) X(first##6) X(first##7)
#define EACH_SHELF(X) EIGHT(X, 0) EIGHT(X, 01) EIGHT(X, 02) EIGHT(X, 03)
#define DEFINE_HANDLER(i) \
  static void handler_##i(LCI_request_t request) { put_on(i, request); }
#define NAME_HANDLER(i) handler_##i,
EACH_SHELF(DEFINE_HANDLER)
static const LCI_handler_t shelf_handlers[SHELVES] = {EACH_SHELF(NAME_HANDLER)};

void box_open(struct box* box, LCI_device_t device, int kind) {
  memset(box, 0, sizeof *box);
  box->kind = kind;
  if (kind == BY_QUEUE) {
    CHECK_OK(LCI_queue_create(device, &box->comp));
  } else if (kind == BY_SYNC) {
    CHECK_OK(LCI_sync_create(device, 1, &box->comp));
  } else if (kind == BY_HANDLER) {
    while (shelves[box->shelf].used)
      if (++box->shelf == SHELVES) give_up("a free shelf");
    pthread_mutex_init(&shelves[box->shelf].lock, NULL);
    shelves[box->shelf].used = 1;
    shelves[box->shelf].put = shelves[box->shelf].taken = 0;
    CHECK_OK(LCI_handler_create(device, shelf_handlers[box->shelf], &box->comp));
  }
  CHECK((box->comp != NULL) == (kind != BY_NOTHING));
}

void box_close(struct box* box) {
  LCI_request_t request;
  CHECK(!box_take(box, &request));
  if (box->kind == BY_QUEUE) CHECK_OK(LCI_queue_free(&box->comp));
  if (box->kind == BY_SYNC) CHECK_OK(LCI_sync_free(&box->comp));
  if (box->kind == BY_HANDLER) {
    shelves[box->shelf].used = 0; /* the handler remains until LCI_finalize() */
    box->comp = NULL;
  }
  CHECK(box->comp == NULL);
}

int box_take(struct box* box, LCI_request_t* request) {
  LCI_error_t code = LCI_ERR_RETRY;
  memset(request, 0x77, sizeof *request);
  if (box->kind == BY_HANDLER) return take_from(&shelves[box->shelf], request);
  if (box->kind == BY_QUEUE) code = LCI_queue_pop(box->comp, request);
  if (box->kind == BY_SYNC) code = LCI_sync_test(box->comp, request);
  CHECK(code == LCI_OK || code == LCI_ERR_RETRY);
  return code == LCI_OK;
}

void box_wait(struct box* box, LCI_device_t device, LCI_request_t* request, int asleep) {
  struct patience patience = {0, 0};
  if (asleep && box->kind != BY_HANDLER) {
    memset(request, 0x77, sizeof *request);
    if (box->kind == BY_QUEUE) CHECK_OK(LCI_queue_wait(box->comp, request));
    if (box->kind == BY_SYNC) CHECK_OK(LCI_sync_wait(box->comp, request));
    return;
  }
  while (!box_take(box, request)) step(&patience, device, "a completion");
}

/* --- messages between the tests --- */

static PER_RANK LCI_endpoint_t control = NULL;
static PER_RANK unsigned control_messages = 0;

LCI_endpoint_t endpoint_with(LCI_device_t device, LCI_match_t match, LCI_comp_type_t command, LCI_comp_type_t message,
                             LCI_comp_t default_comp) {
  LCI_plist_t plist = NULL;
  LCI_endpoint_t endpoint = NULL;
  CHECK_OK(LCI_plist_create(&plist));
  CHECK_OK(LCI_plist_set_match(&plist, match));
  CHECK_OK(LCI_plist_set_comp_type(plist, LCI_PORT_COMMAND, command));
  CHECK_OK(LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, message));
  if (default_comp) CHECK_OK(LCI_plist_set_default_comp(plist, default_comp));
  CHECK_OK(LCI_endpoint_init(&endpoint, device, plist));
  CHECK_OK(LCI_plist_free(&plist));
  CHECK(endpoint != NULL);
  return endpoint;
}

static LCI_endpoint_t control_endpoint(void) {
  if (!control)
    control = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, NULL);
  return control;
}

void exchange(const void* mine, void* all, size_t size) {
  LCI_endpoint_t endpoint = control_endpoint();
  LCI_tag_t tag = 0xf000u + control_messages++ % 0x800u;
  LCI_comp_t sync;
  struct patience patience = {0, 0};
  int r;
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, LCI_NUM_PROCESSES, &sync));
  for (r = 0; r < LCI_NUM_PROCESSES; ++r)
    AGAIN(LCI_recvm(endpoint, medium_of((char*)all + (size_t)r * size, size), r, tag, sync, NULL));
  for (r = 0; r < LCI_NUM_PROCESSES; ++r) AGAIN(LCI_sendm(endpoint, medium_of(mine, size), r, tag));
  while (LCI_sync_test(sync, NULL) != LCI_OK) step(&patience, LCI_UR_DEVICE, "an exchange among all ranks");
  CHECK_OK(LCI_sync_free(&sync));
}

static void swap_shorts(LCI_comp_t sync, LCI_tag_t tag, int to, int from) {
  LCI_request_t request;
  struct patience patience = {0, 0};
  AGAIN(LCI_recvs(control_endpoint(), from, tag, sync, NULL));
  AGAIN(LCI_sends(control_endpoint(), short_of(tag), to, tag));
  while (LCI_sync_test(sync, &request) != LCI_OK) step(&patience, LCI_UR_DEVICE, "a message of a neighbour");
  check_request(&request, from, tag, NULL);
  CHECK_EQ(number_in(&request), tag);
}

void handshake(int to, int from) {
  LCI_comp_t sync;
  CHECK_OK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync));
  swap_shorts(sync, 0xf800u + control_messages++ % 0x700u, to, from);
  CHECK_OK(LCI_sync_free(&sync));
}

/* Tokens are told apart by tag, since messages are not ordered. */
void swap_tokens(struct worker* worker, int tell, int hear) {
  LCI_tag_t tag = (LCI_tag_t)worker->thread * 0x3000u + worker->tokens++ % 0x3000u;
  swap_shorts(worker->token, tag, tell, hear);
}
