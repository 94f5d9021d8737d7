/* Product of matrices with dynamic tasks: C = A B, of tiles. A task is a part of one tile of C; who is free takes the
 * next one, by ARMCI_Rmw on a counter. Tiles of A and B come by ARMCI_NbGetS, the next pair while the present one is
 * multiplied; what a task has computed is added to C by ARMCI_AccS.
 *
 *   lcirun -n 2 armci_dgemm [TILES]
 *
 * The numbers are small integers, so the result must equal that of a serial product. */
#include <armci.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { tile = 48, parts = 2 };

static int me, nproc, tiles, n;

/* Rows of tiles go round: row t is at process t % nproc. */
typedef struct {
  double** at;
} matrix;
static matrix create(void) {
  matrix m = {malloc(sizeof(double*) * (size_t)nproc)};
  const size_t rows = (size_t)((tiles + nproc - 1) / nproc) * tile;
  if (ARMCI_Malloc((void**)m.at, (armci_size_t)(rows * (size_t)n * sizeof(double))) != 0)
    ARMCI_Error("no memory for a matrix", 1);
  memset(m.at[me], 0, rows * (size_t)n * sizeof(double));
  return m;
}
static void destroy(matrix m) {
  ARMCI_Free(m.at[me]);
  free(m.at);
}
static int owner(int i) { return i % nproc; }
static double* place(matrix m, int i, int j) {
  return m.at[owner(i)] + (size_t)(i / nproc) * tile * (size_t)n + (size_t)j * tile;
}
static double a_value(int row, int column) { return (row * 3 + column * 5) % 7 - 3; }
static double b_value(int row, int column) { return (row * 2 + column * 11) % 5 - 2; }

static int next_task(long* counter) {
  long task;
  ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &task, counter, 1, 0);
  return (int)task;
}

static void begin_get(matrix m, int i, int j, double* buffer, armci_hdl_t* handle) {
  int there[1] = {n * (int)sizeof(double)}, here[1] = {tile * (int)sizeof(double)};
  int count[2] = {tile * (int)sizeof(double), tile};
  ARMCI_INIT_HANDLE(handle);
  ARMCI_NbGetS(place(m, i, j), there, buffer, here, count, 1, owner(i), handle);
}

static void multiply_tile(const double* a, const double* b, double* c) {
  for (int i = 0; i < tile; ++i)
    for (int k = 0; k < tile; ++k)
      for (int j = 0; j < tile; ++j) c[i * tile + j] += a[i * tile + k] * b[k * tile + j];
}

static void do_task(int task, matrix a, matrix b, matrix c, double* buffers) {
  const int part = task % parts, i = task / parts / tiles, j = task / parts % tiles;
  const int first = tiles * part / parts, last = tiles * (part + 1) / parts;
  if (first == last) return;
  const size_t area = tile * tile;
  double *const sum = buffers, *const got = buffers + area;
  armci_hdl_t handles[2][2];
  memset(sum, 0, area * sizeof(double));
  begin_get(a, i, first, got, &handles[0][0]);
  begin_get(b, first, j, got + area, &handles[0][1]);
  for (int k = first; k < last; ++k) {
    const int now = (k - first) % 2, next = 1 - now;
    if (k + 1 < last) {
      begin_get(a, i, k + 1, got + (size_t)next * 2 * area, &handles[next][0]);
      begin_get(b, k + 1, j, got + (size_t)next * 2 * area + area, &handles[next][1]);
    }
    ARMCI_Wait(&handles[now][0]);
    ARMCI_Wait(&handles[now][1]);
    multiply_tile(got + (size_t)now * 2 * area, got + (size_t)now * 2 * area + area, sum);
  }
  double one = 1;
  int here[1] = {tile * (int)sizeof(double)}, there[1] = {n * (int)sizeof(double)};
  int count[2] = {tile * (int)sizeof(double), tile};
  ARMCI_AccS(ARMCI_ACC_DBL, &one, sum, here, place(c, i, j), there, count, 1, owner(i));
}

int main(int argc, char** argv) {
  ARMCI_Init();
  me = armci_msg_me();
  nproc = armci_msg_nproc();
  tiles = argc > 1 ? atoi(argv[1]) : 6;
  if (tiles < 1 || tiles > 200) ARMCI_Error("TILES must be 1..200", 1);
  n = tiles * tile;
  const matrix a = create(), b = create(), c = create();
  for (int i = me; i < tiles; i += nproc)
    for (int row = 0; row < tile; ++row)
      for (int column = 0; column < n; ++column) {
        place(a, i, 0)[row * n + column] = a_value(i * tile + row, column);
        place(b, i, 0)[row * n + column] = b_value(i * tile + row, column);
      }
  long** counter = malloc(sizeof(long*) * (size_t)nproc);
  ARMCI_Malloc((void**)counter, me == 0 ? sizeof(long) : 0);
  if (me == 0) *counter[0] = 0;
  ARMCI_Barrier();

  double* buffers = ARMCI_Malloc_local(5 * tile * tile * sizeof(double));
  int done = 0;
  for (int task; (task = next_task(counter[0])) < tiles * tiles * parts; ++done) do_task(task, a, b, c, buffers);
  ARMCI_Barrier();

  int wrong = 0;
  double* expected = malloc(sizeof(double) * (size_t)n);
  for (int i = me; i < tiles; i += nproc)
    for (int row = 0; row < tile; ++row) {
      memset(expected, 0, sizeof(double) * (size_t)n);
      for (int k = 0; k < n; ++k)
        for (int j = 0; j < n; ++j) expected[j] += a_value(i * tile + row, k) * b_value(k, j);
      wrong += memcmp(expected, place(c, i, 0) + row * n, sizeof(double) * (size_t)n) != 0;
    }
  armci_msg_igop(&wrong, 1, "+");
  int all = done;
  armci_msg_igop(&all, 1, "+");
  printf("process %d has done %d of %d tasks\n", me, done, all);
  if (me == 0) printf("%d x %d: %d rows are wrong\n", n, n, wrong);
  free(expected);
  ARMCI_Free_local(buffers);
  ARMCI_Free(me == 0 ? counter[0] : NULL);
  free(counter);
  destroy(a);
  destroy(b);
  destroy(c);
  ARMCI_Finalize();
  return wrong != 0 || all != tiles * tiles * parts;
}
