/* Many ranks flood the last one, which makes progress and consumes slowly: nothing is lost, and LCI_ERR_RETRY holds the
 * senders back. flood [MESSAGES]. LCI_SERVER_NUM_PKTS in the environment makes packets scarce. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "tests/layers/v1/check.h"

static PER_RANK size_t messages = 20000;
static PER_RANK size_t retries;

static void put_or_send(LCI_endpoint_t ep, int puts, size_t i) {
  static PER_RANK unsigned char bytes[8192];
  LCI_mbuffer_t m;
  LCI_error_t code;
  m.address = bytes;
  m.length = sizeof i + i % 97 * 40;
  memset(bytes, (int)(i & 0xff), m.length);
  memcpy(bytes, &i, sizeof i);
  for (;;) {
    code = puts ? LCI_putma(ep, m, LCI_NUM_PROCESSES - 1, 1, LCI_DEFAULT_COMP_REMOTE)
                : LCI_sendm(ep, m, LCI_NUM_PROCESSES - 1, 1);
    if (code != LCI_ERR_RETRY) break;
    ++retries;
    LCI_progress(LCI_UR_DEVICE);
  }
  CHECK(code == LCI_OK);
}

static void nap(void) {
  struct timespec t;
  t.tv_sec = 0;
  t.tv_nsec = 2000000;
  nanosleep(&t, NULL);
}

/* Counts a message of a rank's by its number, which must not have come before. */
static int take(const LCI_request_t* r, char* seen) {
  const unsigned char* bytes = r->data.mbuffer.address;
  size_t i, k;
  if (r->flag != LCI_OK || r->tag != 1 || r->type != LCI_MEDIUM || r->data.mbuffer.length < sizeof i) return 0;
  memcpy(&i, bytes, sizeof i);
  if (i >= messages || r->data.mbuffer.length != sizeof i + i % 97 * 40) return 0;
  for (k = sizeof i; k < r->data.mbuffer.length; ++k)
    if (bytes[k] != (i & 0xff)) return 0;
  if (seen[(size_t)r->rank * messages + i]++) return 0;
  return LCI_mbuffer_free(r->data.mbuffer) == LCI_OK;
}

static void receive_all(LCI_comp_t queue, LCI_endpoint_t ep, int puts) {
  const size_t all = messages * (size_t)(LCI_NUM_PROCESSES - 1);
  char* seen = calloc(1, messages * (size_t)LCI_NUM_PROCESSES);
  LCI_request_t r;
  size_t n = 0, good = 0, posted = 0;
  while (n < all) {
    size_t k;
    for (k = 0; !puts && posted < all && posted < n + 8; ++k) {
      if (LCI_recvmn(ep, LCI_RANK_ANY, 1, queue, NULL) != LCI_OK) break;
      ++posted;
    }
    if (n < 2000 && n % 100 == 0) nap();
    if (LCI_queue_pop(queue, &r) == LCI_OK) {
      ++n;
      good += (size_t)take(&r, seen);
    } else {
      LCI_progress(LCI_UR_DEVICE);
    }
  }
  CHECK(good == all);
  CHECK(LCI_queue_pop(queue, &r) == LCI_ERR_RETRY);
  free(seen);
}

/* The ways to send a message with `length` bytes of the number i: copied, in a buffer of the library, as an iovec. */
enum way { COPIED, HANDED_OVER, VECTOR };
static LCI_error_t send_by(enum way way, int to, int i, size_t length) {
  static PER_RANK int words[2000];
  LCI_mbuffer_t m;
  LCI_error_t code;
  size_t k;
  for (k = 0; k < length / sizeof i; ++k) words[k] = i;
  m.address = words;
  m.length = length;
  if (way == COPIED) return LCI_sendm(LCI_UR_ENDPOINT, m, to, (LCI_tag_t)(i % 1000));
  if (way == VECTOR) {
    LCI_iovec_t v;
    v.piggy_back = m;
    v.lbuffers = NULL;
    v.count = 0;
    return LCI_sendv(LCI_UR_ENDPOINT, v, to, (LCI_tag_t)(i % 1000), NULL, NULL);
  }
  code = LCI_mbuffer_alloc(LCI_UR_DEVICE, &m);
  if (code != LCI_OK) return code;
  memcpy(m.address, words, length);
  m.length = length;
  code = LCI_sendmn(LCI_UR_ENDPOINT, m, to, (LCI_tag_t)(i % 1000));
  if (code == LCI_ERR_RETRY) CHECK(LCI_mbuffer_free(m) == LCI_OK);
  return code;
}

