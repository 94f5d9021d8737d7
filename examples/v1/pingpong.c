/* LCI v1.7: two ranks send a message to and fro with each kind of transfer, and print the time for one way. */
#define _POSIX_C_SOURCE 200809L
#include <lci.h>
#include <string.h>
#include <time.h>

enum { rounds = 1000 };

static LCI_comp_t sync; /* fires for each message that is received, and for each long one that is sent */
static LCI_mbuffer_t medium;
static LCI_lbuffer_t sent, received;
static int peer;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Repeats a call while something is short. */
#define INSIST(call)                                             \
  do {                                                           \
    while ((call) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE); \
  } while (0)

static void wait_for_one(LCI_request_t* request) {
  while (LCI_sync_test(sync, request) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
}

static void send_short(void) {
  LCI_short_t s;
  memset(&s, 0, sizeof s);
  INSIST(LCI_sends(LCI_UR_ENDPOINT, s, peer, 1));
}
static void receive_short(void) {
  INSIST(LCI_recvs(LCI_UR_ENDPOINT, peer, 1, sync, NULL));
  wait_for_one(NULL);
}

static void send_medium(void) { INSIST(LCI_sendm(LCI_UR_ENDPOINT, medium, peer, 1)); }
static void receive_medium(void) {
  INSIST(LCI_recvm(LCI_UR_ENDPOINT, medium, peer, 1, sync, NULL));
  wait_for_one(NULL);
}

/* Buffers of the library's at both ends: nothing is copied by the program. */
static void send_packet(void) {
  LCI_mbuffer_t packet;
  INSIST(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet));
  packet.length = medium.length;
  memset(packet.address, 1, packet.length);
  INSIST(LCI_sendmn(LCI_UR_ENDPOINT, packet, peer, 1));
}
static void receive_packet(void) {
  LCI_request_t request;
  INSIST(LCI_recvmn(LCI_UR_ENDPOINT, peer, 1, sync, NULL));
  wait_for_one(&request);
  LCI_mbuffer_free(request.data.mbuffer);
}

static void send_long(void) {
  INSIST(LCI_sendl(LCI_UR_ENDPOINT, sent, peer, 1, sync, NULL));
  wait_for_one(NULL);
}
static void receive_long(void) {
  INSIST(LCI_recvl(LCI_UR_ENDPOINT, received, peer, 1, sync, NULL));
  wait_for_one(NULL);
}

/* One-sided: the target's queue gets a buffer. */
static void put_long(void) {
  INSIST(LCI_putla(LCI_UR_ENDPOINT, sent, sync, peer, 1, LCI_DEFAULT_COMP_REMOTE, NULL));
  wait_for_one(NULL);
}
static void take_long(void) {
  LCI_request_t request;
  while (LCI_queue_pop(LCI_UR_CQ, &request) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  LCI_lbuffer_free(request.data.lbuffer);
}

static void measure(const char* name, size_t size, void (*send)(void), void (*receive)(void)) {
  double begin;
  int i;
  LCI_barrier();
  begin = now();
  for (i = 0; i < rounds; ++i) {
    if (LCI_RANK == 0) {
      send();
      receive();
    } else {
      receive();
      send();
    }
  }
  if (LCI_RANK == 0)
    printf("%-14s %8lu bytes %10.2f us\n", name, (unsigned long)size, (now() - begin) / (2 * rounds) * 1e6);
}

int main(void) {
  if (LCI_initialize() != LCI_OK) return 1;
  if (LCI_NUM_PROCESSES != 2) {
    fprintf(stderr, "pingpong runs with 2 ranks: lcirun -n 2 pingpong\n");
    LCI_finalize();
    return 2;
  }
  peer = 1 - LCI_RANK;
  LCI_sync_create(LCI_UR_DEVICE, 1, &sync);
  medium.length = 4096;
  medium.address = calloc(1, medium.length);
  LCI_lbuffer_alloc(LCI_UR_DEVICE, 1 << 20, &sent);
  LCI_lbuffer_alloc(LCI_UR_DEVICE, 1 << 20, &received);
  memset(sent.address, 1, sent.length);
  measure("sends/recvs", LCI_SHORT_SIZE, send_short, receive_short);
  measure("sendm/recvm", medium.length, send_medium, receive_medium);
  measure("sendmn/recvmn", medium.length, send_packet, receive_packet);
  measure("sendl/recvl", sent.length, send_long, receive_long);
  measure("putla", sent.length, put_long, take_long);
  LCI_lbuffer_free(sent);
  LCI_lbuffer_free(received);
  free(medium.address);
  LCI_sync_free(&sync);
  LCI_finalize();
  return 0;
}
