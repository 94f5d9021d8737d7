/* Global Arrays over ARMCI: arrays of one to seven dimensions, random patches against a serial model that each process
 * has. Written against Debian's libga-mpich.a; links with any ARMCI. Prints "ok", or the first error. */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, nproc;

static void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "process %d: ", me);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  GA_Error((char*)"wrong", 1);
}

/* The same numbers at all processes, so that all know who does what. */
static unsigned long state = 12345;
static int up_to(int most) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((state >> 33) % (unsigned long)(most + 1));
}

static const int sizes[8][7] = {{0},           {3000},          {60, 70},           {14, 15, 16},
                                {7, 8, 9, 10}, {5, 6, 5, 6, 5}, {4, 4, 5, 4, 3, 4}, {3, 4, 3, 3, 3, 3, 4}};

/* A random patch, its number of elements, and the strides of a buffer that is larger than it. */
static long some_patch(int dims, const int* extent, int* lo, int* hi, int* ld) {
  long n = 1;
  for (int i = 0; i < dims; ++i) {
    lo[i] = up_to(extent[i] - 1);
    hi[i] = lo[i] + up_to(extent[i] - 1 - lo[i]);
    if (i > 0) ld[i - 1] = hi[i] - lo[i] + 1 + up_to(2);
    n *= i == 0 ? hi[i] - lo[i] + 1 : ld[i - 1];
  }
  return n;
}

/* Calls for each element of a patch: where it is in the whole array, and in the buffer. */
typedef void (*visit)(double* whole, double* buffer, double factor);
static void store(double* whole, double* buffer, double factor) {
  (void)factor;
  *whole = *buffer;
}
static void add(double* whole, double* buffer, double factor) { *whole += factor * *buffer; }
static void compare(double* whole, double* buffer, double factor) {
  if (*whole != *buffer) fail("a get has %g, not %g (dimension %d)", *buffer, *whole, (int)factor);
}
static void each(int dims, const int* extent, const int* lo, const int* hi, const int* ld, double* whole,
                 double* buffer, visit f, double factor) {
  int at[7];
  memcpy(at, lo, sizeof(int) * (size_t)dims);
  for (;;) {
    long w = 0, b = 0;
    for (int i = 0; i < dims; ++i) {
      w = w * extent[i] + at[i];
      b = b * (i == 0 ? 1 : ld[i - 1]) + at[i] - lo[i];
    }
    f(whole + w, buffer + b, factor);
    int i = dims - 1;
    while (i >= 0 && ++at[i] > hi[i]) at[i] = lo[i], --i;
    if (i < 0) return;
  }
}

static void patches(int dims) {
  int extent[7], lo[7], hi[7], ld[7];
  long all = 1;
  memcpy(extent, sizes[dims], sizeof extent);
  for (int i = 0; i < dims; ++i) all *= extent[i];
  double* model = calloc((size_t)all, sizeof(double));
  int g = NGA_Create(C_DBL, dims, extent, (char*)"patches", NULL);
  if (g == 0) fail("NGA_Create of %d dimensions failed", dims);
  GA_Zero(g);
  for (int round = 0; round < 60; ++round) {
    const long n = some_patch(dims, extent, lo, hi, ld);
    const int who = up_to(nproc - 1), what = up_to(3);
    double* buffer = malloc(sizeof(double) * (size_t)n);
    for (long i = 0; i < n; ++i) buffer[i] = up_to(1000);
    double alpha = 1 + up_to(3);
    if (what == 0) { /* one process puts */
      if (me == who) NGA_Put(g, lo, hi, buffer, ld);
      each(dims, extent, lo, hi, ld, model, buffer, store, 0);
    } else if (what == 1) { /* all add to the same patch at once */
      NGA_Acc(g, lo, hi, buffer, ld, &alpha);
      each(dims, extent, lo, hi, ld, model, buffer, add, alpha * nproc);
    } else if (what == 2) { /* non-blocking, and the last of two puts to a patch counts */
      if (me == who) {
        ga_nbhdl_t first, second;
        double* other = malloc(sizeof(double) * (size_t)n);
        for (long i = 0; i < n; ++i) other[i] = -1;
        NGA_NbPut(g, lo, hi, other, ld, &first);
        NGA_NbPut(g, lo, hi, buffer, ld, &second);
        NGA_NbWait(&first);
        NGA_NbWait(&second);
        free(other);
      }
      each(dims, extent, lo, hi, ld, model, buffer, store, 0);
    }
    GA_Sync();
    memset(buffer, 0, sizeof(double) * (size_t)n);
    if (what == 3) {
      ga_nbhdl_t h;
      NGA_NbGet(g, lo, hi, buffer, ld, &h);
      NGA_NbWait(&h);
    } else {
      NGA_Get(g, lo, hi, buffer, ld);
    }
    each(dims, extent, lo, hi, ld, model, buffer, compare, dims);
    GA_Sync();
    free(buffer);
  }
  GA_Destroy(g);
  free(model);
}

