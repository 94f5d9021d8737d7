/* bench/start_time for LCI v1.7: measures the time from the launcher's exec to the first message, and memory. Does the
 * same work and prints the same lines: rank 0 sends a word to a handler of the last rank, which replies; then all ranks
 * enter a barrier. */
#define _POSIX_C_SOURCE 200809L
#include <lci.h>
#include <string.h>
#include <time.h>

static volatile int arrived = 0;
static void on_message(LCI_request_t request) {
  (void)request;
  arrived = 1;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static long resident_kb(void) {
  long kb = -1;
  char line[256];
  FILE* f = fopen("/proc/self/status", "r");
  if (f == NULL) return kb;
  while (fgets(line, sizeof line, f) != NULL)
    if (sscanf(line, "VmRSS: %ld kB", &kb) == 1) break;
  fclose(f);
  return kb;
}

static void send_to(LCI_endpoint_t ep, int rank) {
  LCI_short_t word = {{1}};
  while (LCI_puts(ep, word, rank, 0, LCI_DEFAULT_COMP_REMOTE) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
}

int main(void) {
  const double main_ms = now_ms();
  const char* const text = getenv("START_TIME_NS");
  const double start_ms = text != NULL ? atof(text) * 1e-6 : main_ms;
  const long before_kb = resident_kb();
  double init_ms, barrier_ms, message_ms = -1;
  long after_kb;
  int last;
  LCI_comp_t handler;
  LCI_plist_t plist;
  LCI_endpoint_t ep;
  if (LCI_initialize() != LCI_OK) return 1;
  init_ms = now_ms();
  after_kb = resident_kb();
  last = LCI_NUM_PROCESSES - 1;
  LCI_handler_create(LCI_UR_DEVICE, on_message, &handler);
  LCI_plist_create(&plist);
  LCI_plist_set_comp_type(plist, LCI_PORT_MESSAGE, LCI_COMPLETION_HANDLER);
  LCI_plist_set_default_comp(plist, handler);
  if (LCI_endpoint_init(&ep, LCI_UR_DEVICE, plist) != LCI_OK) return 1;
  LCI_plist_free(&plist);
  if (LCI_RANK == 0) send_to(ep, last);
  if (LCI_RANK == 0 || LCI_RANK == last) {
    while (!arrived) LCI_progress(LCI_UR_DEVICE);
    message_ms = now_ms();
    if (LCI_RANK == last && LCI_RANK != 0) send_to(ep, 0);
  }
  LCI_barrier();
  barrier_ms = now_ms();
  printf(
      "{\"rank\": %d, \"ranks\": %d, \"main_ms\": %.3f, \"init_ms\": %.3f, \"message_ms\": %.3f, \"barrier_ms\": %.3f, "
      "\"rss_before_kb\": %ld, \"rss_kb\": %ld}\n",
      LCI_RANK, last + 1, main_ms - start_ms, init_ms - start_ms, message_ms < 0 ? -1 : message_ms - start_ms,
      barrier_ms - start_ms, before_kb, after_kb);
  fflush(stdout);
  return LCI_finalize() != LCI_OK;
}
