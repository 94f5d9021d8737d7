/* Global Arrays over ARMCI: linear algebra, ghost cells and groups, each against a serial calculation. Prints "ok", or
 * the first error. */
#include <ga.h>
#include <macdecls.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, nproc;

static void fail(const char* what, double got, double expected) {
  fprintf(stderr, "process %d: %s: %.17g, not %.17g\n", me, what, got, expected);
  GA_Error((char*)"wrong", 1);
}
static void expect(const char* what, double got, double expected) {
  if (!(fabs(got - expected) <= 1e-9 * (1 + fabs(expected)))) fail(what, got, expected);
}

enum { n = 90 };
static double element(int which, int i, int j) { return sin(1.0 + which * 7 + i * 0.3 + j * 0.7) + (i == j ? n : 0); }

static int create(const char* name, int which) {
  int dims[2] = {n, n}, lo[2], hi[2];
  int g = NGA_Create(C_DBL, 2, dims, (char*)name, NULL);
  if (g == 0) fail("NGA_Create", 0, 1);
  NGA_Distribution(g, me, lo, hi);
  if (lo[0] >= 0 && hi[0] >= lo[0]) {
    int ld[1] = {hi[1] - lo[1] + 1};
    double* p = malloc(sizeof(double) * (size_t)(hi[0] - lo[0] + 1) * (size_t)ld[0]);
    for (int i = lo[0]; i <= hi[0]; ++i)
      for (int j = lo[1]; j <= hi[1]; ++j) p[(i - lo[0]) * ld[0] + j - lo[1]] = element(which, i, j);
    NGA_Put(g, lo, hi, p, ld);
    free(p);
  }
  GA_Sync();
  return g;
}

static void check_all(const char* what, int g, double (*expected)(int, int)) {
  int lo[2] = {0, 0}, hi[2] = {n - 1, n - 1}, ld[1] = {n};
  double* p = malloc(sizeof(double) * n * n);
  NGA_Get(g, lo, hi, p, ld);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) expect(what, p[i * n + j], expected(i, j));
  free(p);
  GA_Sync();
}

static double product(int i, int j) {
  double sum = 0;
  for (int k = 0; k < n; ++k) sum += element(1, i, k) * element(2, k, j);
  return sum;
}
static double transposed(int i, int j) { return element(1, j, i); }
static double combined(int i, int j) { return 2 * element(1, i, j) + 3 * element(2, i, j); }

static void algebra(void) {
  int a = create("a", 1), b = create("b", 2), c = create("c", 3);
  GA_Dgemm('n', 'n', n, n, n, 1.0, a, b, 0.0, c);
  check_all("GA_Dgemm", c, product);
  GA_Transpose(a, c);
  check_all("GA_Transpose", c, transposed);
  double two = 2, three = 3;
  GA_Add(&two, a, &three, b, c);
  check_all("GA_Add", c, combined);
  double dot = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) dot += element(1, i, j) * element(2, i, j);
  expect("GA_Ddot", GA_Ddot(a, b), dot);

  /* The solution of a system for a known right side. For the solver, as for Fortran, rows are columns: so the matrix is
   * the transposed one. */
  int dims[2] = {1, n}, ld[1] = {n}, lo[2] = {0, 0}, hi[2] = {0, n - 1};
  int x = NGA_Create(C_DBL, 2, dims, (char*)"x", NULL);
  double right[n];
  for (int i = 0; i < n; ++i) {
    right[i] = 0;
    for (int k = 0; k < n; ++k) right[i] += element(1, k, i) * (k + 1);
  }
  if (me == 0) NGA_Put(x, lo, hi, right, ld);
  GA_Sync();
  GA_Lu_solve('n', a, x);
  NGA_Get(x, lo, hi, right, ld);
  for (int i = 0; i < n; ++i) expect("GA_Lu_solve", right[i], i + 1);
  GA_Sync();
  GA_Destroy(x);

  /* A symmetric positive definite matrix times its inverse. */
  GA_Dgemm('t', 'n', n, n, n, 1.0, a, a, 0.0, b);
  GA_Copy(b, c);
  if (GA_Spd_invert(c) != 0) fail("GA_Spd_invert", 1, 0);
  int unit = create("unit", 4);
  GA_Dgemm('n', 'n', n, n, n, 1.0, b, c, 0.0, unit);
  int from[2] = {0, 0}, to[2] = {n - 1, n - 1}, rows[1] = {n};
  double* p = malloc(sizeof(double) * n * n);
  NGA_Get(unit, from, to, p, rows);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) expect("a matrix times its inverse", p[i * n + j], i == j ? 1 : 0);
  free(p);
  GA_Sync();
  GA_Destroy(unit);
  GA_Destroy(a);
  GA_Destroy(b);
  GA_Destroy(c);
}