static void scattered(void) {
  int extent[2] = {50, 60};
  enum { n = 200 };
  int g = NGA_Create(C_DBL, 2, extent, (char*)"scattered", NULL);
  double model[50][60] = {{0}}, values[n];
  int* where[n];
  int places[n][2];
  GA_Zero(g);
  for (int round = 0; round < 5; ++round) {
    char used[50][60] = {{0}};
    for (int i = 0; i < n; ++i) {
      do {
        places[i][0] = up_to(49);
        places[i][1] = up_to(59);
      } while (used[places[i][0]][places[i][1]]);
      used[places[i][0]][places[i][1]] = 1;
      where[i] = places[i];
      values[i] = up_to(999);
    }
    if (round % 2 == 0) {
      if (me == round % nproc) NGA_Scatter(g, values, where, n);
      for (int i = 0; i < n; ++i) model[places[i][0]][places[i][1]] = values[i];
    } else {
      double alpha = 2;
      NGA_Scatter_acc(g, values, where, n, &alpha);
      for (int i = 0; i < n; ++i) model[places[i][0]][places[i][1]] += alpha * nproc * values[i];
    }
    GA_Sync();
    memset(values, 0, sizeof values);
    NGA_Gather(g, values, where, n);
    for (int i = 0; i < n; ++i)
      if (values[i] != model[places[i][0]][places[i][1]])
        fail("gather has %g, not %g", values[i], model[places[i][0]][places[i][1]]);
    GA_Sync();
  }
  GA_Destroy(g);
}

static void counters(void) {
  int one = 4, at[1] = {2};
  enum { each_adds = 500 };
  int g = NGA_Create(C_LONG, 1, &one, (char*)"counter", NULL);
  GA_Zero(g);
  long last = -1, value;
  for (int i = 0; i < each_adds; ++i) {
    value = NGA_Read_inc(g, at, 3);
    if (value <= last || value % 3 != 0) fail("NGA_Read_inc returned %ld after %ld", value, last);
    last = value;
  }
  GA_Sync();
  NGA_Get(g, at, at, &value, NULL);
  if (value != 3l * each_adds * nproc) fail("the counter is %ld, not %ld", value, 3l * each_adds * nproc);
  GA_Destroy(g);
}

static void mutexes(void) {
  int n = 3, lo[1] = {1}, hi[1] = {1};
  int g = NGA_Create(C_DBL, 1, &n, (char*)"locked", NULL);
  GA_Zero(g);
  if (!GA_Create_mutexes(2)) fail("GA_Create_mutexes failed");
  for (int i = 0; i < 100; ++i) {
    double value;
    GA_Lock(1);
    NGA_Get(g, lo, hi, &value, NULL);
    value += 1;
    NGA_Put(g, lo, hi, &value, NULL);
    GA_Init_fence();
    GA_Fence();
    GA_Unlock(1);
  }
  GA_Sync();
  double value;
  NGA_Get(g, lo, hi, &value, NULL);
  if (value != 100.0 * nproc) fail("under a mutex there are %g of %d", value, 100 * nproc);
  if (!GA_Destroy_mutexes()) fail("GA_Destroy_mutexes failed");
  GA_Destroy(g);
}

/* A put, a fence, a put of a flag: who sees the flag sees the data. */
static void fences(void) {
  int n[2] = {nproc, 1000}, lo[2], hi[2], ld[1] = {1000};
  double data[1000];
  int g = NGA_Create(C_DBL, 2, n, (char*)"fenced", NULL);
  GA_Zero(g);
  const int to = (me + 1) % nproc;
  for (int i = 0; i < 1000; ++i) data[i] = me + i;
  lo[0] = hi[0] = to;
  lo[1] = 0;
  hi[1] = 998;
  GA_Init_fence();
  NGA_Put(g, lo, hi, data, ld);
  GA_Fence();
  double flag = 1;
  lo[1] = hi[1] = 999;
  NGA_Put(g, lo, hi, &flag, ld);
  lo[0] = hi[0] = me;
  flag = 0;
  while (flag == 0) NGA_Get(g, lo, hi, &flag, ld);
  lo[1] = 0;
  hi[1] = 998;
  NGA_Get(g, lo, hi, data, ld);
  const int from = (me + nproc - 1) % nproc;
  for (int i = 0; i < 999; ++i)
    if (data[i] != from + i) fail("after the flag, element %d is %g", i, data[i]);
  GA_Sync();
  GA_Destroy(g);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  GA_Initialize();
  if (!MA_init(C_DBL, 1000000, 1000000)) GA_Error((char*)"MA_init failed", 1);
  me = GA_Nodeid();
  nproc = GA_Nnodes();
  for (int dims = 1; dims <= 7; ++dims) patches(dims);
  scattered();
  counters();
  mutexes();
  fences();
  GA_Sync();
  if (me == 0) printf("ok\n");
  GA_Terminate();
  MPI_Finalize();
  return 0;
}