/* Every rank posts more receives than there are packets before any rank sends, which each then can. */
static void receives_leave_packets_to_senders(LCI_comp_t queue, enum way way, int has_iovecs) {
  const int all = LCI_SERVER_NUM_PKTS + 100;
  const int to = (LCI_RANK + 1) % LCI_NUM_PROCESSES, from = (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES;
  const size_t length = sizeof(int) * 2000;
  LCI_iovec_t none;
  LCI_request_t r;
  int sent = 0, taken = 0, good = 0, i, k;
  memset(&none, 0, sizeof none);
  for (i = 0; i < all; ++i)
    CHECK((has_iovecs ? LCI_recvv(LCI_UR_ENDPOINT, none, from, (LCI_tag_t)(i % 1000), queue, NULL)
                      : LCI_recvmn(LCI_UR_ENDPOINT, from, (LCI_tag_t)(i % 1000), queue, NULL)) == LCI_OK);
  CHECK(LCI_barrier() == LCI_OK);
  while (taken < all || sent < all) {
    if (sent < all) {
      LCI_error_t code = send_by(way, to, sent, length);
      CHECK(code == LCI_OK || code == LCI_ERR_RETRY);
      sent += code == LCI_OK;
    }
    LCI_progress(LCI_UR_DEVICE);
    if (LCI_queue_pop(queue, &r) != LCI_OK) continue;
    const LCI_mbuffer_t m = has_iovecs ? r.data.iovec.piggy_back : r.data.mbuffer;
    const int* words = m.address;
    int same = r.flag == LCI_OK && m.length == length && words[0] % 1000 == (int)r.tag;
    for (k = 1; same && k < 2000; ++k) same = words[k] == words[0];
    good += same;
    ++taken;
    if (has_iovecs)
      free(m.address);
    else
      CHECK(LCI_mbuffer_free(m) == LCI_OK);
  }
  CHECK(good == all);
  CHECK(LCI_barrier() == LCI_OK);
}

/* Receives cost the program no packets until their messages come. */
static void post_more_receives_than_packets(LCI_comp_t queue) {
  int all = LCI_SERVER_NUM_PKTS + 100;
  LCI_mbuffer_t m;
  LCI_request_t r;
  LCI_error_t code;
  int i, good = 0;
  for (i = 0; i < all; ++i) {
    code = LCI_recvmn(LCI_UR_ENDPOINT, LCI_RANK, (LCI_tag_t)(i % 1000), queue, NULL);
    if (code != LCI_OK) break;
  }
  CHECK(i == all);
  all = i;
  for (i = 0; i < all; ++i) {
    m.address = &i;
    m.length = sizeof i;
    while ((code = LCI_sendm(LCI_UR_ENDPOINT, m, LCI_RANK, (LCI_tag_t)(i % 1000))) == LCI_ERR_RETRY)
      LCI_progress(LCI_UR_DEVICE);
    CHECK(code == LCI_OK);
  }
  for (i = 0; i < all; ++i) {
    while (LCI_queue_pop(queue, &r) != LCI_OK) LCI_progress(LCI_UR_DEVICE);
    good += r.flag == LCI_OK && r.data.mbuffer.length == sizeof i && *(int*)r.data.mbuffer.address % 1000 == (int)r.tag;
    CHECK(LCI_mbuffer_free(r.data.mbuffer) == LCI_OK);
  }
  CHECK(good == all);
}

int main(int argc, char** argv) {
  LCI_endpoint_t ep;
  LCI_plist_t plist;
  LCI_comp_t queue;
  int puts;
  if (argc > 1) messages = (size_t)atol(argv[1]);
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCI_plist_create(&plist) == LCI_OK);
  CHECK(LCI_queue_create(LCI_UR_DEVICE, &queue) == LCI_OK);
  CHECK(LCI_plist_set_default_comp(plist, queue) == LCI_OK);
  CHECK(LCI_plist_set_match_type(plist, LCI_MATCH_TAG) == LCI_OK);
  CHECK(LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist) == LCI_OK);
  for (puts = 0; puts < 2; ++puts) {
    if (LCI_RANK == LCI_NUM_PROCESSES - 1) {
      receive_all(queue, ep, puts);
    } else {
      size_t i;
      for (i = 0; i < messages; ++i) put_or_send(ep, puts, i);
    }
    CHECK(LCI_gfence_wait(ep) == LCI_OK);
  }
  post_more_receives_than_packets(queue);
  receives_leave_packets_to_senders(queue, COPIED, 0);
  receives_leave_packets_to_senders(queue, HANDED_OVER, 0);
  receives_leave_packets_to_senders(queue, VECTOR, 1);
  CHECK(LCI_endpoint_free(&ep) == LCI_OK && LCI_plist_free(&plist) == LCI_OK && LCI_queue_free(&queue) == LCI_OK);
  CHECK(LCI_finalize() == LCI_OK);
  printf("rank %d: %lu retries\n", LCI_RANK, (unsigned long)retries);
  return conclude("flood");
}
