/* A target without memory for incoming data: the sender's completion has an error, and later messages arrive. There are
 * two ranks, of which the second one limits its address space. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/layers/v1/check.h"

static const size_t huge = (size_t)3 << 30; /* more than the target may have; never touched, and not transferred */

/* Bytes of address space that the process has. */
static rlim_t used_memory(void) {
  char line[128];
  long pages = 0;
  FILE* f = fopen("/proc/self/statm", "r");
  if (f != NULL && fgets(line, sizeof line, f) != NULL) pages = atol(line);
  if (f != NULL) fclose(f);
  CHECK(pages > 0);
  return (rlim_t)pages * 4096;
}
static void limit_memory(void) {
  struct rlimit limit;
  limit.rlim_cur = limit.rlim_max = used_memory() + ((rlim_t)1 << 29);
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static atomic_int go;
static void* take_first_message(void* result) {
  LCI_error_t code;
  while (!atomic_load(&go)) usleep(100);
  while ((code = LCI_progress(LCI_UR_DEVICE)) == LCI_ERR_RETRY) continue;
  *(LCI_error_t*)result = code;
  return NULL;
}
/* A thread that has not called the library before delivers a message while there is no memory for a moment. */
static void receive_in_new_thread(void) {
  struct rlimit limit, before;
  pthread_t thread;
  LCI_error_t result = LCI_ERR_FATAL;
  LCI_request_t r;
  CHECK(pthread_create(&thread, NULL, take_first_message, &result) == 0);
  usleep(200000); /* the message comes meanwhile */
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  limit = before;
  limit.rlim_cur = used_memory();
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  atomic_store(&go, 1);
  usleep(8000);
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(result == LCI_OK);
  CHECK(LCI_queue_wait(LCI_UR_CQ, &r) == LCI_OK && r.flag == LCI_OK && r.tag == 6);
}

static void send_too_much(LCI_comp_t sync) {
  LCI_lbuffer_t b;
  LCI_iovec_t v;
  LCI_request_t r;
  int i;
  b.segment = LCI_SEGMENT_ALL;
  b.length = huge;
  b.address = mmap(NULL, huge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(b.address != MAP_FAILED);
  memset(&v, 0, sizeof v);
  v.lbuffers = &b;
  v.count = 1;
  for (i = 0; i < 4; ++i) {
    if (i == 0) AGAIN(LCI_putla(LCI_UR_ENDPOINT, b, sync, 1, 1, LCI_DEFAULT_COMP_REMOTE, &b));
    if (i == 1) AGAIN(LCI_putva(LCI_UR_ENDPOINT, v, sync, 1, 2, LCI_DEFAULT_COMP_REMOTE, &b));
    if (i == 2) AGAIN(LCI_sendl(LCI_UR_ENDPOINT, b, 1, 3, sync, &b));
    if (i == 3) AGAIN(LCI_sendv(LCI_UR_ENDPOINT, v, 1, 4, sync, &b));
    CHECK(LCI_sync_wait(sync, &r) == LCI_OK);
    CHECK(r.flag == LCI_ERR_FATAL && r.rank == 1 && r.tag == (LCI_tag_t)(i + 1) && r.user_context == &b);
  }
  munmap(b.address, huge);
  CHECK(LCI_fence_wait(LCI_UR_ENDPOINT) == LCI_OK);
}

static void receive_too_much(LCI_comp_t sync) {
  LCI_lbuffer_t any = {NULL, NULL, 0};
  LCI_iovec_t none;
  LCI_request_t r;
  memset(&none, 0, sizeof none);
  AGAIN(LCI_recvl(LCI_UR_ENDPOINT, any, 0, 3, sync, NULL));
  CHECK(LCI_sync_wait(sync, &r) == LCI_OK && r.flag == LCI_ERR_FATAL && r.rank == 0);
  CHECK(r.data.lbuffer.address == NULL);
  AGAIN(LCI_recvv(LCI_UR_ENDPOINT, none, 0, 4, sync, NULL));
  CHECK(LCI_sync_wait(sync, &r) == LCI_OK && r.flag == LCI_ERR_FATAL && r.rank == 0);
}

int main(void) {
  LCI_comp_t sync;
  LCI_request_t r;
  LCI_lbuffer_t b;
  int small = 5;
  if (LCI_initialize() != LCI_OK) return 1;
  CHECK(LCI_NUM_PROCESSES == 2);
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync) == LCI_OK);
  if (LCI_RANK == 1) limit_memory();
  LCI_barrier(); /* within it rank 1 may get the first message */
  if (LCI_RANK == 1) {
    receive_too_much(sync);
  } else {
    send_too_much(sync);
  }
  if (LCI_RANK == 1) {
    receive_in_new_thread();
  } else {
    LCI_short_t s;
    memset(&s, 1, sizeof s);
    AGAIN(LCI_puts(LCI_UR_ENDPOINT, s, 1, 6, LCI_DEFAULT_COMP_REMOTE));
  }
  /* What fits still arrives. */
  b.segment = LCI_SEGMENT_ALL;
  b.address = &small;
  b.length = sizeof small;
  AGAIN(LCI_putla(LCI_UR_ENDPOINT, b, sync, 1 - LCI_RANK, 5, LCI_DEFAULT_COMP_REMOTE, NULL));
  CHECK(LCI_queue_wait(LCI_UR_CQ, &r) == LCI_OK && r.flag == LCI_OK && r.tag == 5 && r.type == LCI_LONG);
  CHECK(*(int*)r.data.lbuffer.address == 5 && LCI_lbuffer_free(r.data.lbuffer) == LCI_OK);
  CHECK(LCI_sync_wait(sync, &r) == LCI_OK && r.flag == LCI_OK);
  CHECK(LCI_queue_pop(LCI_UR_CQ, &r) == LCI_ERR_RETRY);
  CHECK(LCI_gfence_wait(LCI_UR_ENDPOINT) == LCI_OK);
  CHECK(LCI_sync_free(&sync) == LCI_OK);
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("no_memory");
}
