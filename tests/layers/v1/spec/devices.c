/* Section 4.4: devices, whose groups are separate worlds, and endpoints, which match in the order of their creation. */
#include "tests/layers/v1/spec/spec.h"

enum { TAG = 11 };

/* A message by `send` on `endpoint` to the next rank, and one from the previous into `box`. */
static void ring(LCI_device_t device, LCI_endpoint_t endpoint, struct box* box, uint64_t number) {
  const int to = rank_at(1);
  const int from = rank_at(-1);
  LCI_request_t request;
  AGAIN_ON(device, LCI_recvs(endpoint, from, TAG, box->comp, &number));
  AGAIN_ON(device, LCI_sends(endpoint, short_of(number), to, TAG));
  box_wait(box, device, &request, 0);
  check_request(&request, from, TAG, &number);
  CHECK_EQ(number_in(&request), number);
}

static int stays_empty(LCI_device_t device, struct box* box) {
  LCI_request_t request;
  settle(device);
  return !box_take(box, &request);
}

/* What is sent by an endpoint of one device does not reach the endpoints of another. */
static void separate_worlds(void) {
  LCI_device_t device[2] = {NULL, NULL};
  LCI_endpoint_t endpoint[3];
  struct box box[3];
  const int before = LCI_NUM_DEVICES;
  int i, sent_on;
  case_is("two more devices");
  CHECK_OK(LCI_device_init(&device[0]));
  CHECK_OK(LCI_device_initx(&device[1]));
  CHECK(device[0] && device[1] && device[0] != device[1] && device[0] != LCI_UR_DEVICE && device[1] != LCI_UR_DEVICE);
  CHECK_EQ(LCI_NUM_DEVICES, before + 2);
  for (i = 0; i < 3; ++i) {
    LCI_device_t its = i < 2 ? device[i] : LCI_UR_DEVICE;
    box_open(&box[i], its, i);
    endpoint[i] = endpoint_with(its, LCI_MATCH_TAG, comp_type_of(i), comp_type_of(i), box[i].comp);
  }
  for (sent_on = 0; sent_on < 3; ++sent_on) {
    LCI_device_t its = sent_on < 2 ? device[sent_on] : LCI_UR_DEVICE;
    const int to = rank_at(1);
    const int from = rank_at(-1);
    LCI_request_t request;
    case_is("a message on endpoint %d, while receives are posted on the other two devices", sent_on);
    for (i = 0; i < 3; ++i)
      if (i != sent_on) AGAIN(LCI_recvs(endpoint[i], from, TAG, box[i].comp, &box[i]));
    handshake(from, to);
    AGAIN_ON(its, LCI_sends(endpoint[sent_on], short_of((uint64_t)sent_on), to, TAG));
    for (i = 0; i < 3; ++i) CHECK(stays_empty(i < 2 ? device[i] : LCI_UR_DEVICE, &box[i]));
    AGAIN_ON(its, LCI_recvs(endpoint[sent_on], from, TAG, box[sent_on].comp, &box[sent_on]));
    box_wait(&box[sent_on], its, &request, sent_on == 0);
    check_request(&request, from, TAG, &box[sent_on]);
    CHECK_EQ(number_in(&request), sent_on);
    handshake(from, to); /* the next rank has seen that nothing else had arrived */
    for (i = 0; i < 3; ++i)
      if (i != sent_on) {
        LCI_device_t other = i < 2 ? device[i] : LCI_UR_DEVICE;
        AGAIN_ON(other, LCI_sends(endpoint[i], short_of(50), to, TAG));
        box_wait(&box[i], other, &request, 0);
        check_request(&request, from, TAG, &box[i]);
      }
    handshake(from, to);
    handshake(to, from);
  }
  case_is("all modes on a second device");
  {
    char text[] = "medium and long", into[32];
    LCI_mbuffer_t packet;
    LCI_request_t request;
    const int to = rank_at(1);
    const int from = rank_at(-1);
    AGAIN_ON(device[0], LCI_mbuffer_alloc(device[0], &packet));
    memcpy(packet.address, text, sizeof text);
    packet.length = sizeof text;
    AGAIN_ON(device[0], LCI_putmna(endpoint[0], packet, to, 1, LCI_DEFAULT_COMP_REMOTE));
    box_wait(&box[0], device[0], &request, 1);
    check_request(&request, from, 1, NULL);
    CHECK(strcmp(request.data.mbuffer.address, text) == 0);
    CHECK_OK(LCI_mbuffer_free(request.data.mbuffer));
    AGAIN_ON(device[0],
             LCI_recvl(endpoint[0], long_of(LCI_SEGMENT_ALL, into, sizeof into), from, 2, box[0].comp, into));
    AGAIN_ON(device[0], LCI_sendl(endpoint[0], long_of(LCI_SEGMENT_ALL, text, sizeof text), to, 2, NULL, NULL));
    box_wait(&box[0], device[0], &request, 0);
    check_request(&request, from, 2, into);
    CHECK(strcmp(into, text) == 0);
    CHECK_OK(LCI_fence_wait(endpoint[0]));
    handshake(from, to); /* the next rank has received: a put to the same object could overtake the message */
    AGAIN_ON(device[0], LCI_putla(endpoint[0], long_of(LCI_SEGMENT_ALL, text, sizeof text), NULL, to, 3,
                                  LCI_DEFAULT_COMP_REMOTE, NULL));
    box_wait(&box[0], device[0], &request, 0);
    check_request(&request, from, 3, NULL);
    CHECK(strcmp(request.data.lbuffer.address, text) == 0);
    CHECK_OK(LCI_lbuffer_free(request.data.lbuffer));
    CHECK_OK(LCI_gfence_wait(endpoint[0]));
  }
  case_is("the end of two devices");
  for (i = 0; i < 3; ++i) {
    CHECK_OK(LCI_endpoint_free(&endpoint[i]));
    box_close(&box[i]);
  }
  CHECK_OK(LCI_device_free(&device[1]));
  CHECK_EQ(LCI_NUM_DEVICES, before + 1);
  CHECK_OK(LCI_device_free(&device[0]));
  CHECK(device[0] == NULL && device[1] == NULL);
  CHECK_EQ(LCI_NUM_DEVICES, before);
}

