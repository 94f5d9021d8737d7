/* A program with a timer, whose signals arrive every 2 ms: no call returns before its time or much later, and calls
 * work as without signals. Written from the description of the interface alone. */
#include <mercury.h>
#include <mercury_handler.h>
#include <mercury_macros.h>
#include <mercury_thread_condition.h>
#include <mercury_time.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

enum { timeout = 200, latest = 5000 }; /* ms; the machine may be busy */

static int failed;
static volatile sig_atomic_t n_signals;
static hg_handle_t kept;

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      failed = 1;                                                              \
      fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
    }                                                                          \
  } while (0)

static void on_signal(int number) {
  (void)number;
  ++n_signals;
}

static hg_time_t now(void) {
  hg_time_t time;
  hg_time_get_current(&time);
  return time;
}

static void check_time_since(hg_time_t start, const char* call) {
  const double ms = 1000 * hg_time_to_double(hg_time_subtract(now(), start));
  if (ms > timeout - 5 && ms < latest) return;
  failed = 1;
  fprintf(stderr, "%s took %.1f ms instead of %d\n", call, ms, timeout);
}

/* Makes the call, whose result is to be `result`, and checks how long it takes. */
#define TIMED(call, result)          \
  do {                               \
    const hg_time_t start_ = now();  \
    CHECK((call) == (result));       \
    check_time_since(start_, #call); \
  } while (0)

static hg_return_t keep(hg_handle_t handle) {
  kept = handle;
  return HG_SUCCESS;
}

int main(void) {
  const struct itimerval every = {{0, 2000}, {0, 2000}};
  struct sigaction action;
  na_class_t* network;
  na_context_t* context;
  na_addr_t self;
  hg_request_t request;
  hg_status_t status = 1;
  hg_thread_mutex_t mutex;
  hg_thread_cond_t condition;
  hg_id_t id;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal; /* without SA_RESTART */
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &every, NULL);

  network = NA_Initialize("tcp://127.0.0.1:0", NA_TRUE);
  context = NA_Context_create(network);
  CHECK(network != NULL && context != NULL && HG_Init(network) == HG_SUCCESS);
  CHECK(NA_Addr_self(network, &self) == NA_SUCCESS);
  id = MERCURY_REGISTER("keep", void, void, keep);

  TIMED(NA_Progress(network, context, timeout), NA_TIMEOUT);
  TIMED(NA_Trigger(context, timeout, 1, NULL), NA_TIMEOUT);
  TIMED(HG_Handler_process(timeout, &status), HG_SUCCESS);
  CHECK(status == 0);
  CHECK(HG_Forward(self, id, NULL, NULL, &request) == HG_SUCCESS);
  while (kept == HG_HANDLE_NULL) CHECK(HG_Handler_process(timeout, &status) == HG_SUCCESS);
  TIMED(HG_Wait(request, timeout, &status), HG_SUCCESS);
  CHECK(status == 0);
  TIMED(HG_Wait_all(1, &request, timeout, &status), HG_SUCCESS);
  CHECK(status == 0);
  CHECK(HG_Handler_start_output(kept, NULL) == HG_SUCCESS && HG_Handler_free(kept) == HG_SUCCESS);
  CHECK(HG_Wait(request, HG_MAX_IDLE_TIME, &status) == HG_SUCCESS && status != 0);
  CHECK(HG_Request_free(request) == HG_SUCCESS);

  hg_thread_mutex_init(&mutex);
  hg_thread_cond_init(&condition);
  hg_thread_mutex_lock(&mutex);
  TIMED(hg_thread_cond_timedwait(&condition, &mutex, timeout), HG_UTIL_FAIL);
  hg_thread_mutex_unlock(&mutex);
  hg_thread_cond_destroy(&condition);
  hg_thread_mutex_destroy(&mutex);

  CHECK(NA_Addr_free(network, self) == NA_SUCCESS && NA_Context_destroy(network, context) == NA_SUCCESS);
  CHECK(HG_Finalize() == HG_SUCCESS && NA_Finalize(network) == NA_SUCCESS);
  CHECK(n_signals > 50);
  printf("cases: %d passed, %d failed, 0 skipped\n", !failed, failed);
  return failed;
}
