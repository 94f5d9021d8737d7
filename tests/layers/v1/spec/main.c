/* spec [-t THREADS] [-w] [CHAPTER...]: all chapters, or those named; -w: whole products instead of parts. */
#include "tests/layers/v1/spec/spec.h"

static const struct chapter {
  const char* name;
  void (*run)(void);
  int with_workers; /* runs on all threads */
} chapters[] = {
    {"limits", limits, 0},     {"devices", devices, 0},         {"endpoints", endpoints, 0},
    {"memory", memory, 0},     {"queues", queues, 0},           {"synchronizers", synchronizers, 0},
    {"handlers", handlers, 0}, {"plists", plists, 0},           {"progress", progressing, 0},
    {"fences", fences, 0},     {"matching", matching, 0},       {"back_pressure", back_pressure, 0},
    {"extras", extras, 0},     {"collectives", collectives, 0}, {"twosided", twosided, 1},
    {"onesided", onesided, 1}, {"iovecs", iovecs, 1},           {"bursts", bursts, 1},
};
enum { CHAPTERS = sizeof chapters / sizeof *chapters };

static int is_named(const char* name, int argc, char** argv, int first) {
  int i;
  for (i = first; i < argc; ++i)
    if (strcmp(argv[i], name) == 0) return 1;
  return first == argc;
}

int main(int argc, char** argv) {
  int threads = 1, first = 1, i, ran = 0;
  if (first + 1 < argc && strcmp(argv[first], "-t") == 0) {
    threads = atoi(argv[first + 1]);
    first += 2;
  }
  if (first < argc && strcmp(argv[first], "-w") == 0) {
    whole = 1;
    ++first;
  }
  if (threads < 1 || threads > (RANKS_ARE_THREADS ? 1 : MAX_THREADS)) return 2;
  environment_before();
  CHECK_OK(LCI_initialize());
  environment();
  for (i = 0; i < CHAPTERS; ++i) {
    double start = seconds_now();
    /* With several threads, only what is made for them. */
    if (!is_named(chapters[i].name, argc, argv, first) || (threads > 1 && !chapters[i].with_workers)) continue;
    if (chapters[i].with_workers && worker_count == 0) open_workers(threads);
    case_is("start of %s", chapters[i].name);
    chapters[i].run();
    CHECK_OK(LCI_barrier());
    ++ran;
    if (LCI_RANK == 0) printf("%s: %d checks, %.2f s\n", chapters[i].name, checks_done, seconds_now() - start);
    fflush(stdout);
  }
  if (worker_count > 0) close_workers();
  CHECK(ran > 0);
  CHECK_OK(LCI_barrier());
  {
    const int rank = LCI_RANK;
    environment_after();
    printf("spec: rank %d: %d checks, %d failed\n", rank, checks_done, checks_failed);
  }
  printf("cases: %d passed, %d failed, 0 skipped\n", checks_failed == 0, checks_failed != 0);
  return checks_failed != 0;
}