static void again_and_again(void) {
  const int n = whole ? 12 : 3;
  int i;
  for (i = 0; i < n; ++i) {
    LCI_device_t device = NULL;
    LCI_endpoint_t endpoint;
    struct box box;
    case_is("device number %d of %d, one after the other", i, n);
    CHECK_OK(LCI_device_init(&device));
    box_open(&box, device, BY_QUEUE);
    endpoint = endpoint_with(device, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, box.comp);
    ring(device, endpoint, &box, (uint64_t)i);
    CHECK_OK(LCI_gfence_wait(endpoint));
    CHECK_OK(LCI_endpoint_free(&endpoint));
    box_close(&box);
    CHECK_OK(LCI_device_free(&device));
    CHECK(device == NULL);
  }
}

void devices(void) {
  separate_worlds();
  again_and_again();
}

/* --- endpoints --- */

/* Messages on the k-th endpoint arrive at the k-th endpoints of the others, and nowhere else. */
static void in_order_of_creation(void) {
  enum { ENDPOINTS = 6 };
  LCI_endpoint_t endpoint[ENDPOINTS];
  struct box box[ENDPOINTS];
  const int to = rank_at(1);
  const int from = rank_at(-1);
  LCI_request_t request;
  int i, k;
  for (i = 0; i < ENDPOINTS; ++i) {
    box_open(&box[i], LCI_UR_DEVICE, i % KINDS);
    endpoint[i] = endpoint_with(LCI_UR_DEVICE, i % 2 ? LCI_MATCH_TAG : LCI_MATCH_RANKTAG, comp_type_of(i % KINDS),
                                comp_type_of(i % KINDS), box[i].comp);
    for (k = 0; k < i; ++k) CHECK(endpoint[k] != endpoint[i]);
  }
  for (k = 0; k < ENDPOINTS; ++k) {
    case_is("a send and a put on endpoint %d of %d", k, ENDPOINTS);
    for (i = 0; i < ENDPOINTS; ++i)
      if (i != k) AGAIN(LCI_recvs(endpoint[i], from, TAG, box[i].comp, &box[i]));
    handshake(from, to);
    AGAIN(LCI_sends(endpoint[k], short_of((uint64_t)k), to, TAG));
    for (i = 0; i < ENDPOINTS; ++i) CHECK(stays_empty(LCI_UR_DEVICE, &box[i]));
    AGAIN(LCI_recvs(endpoint[k], from, TAG, box[k].comp, &box[k]));
    box_wait(&box[k], LCI_UR_DEVICE, &request, 0);
    check_request(&request, from, TAG, &box[k]);
    CHECK_EQ(number_in(&request), k);
    handshake(from, to); /* the next rank has the message, and nothing else */
    AGAIN(LCI_puts(endpoint[k], short_of((uint64_t)k + 100), to, TAG + 1, LCI_DEFAULT_COMP_REMOTE));
    box_wait(&box[k], LCI_UR_DEVICE, &request, 0);
    check_request(&request, from, TAG + 1, NULL);
    CHECK_EQ(number_in(&request), k + 100);
    handshake(from, to); /* the next rank has seen that nothing else had arrived */
    for (i = 0; i < ENDPOINTS; ++i)
      if (i != k) {
        AGAIN(LCI_sends(endpoint[i], short_of((uint64_t)i), to, TAG));
        box_wait(&box[i], LCI_UR_DEVICE, &request, 0);
        check_request(&request, from, TAG, &box[i]);
        CHECK_EQ(number_in(&request), i);
      }
    handshake(from, to);
    handshake(to, from);
  }
  for (i = 0; i < ENDPOINTS; ++i) {
    CHECK_OK(LCI_endpoint_free(&endpoint[i]));
    CHECK(endpoint[i] == NULL);
    box_close(&box[i]);
  }
}

