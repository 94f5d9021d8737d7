/* A runtime of tasks with small stacks: each task makes its calls on 32 KiB, above a page that can't be accessed, and
 * continues on whichever of two threads takes it next. */
#define _GNU_SOURCE /* for ucontext and anonymous memory in C11 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/layers/v1/check.h"

enum { n_tasks = 12, n_rounds = 20, stack_bytes = 32768, guard_bytes = 4096, large = 100000 };

struct task {
  ucontext_t context, *thread;
  int number, done;
  char *from, *to;
};

static struct task tasks[n_tasks];
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER, progress_mutex = PTHREAD_MUTEX_INITIALIZER;
static int first, n_ready, ready[n_tasks], n_done; /* under queue_mutex */
static struct task* starting;

static void yield(struct task* t) { swapcontext(&t->context, t->thread); }

static LCI_request_t result_of(struct task* t, LCI_comp_t sync) {
  LCI_request_t request;
  while (LCI_sync_test(sync, &request) == LCI_ERR_RETRY) yield(t);
  CHECK(request.flag == LCI_OK);
  return request;
}

#define YIELDING(call)                               \
  while ((code = (call)) == LCI_ERR_RETRY) yield(t); \
  CHECK(code == LCI_OK)

static void exchange(struct task* t, LCI_comp_t sync, LCI_comp_t sent, LCI_tag_t tag) {
  const int right = (LCI_RANK + 1) % LCI_NUM_PROCESSES, left = (LCI_RANK + LCI_NUM_PROCESSES - 1) % LCI_NUM_PROCESSES;
  LCI_error_t code;
  LCI_request_t request;
  LCI_short_t number = {{0}};
  LCI_mbuffer_t medium_from = {t->from, 4000}, medium_to = {t->to, 4000};
  LCI_lbuffer_t long_from = {LCI_SEGMENT_ALL, t->from, large}, long_to = {LCI_SEGMENT_ALL, t->to, large};
  number.val[0] = (char)t->number;
  YIELDING(LCI_sends(LCI_UR_ENDPOINT, number, right, tag));
  YIELDING(LCI_recvs(LCI_UR_ENDPOINT, left, tag, sync, NULL));
  request = result_of(t, sync);
  CHECK(request.data.immediate.val[0] == t->number);
  fill_pattern(t->from, large, LCI_RANK, tag);
  memset(t->to, 0, large);
  YIELDING(LCI_recvm(LCI_UR_ENDPOINT, medium_to, left, tag, sync, NULL));
  YIELDING(LCI_sendm(LCI_UR_ENDPOINT, medium_from, right, tag));
  result_of(t, sync);
  CHECK(has_pattern(t->to, 4000, left, tag));
  memset(t->to, 0, large);
  YIELDING(LCI_sendl(LCI_UR_ENDPOINT, long_from, right, tag, sent, NULL));
  YIELDING(LCI_recvl(LCI_UR_ENDPOINT, long_to, left, tag, sync, NULL));
  result_of(t, sync);
  CHECK(has_pattern(t->to, large, left, tag));
  request = result_of(t, sent);
  CHECK(request.type == LCI_LONG && request.data.lbuffer.address == t->from);
}

static void run_task(void) {
  struct task* t = starting;
  LCI_comp_t sync, sent;
  int round;
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sync) == LCI_OK);
  CHECK(LCI_sync_create(LCI_UR_DEVICE, 1, &sent) == LCI_OK);
  for (round = 0; round < n_rounds; ++round) exchange(t, sync, sent, (LCI_tag_t)(t->number * n_rounds + round));
  CHECK(LCI_sync_free(&sync) == LCI_OK && LCI_sync_free(&sent) == LCI_OK);
  t->done = 1;
  yield(t);
}

static void* worker(void* unused) {
  ucontext_t here;
  for (;;) {
    struct task* t = NULL;
    pthread_mutex_lock(&queue_mutex);
    if (n_done == n_tasks) break;
    if (n_ready > 0) {
      t = &tasks[ready[first]];
      first = (first + 1) % n_tasks;
      --n_ready;
    }
    pthread_mutex_unlock(&queue_mutex);
    if (t != NULL) {
      t->thread = &here;
      swapcontext(&here, &t->context);
      pthread_mutex_lock(&queue_mutex);
      if (t->done)
        ++n_done;
      else
        ready[(first + n_ready++) % n_tasks] = t->number;
      pthread_mutex_unlock(&queue_mutex);
    }
    if (pthread_mutex_trylock(&progress_mutex) == 0) { /* one thread at a time, as the specification asks */
      LCI_progress(LCI_UR_DEVICE);
      pthread_mutex_unlock(&progress_mutex);
    }
  }
  pthread_mutex_unlock(&queue_mutex);
  return unused;
}

static void start(struct task* t, int number, ucontext_t* here) {
  char* memory = mmap(NULL, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && mprotect(memory, guard_bytes, PROT_NONE) == 0);
  t->number = number;
  t->from = malloc(large);
  t->to = malloc(large);
  t->thread = here;
  getcontext(&t->context);
  t->context.uc_stack.ss_sp = memory + guard_bytes;
  t->context.uc_stack.ss_size = stack_bytes;
  t->context.uc_link = NULL;
  makecontext(&t->context, run_task, 0);
}

int main(void) {
  pthread_t other;
  ucontext_t here;
  int i;
  CHECK(LCI_initialize() == LCI_OK);
  for (i = 0; i < n_tasks; ++i) {
    start(&tasks[i], i, &here);
    starting = &tasks[i];
    swapcontext(&here, &tasks[i].context); /* until its first yield(), so that it has read `starting` */
    ready[n_ready++] = i;
  }
  CHECK(pthread_create(&other, NULL, worker, NULL) == 0);
  worker(NULL);
  pthread_join(other, NULL);
  LCI_barrier();
  for (i = 0; i < n_tasks; ++i) {
    free(tasks[i].from);
    free(tasks[i].to);
    munmap((char*)tasks[i].context.uc_stack.ss_sp - guard_bytes, guard_bytes + stack_bytes);
  }
  CHECK(LCI_finalize() == LCI_OK);
  return conclude("fibers");
}
