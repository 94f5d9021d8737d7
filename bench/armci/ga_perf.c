/* Measures Global Arrays over any ARMCI: the product of matrices, and transfers of random patches. Two processes or
 * more. Rank 0 prints a line for each figure: its name, the median of some rounds, a unit. */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 1024, patches = 400, most = 128, rounds = 5 };

static int me;
static double* buffer;
static int array;

static unsigned long state;
static int up_to(int largest) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((state >> 33) % (unsigned long)(largest + 1));
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

typedef void (*work)(void);
static double seconds_of(work f) {
  double times[rounds];
  f();
  for (int i = 0; i < rounds; ++i) {
    GA_Sync();
    const double begin = MPI_Wtime();
    f();
    GA_Sync();
    times[i] = MPI_Wtime() - begin;
  }
  qsort(times, rounds, sizeof times[0], by_size);
  return times[rounds / 2];
}

static int a, b, c;
static void multiply(void) { GA_Dgemm('n', 'n', n, n, n, 1.0, a, b, 0.0, c); }

/* Chooses a random patch. All processes transfer patches at the same time. */
static void some_patch(int lo[2], int hi[2], int* ld) {
  for (int i = 0; i < 2; ++i) {
    const int extent = 1 + up_to(most - 1);
    lo[i] = up_to(n - extent);
    hi[i] = lo[i] + extent - 1;
  }
  *ld = hi[1] - lo[1] + 1;
}
static void put(void) {
  int lo[2], hi[2], ld;
  state = (unsigned long)me;
  for (int i = 0; i < patches; ++i) some_patch(lo, hi, &ld), NGA_Put(array, lo, hi, buffer, &ld);
}
static void get(void) {
  int lo[2], hi[2], ld;
  state = (unsigned long)me;
  for (int i = 0; i < patches; ++i) some_patch(lo, hi, &ld), NGA_Get(array, lo, hi, buffer, &ld);
}
static void add(void) {
  int lo[2], hi[2], ld;
  double one = 1;
  state = (unsigned long)me;
  for (int i = 0; i < patches; ++i) some_patch(lo, hi, &ld), NGA_Acc(array, lo, hi, buffer, &ld, &one);
}

static void report(const char* name, work f, double of, const char* unit) {
  const double t = seconds_of(f);
  if (me == 0) printf("%s: %.5g %s\n", name, of / t, unit);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  GA_Initialize();
  MA_init(C_DBL, 4000000, 4000000);
  me = GA_Nodeid();
  int extent[2] = {n, n};
  double value = 0.5;
  a = NGA_Create(C_DBL, 2, extent, (char*)"a", NULL);
  b = GA_Duplicate(a, (char*)"b");
  c = GA_Duplicate(a, (char*)"c");
  array = GA_Duplicate(a, (char*)"array");
  GA_Fill(a, &value);
  GA_Fill(b, &value);
  GA_Zero(array);
  buffer = malloc(most * most * sizeof *buffer);
  for (int i = 0; i < most * most; ++i) buffer[i] = i;
  report("dgemm", multiply, 2e-9 * n * n * n, "GFLOP/s");
  report("patch put", put, 1e-3 * patches * GA_Nnodes(), "k/s");
  report("patch get", get, 1e-3 * patches * GA_Nnodes(), "k/s");
  report("patch acc", add, 1e-3 * patches * GA_Nnodes(), "k/s");
  fflush(stdout);
  GA_Terminate();
  MPI_Finalize();
  return 0;
}