/* Endpoints that were freed do not count, and their place does not confuse later ones. */
static void freed_ones(void) {
  LCI_endpoint_t kept[3], endpoint;
  struct box box;
  int i, n = whole ? 3 * LCI_MAX_ENDPOINTS : 150;
  case_is("%d endpoints, one after the other", n);
  box_open(&box, LCI_UR_DEVICE, BY_QUEUE);
  for (i = 0; i < 3; ++i)
    kept[i] = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, box.comp);
  CHECK_OK(LCI_endpoint_free(&kept[1]));
  for (i = 0; i < n; ++i) {
    endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, box.comp);
    if (i % 10 == 0) {
      ring(LCI_UR_DEVICE, endpoint, &box, (uint64_t)i);
      ring(LCI_UR_DEVICE, kept[2], &box, 77);
      CHECK_OK(LCI_gfence_wait(endpoint));
    }
    CHECK_OK(LCI_endpoint_free(&endpoint));
  }
  ring(LCI_UR_DEVICE, kept[0], &box, 1);
  ring(LCI_UR_DEVICE, kept[2], &box, 2);
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&kept[0]));
  CHECK_OK(LCI_endpoint_free(&kept[2]));
  box_close(&box);
}

/* A message before its endpoint exists at the target: nobody says that the call waits for the others. */
static void created_late(void) {
  LCI_endpoint_t endpoint = NULL;
  struct box box;
  LCI_request_t request;
  const int to = rank_at(1);
  const int from = rank_at(-1);
  int r, i;
  for (r = 0; r < LCI_NUM_PROCESSES; ++r) {
    case_is("rank %d creates its endpoint after the others have sent to it", r);
    box_open(&box, LCI_UR_DEVICE, BY_QUEUE);
    if (LCI_RANK == r)
      for (i = 0; i < 20; ++i) settle(LCI_UR_DEVICE); /* in which the message may arrive */
    endpoint = endpoint_with(LCI_UR_DEVICE, LCI_MATCH_RANKTAG, LCI_COMPLETION_QUEUE, LCI_COMPLETION_QUEUE, box.comp);
    AGAIN(LCI_puts(endpoint, short_of(7), to, 1, LCI_DEFAULT_COMP_REMOTE));
    AGAIN(LCI_sends(endpoint, short_of(8), to, 2));
    box_wait(&box, LCI_UR_DEVICE, &request, 0);
    check_request(&request, from, 1, NULL);
    AGAIN(LCI_recvs(endpoint, from, 2, box.comp, &box));
    box_wait(&box, LCI_UR_DEVICE, &request, 0);
    check_request(&request, from, 2, &box);
    CHECK_EQ(number_in(&request), 8);
    CHECK_OK(LCI_barrier());
    CHECK_OK(LCI_endpoint_free(&endpoint));
    box_close(&box);
  }
}

/* LCI_MAX_ENDPOINTS at a time, and then an error; not less than the number that is known to exist. */
static void at_most(void) {
  LCI_endpoint_t* all = calloc((size_t)LCI_MAX_ENDPOINTS + 1, sizeof *all);
  LCI_plist_t plist = NULL;
  LCI_error_t code = LCI_OK;
  int n = 0, i;
  case_is("LCI_MAX_ENDPOINTS, which is %d", LCI_MAX_ENDPOINTS);
  if (!all) give_up("memory");
  CHECK_OK(LCI_plist_create(&plist));
  while (n <= LCI_MAX_ENDPOINTS && (code = LCI_endpoint_init(&all[n], LCI_UR_DEVICE, plist)) == LCI_OK) ++n;
  CHECK_EQ(code, LCI_ERR_FATAL);
  CHECK(n < LCI_MAX_ENDPOINTS && n >= LCI_MAX_ENDPOINTS - 2); /* LCI_UR_ENDPOINT, and one of these tests */
  CHECK_OK(LCI_barrier());
  for (i = 0; i < n; ++i) CHECK_OK(LCI_endpoint_free(&all[i]));
  CHECK_OK(LCI_endpoint_init(&all[0], LCI_UR_DEVICE, plist));
  CHECK_OK(LCI_barrier());
  CHECK_OK(LCI_endpoint_free(&all[0]));
  CHECK_OK(LCI_plist_free(&plist));
  free(all);
}

void endpoints(void) {
  in_order_of_creation();
  freed_ones();
  created_late();
  at_most();
}