static void ghosts(void) {
  int dims[2] = {40, 30}, width[2] = {2, 1}, lo[2], hi[2], ld[1], with[2];
  int g = NGA_Create_ghosts(C_INT, 2, dims, width, (char*)"ghosts", NULL);
  NGA_Distribution(g, me, lo, hi);
  int lo_all[2] = {0, 0}, hi_all[2] = {39, 29}, ld_all[1] = {30};
  int* all = malloc(sizeof(int) * 40 * 30);
  for (int i = 0; i < 40 * 30; ++i) all[i] = i;
  if (me == 0) NGA_Put(g, lo_all, hi_all, all, ld_all);
  GA_Sync();
  GA_Update_ghosts(g);
  if (lo[0] >= 0 && hi[0] >= lo[0]) {
    int* p;
    NGA_Access_ghosts(g, with, &p, ld);
    for (int i = lo[0] - 2; i <= hi[0] + 2; ++i)
      for (int j = lo[1] - 1; j <= hi[1] + 1; ++j)
        expect("a ghost cell", p[(i - lo[0] + 2) * ld[0] + j - lo[1] + 1], (i + 40) % 40 * 30 + (j + 30) % 30);
    NGA_Release(g, lo, hi);
  }
  GA_Sync();
  free(all);
  GA_Destroy(g);
}

/* Two groups work at the same time, each on an array of its own. */
static void groups(void) {
  int half = (nproc + 1) / 2, mine = me < half ? 0 : 1;
  int* list = malloc(sizeof(int) * (size_t)nproc);
  const int first = mine == 0 ? 0 : half, count = mine == 0 ? half : nproc - half;
  for (int i = 0; i < count; ++i) list[i] = first + i;
  int p = GA_Pgroup_create(list, count);
  GA_Pgroup_set_default(p);
  if (GA_Nnodes() != count || GA_Nodeid() != me - first) fail("the size of a group", GA_Nnodes(), count);
  int dims[2] = {20, 20}, lo[2] = {0, 0}, hi[2] = {19, 19}, ld[1] = {20};
  int g = NGA_Create(C_DBL, 2, dims, (char*)"of a group", NULL);
  double one = 1, alpha = 1, buffer[400];
  GA_Zero(g);
  for (int i = 0; i < 400; ++i) buffer[i] = 1 + mine;
  for (int i = 0; i < 10; ++i) NGA_Acc(g, lo, hi, buffer, ld, &alpha);
  GA_Sync();
  NGA_Get(g, lo, hi, buffer, ld);
  for (int i = 0; i < 400; ++i) expect("a sum of a group", buffer[i], 10.0 * count * (1 + mine));
  GA_Dgop(&one, 1, (char*)"+");
  expect("GA_Dgop of a group", one, count);
  GA_Sync();
  GA_Destroy(g);
  GA_Pgroup_set_default(GA_Pgroup_get_world());
  GA_Sync();
  GA_Pgroup_destroy(p);
  free(list);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  GA_Initialize();
  if (!MA_init(C_DBL, 1000000, 1000000)) GA_Error((char*)"MA_init failed", 1);
  me = GA_Nodeid();
  nproc = GA_Nnodes();
  algebra();
  ghosts();
  groups();
  GA_Sync();
  if (me == 0) printf("ok\n");
  GA_Terminate();
  MPI_Finalize();
  return 0;
}
