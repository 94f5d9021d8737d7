/* The last rank dies. Operations of the other ranks that wait for it must end with an error, and no call may hang. */
#define _POSIX_C_SOURCE 200809L /* kill(), setenv() */
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/layers/v1/check.h"

static void keep(void* to, const void* from, size_t n) {
  (void)to;
  (void)from;
  (void)n;
}

int main(void) {
  LCIX_collective_t c;
  LCI_mbuffer_t word, packet, remote;
  LCI_device_t device = NULL;
  LCI_comp_t queue;
  LCI_request_t r;
  LCI_lbuffer_t b = {LCI_SEGMENT_ALL, NULL, 1 << 20};
  LCI_iovec_t v;
  LCI_short_t s;
  LCI_error_t code;
  int dead, i, ended = 0;
  setenv("LCI_SERVER_NUM_PKTS", "64", 1);
  if (LCI_initialize() != LCI_OK) return 1;
  dead = LCI_NUM_PROCESSES - 1;
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &queue) == LCI_OK);
  memset(&s, 0, sizeof s);
  memset(&v, 0, sizeof v);
  b.address = calloc(1, b.length);
  v.lbuffers = &b;
  v.count = 1;
  if (LCI_RANK == dead) {
    /* Die only after each other rank has sent a message, so that all are connected. */
    for (i = 0; i < dead; ++i) CHECK(LCI_queue_wait(LCI_UR_CQ, &r) == LCI_OK);
    kill(getpid(), SIGKILL);
  }
  AGAIN(LCI_recvl(LCI_UR_ENDPOINT, b, dead, 1, queue, NULL));
  AGAIN(LCI_recvs(LCI_UR_ENDPOINT, dead, 2, queue, NULL));
  AGAIN(LCI_sendl(LCI_UR_ENDPOINT, b, dead, 3, queue, NULL));
  AGAIN(LCI_sendv(LCI_UR_ENDPOINT, v, dead, 4, queue, NULL));
  AGAIN(LCI_puts(LCI_UR_ENDPOINT, s, dead, 5, LCI_DEFAULT_COMP_REMOTE));
  while (ended < 4) {
    if (LCI_queue_pop(queue, &r) == LCI_OK) {
      CHECK(r.flag == LCI_ERR_FATAL && r.rank == dead);
      ++ended;
    } else {
      LCI_progress(LCI_UR_DEVICE);
    }
  }
  CHECK(LCI_fence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  while ((code = LCI_puts(LCI_UR_ENDPOINT, s, dead, 6, LCI_DEFAULT_COMP_REMOTE)) != LCI_ERR_FATAL)
    LCI_progress(LCI_UR_DEVICE);
  /* Packets for a rank that has failed are not lost. */
  for (i = 0; i < 4 * LCI_SERVER_NUM_PKTS; ++i) {
    CHECK(LCI_mbuffer_alloc(LCI_UR_DEVICE, &packet) == LCI_OK);
    packet.length = 8;
    remote.address = packet.address;
    remote.length = 8;
    if (i % 4 == 0) code = LCI_sendmn(LCI_UR_ENDPOINT, packet, dead, 6);
    if (i % 4 == 1) code = LCI_putmna(LCI_UR_ENDPOINT, packet, dead, 6, LCI_DEFAULT_COMP_REMOTE);
    if (i % 4 == 2) code = LCI_putmn(LCI_UR_ENDPOINT, packet, dead, 6, remote, LCI_DEFAULT_COMP_REMOTE);
    if (i % 4 == 3) {
      CHECK(LCI_mbuffer_free(packet) == LCI_OK);
      code = LCI_recvmn(LCI_UR_ENDPOINT, dead, 6, queue, NULL);
    }
    CHECK(code == LCI_ERR_FATAL);
  }
  /* A collective operation fails at all survivors, also at those that exchange no message with the failed rank. */
  word.address = &s;
  word.length = sizeof s;
  code = LCIX_allreducem(LCI_UR_ENDPOINT, word, keep, 7, queue, NULL, &c);
  while ((code == LCI_OK || code == LCI_ERR_RETRY) && c != NULL) code = LCIX_coll_progress(&c);
  CHECK(code == LCI_ERR_FATAL && c == NULL);
  CHECK(LCI_queue_pop(queue, &r) == LCI_OK && r.flag == LCI_ERR_FATAL && r.tag == 7);
  /* So does a group fence, although the failure has been reported before. */
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_ERR_FATAL);
  /* So does the creation of a device, of which nothing is left. Over other networks the launcher ends the job, since
   * the failed rank does not exchange addresses. */
  i = LCI_NUM_DEVICES;
  if (getenv("LCI_ATTR_BACKEND") == NULL)
    CHECK(LCI_device_init(&device) == LCI_ERR_FATAL && device == NULL && LCI_NUM_DEVICES == i);
  fflush(stderr);
  i = conclude("peer_death");
  fflush(stdout);
  _exit(i); /* LCI_finalize() is collective */
}
