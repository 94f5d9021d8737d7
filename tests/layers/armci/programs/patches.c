/* Patches of arrays of 1 to 7 dimensions, in the manner of ARMCI's test programs of 2000 (C of that time): random
 * puts, gets and accumulates of all types against a local model, without fences between operations to one process. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <armci.h>
#include <message.h>

#define MP_BARRIER() armci_msg_barrier()
#define MAXDIMS 7
#define MAXPROC 64

int me, nproc;
static int dims_local[MAXDIMS] = {5, 4, 6, 3, 4, 3, 5};
static int dims_remote[MAXDIMS] = {7, 5, 6, 4, 5, 3, 6};

typedef struct {
  float r, i;
} cpl;
typedef struct {
  double r, i;
} dcpl;
enum { TYPES = 6 };
static int acc_type[TYPES] = {ARMCI_ACC_INT, ARMCI_ACC_LNG, ARMCI_ACC_FLT,
                              ARMCI_ACC_DBL, ARMCI_ACC_CPL, ARMCI_ACC_DCPL};
static int acc_size[TYPES] = {sizeof(int), sizeof(long), sizeof(float), sizeof(double), sizeof(cpl), sizeof(dcpl)};

static void fail(what, number) char* what;
int number;
{
  printf("%d: %s: %d\n", me, what, number);
  fflush(stdout);
  ARMCI_Error(what, number);
}

static void set_value(t, p, v) int t, v;
void* p;
{
  switch (t) {
    case 0:
      *(int*)p = v;
      break;
    case 1:
      *(long*)p = v;
      break;
    case 2:
      *(float*)p = (float)v;
      break;
    case 3:
      *(double*)p = v;
      break;
    case 4:
      ((cpl*)p)->r = (float)v;
      ((cpl*)p)->i = (float)-v;
      break;
    default:
      ((dcpl*)p)->r = v;
      ((dcpl*)p)->i = -v;
  }
}

/* *d += *scale * *s */
static void add_value(t, d, s, scale) int t;
void *d, *s, *scale;
{
  switch (t) {
    case 0:
      *(int*)d += *(int*)scale * *(int*)s;
      break;
    case 1:
      *(long*)d += *(long*)scale * *(long*)s;
      break;
    case 2:
      *(float*)d += *(float*)scale * *(float*)s;
      break;
    case 3:
      *(double*)d += *(double*)scale * *(double*)s;
      break;
    case 4: {
      cpl *to = d, *a = s, *b = scale;
      to->r += a->r * b->r - a->i * b->i;
      to->i += a->r * b->i + a->i * b->r;
      break;
    }
    default: {
      dcpl *to = d, *a = s, *b = scale;
      to->r += a->r * b->r - a->i * b->i;
      to->i += a->r * b->i + a->i * b->r;
    }
  }
}

static void create_array(a, elem_size, ndim, dims) void* a[];
int elem_size, ndim, dims[];
{
  int bytes = elem_size, i, rc;
  assert(ndim <= MAXDIMS);
  for (i = 0; i < ndim; i++) bytes *= dims[i];
  rc = ARMCI_Malloc(a, bytes);
  if (rc != 0 || !a[me]) fail("ARMCI_Malloc", rc);
}

static void destroy_array(ptr) void* ptr[];
{
  MP_BARRIER();
  if (ARMCI_Free(ptr[me])) fail("ARMCI_Free", 0);
}

static int index_of(ndim, dims, subscript)
int ndim, dims[], subscript[];
{
  int i, index = 0;
  for (i = ndim - 1; i >= 0; i--) index = index * dims[i] + subscript[i];
  return index;
}

/* The next element of a patch; 0 after the last. */
static int advance(ndim, c, extent)
int ndim, c[], extent[];
{
  int i;
  for (i = 0; i < ndim; i++) {
    if (++c[i] < extent[i]) return 1;
    c[i] = 0;
  }
  return 0;
}

/* A random patch of the local array, and one of the same size of the remote array. */
static void random_patch(ndim, lo, new_lo, extent) int ndim, lo[], new_lo[], extent[];
{
  int i;
  for (i = 0; i < ndim; i++) {
    int a = rand() % dims_local[i], b = rand() % dims_local[i];
    lo[i] = a < b ? a : b;
    extent[i] = (a < b ? b - a : a - b) + 1;
    new_lo[i] = rand() % (dims_remote[i] - extent[i] + 1);
  }
}

static void test_dim(ndim, t) int ndim, t;
{
  void* b[MAXPROC];
  char scale[sizeof(dcpl)], *a, *model, *got;
  int elem = acc_size[t], na = 1, nb = 1, i, k, loop, bytes;
  for (i = 0; i < ndim; i++) {
    na *= dims_local[i];
    nb *= dims_remote[i];
  }
  bytes = nb * elem;
  create_array(b, elem, ndim, dims_remote);
  a = (char*)malloc((size_t)(na * elem));
  model = (char*)malloc((size_t)bytes);
  got = (char*)malloc((size_t)bytes);
  for (i = 0; i < na; i++) set_value(t, a + i * elem, i % 1000 + me);
  for (i = 0; i < nb; i++) set_value(t, (char*)b[me] + i * elem, i % 77);
  set_value(t, scale, 2);
  MP_BARRIER();
  for (k = 0; k < nproc; k++) {
    int proc = (me + k) % nproc;
    ARMCI_Get(b[proc], model, bytes, proc);
    for (loop = 0; loop < 8; loop++) {
      int lo[MAXDIMS], new_lo[MAXDIMS], extent[MAXDIMS], count[MAXDIMS], stride_a[MAXDIMS], stride_b[MAXDIMS], rc = 0;
      int c[MAXDIMS], kind = loop % 4, req;
      char *pa, *pb;
      random_patch(ndim, lo, new_lo, extent);
      stride_a[0] = elem * dims_local[0];
      stride_b[0] = elem * dims_remote[0];
      for (i = 1; i < ndim; i++) {
        stride_a[i] = stride_a[i - 1] * dims_local[i];
        stride_b[i] = stride_b[i - 1] * dims_remote[i];
      }
      for (i = 0; i < ndim; i++) {
        count[i] = extent[i];
        c[i] = 0;
      }
      count[0] *= elem;
      pa = a + index_of(ndim, dims_local, lo) * elem;
      pb = (char*)b[proc] + index_of(ndim, dims_remote, new_lo) * elem;
      if (kind == 0) rc = ARMCI_PutS(pa, stride_a, pb, stride_b, count, ndim - 1, proc);
      if (kind == 1) rc = ARMCI_AccS(acc_type[t], scale, pa, stride_a, pb, stride_b, count, ndim - 1, proc);
      if (kind == 2) rc = ARMCI_GetS(pb, stride_b, pa, stride_a, count, ndim - 1, proc);
      if (kind == 3) {
        rc = ARMCI_NbAccS(acc_type[t], scale, pa, stride_a, pb, stride_b, count, ndim - 1, proc, &req);
        ARMCI_Wait(&req);
      }
      if (rc) fail("an operation", rc);
      do {
        int s[MAXDIMS], d[MAXDIMS];
        char *x, *y;
        for (i = 0; i < ndim; i++) {
          s[i] = lo[i] + c[i];
          d[i] = new_lo[i] + c[i];
        }
        x = a + index_of(ndim, dims_local, s) * elem;
        y = model + index_of(ndim, dims_remote, d) * elem;
        if (kind == 0)
          memcpy(y, x, (size_t)elem);
        else if (kind != 2)
          add_value(t, y, x, scale);
        else if (memcmp(x, y, (size_t)elem))
          fail("a get of dimensions", ndim);
      } while (advance(ndim, c, extent));
      if (loop % 3 != 2) continue;
      ARMCI_GetS(b[proc], NULL, got, NULL, &bytes, 0, proc);
      if (memcmp(got, model, (size_t)bytes)) fail("an array of dimensions", ndim);
    }
    ARMCI_AllFence();
    MP_BARRIER();
  }
  destroy_array(b);
  free(a);
  free(model);
  free(got);
}

/* As many levels as there may be, some of one element; a stride of 0 at the source. */
static void test_limits() {
  int count[ARMCI_MAX_STRIDE_LEVEL + 1] = {8, 2, 1, 2, 1, 2, 1, 2, 2}, ss[ARMCI_MAX_STRIDE_LEVEL];
  int elements = 256, ds[ARMCI_MAX_STRIDE_LEVEL], none = 0, row[2] = {16, 8}, step = 16, right = (me + 1) % nproc, i;
  double source[64], *mine;
  void* p[MAXPROC];
  create_array(p, (int)sizeof(double), 1, &elements);
  mine = (double*)p[me];
  for (i = 0; i < 256; i++) mine[i] = -1;
  for (i = 0; i < 64; i++) source[i] = i;
  for (i = 0; i < ARMCI_MAX_STRIDE_LEVEL; i++) {
    ss[i] = i ? ss[i - 1] * count[i] : 8;
    ds[i] = 2 * ss[i];
  }
  MP_BARRIER();
  if (ARMCI_PutS(source, ss, p[right], ds, count, ARMCI_MAX_STRIDE_LEVEL, right)) fail("8 levels", 0);
  ARMCI_Fence(right);
  MP_BARRIER();
  for (i = 0; i < 64; i++)
    if (mine[i] != (i % 2 ? -1 : i / 2)) fail("8 levels", i);
  MP_BARRIER();
  if (ARMCI_PutS(source + 3, &none, p[right], &step, row, 1, right)) fail("stride 0", 0);
  ARMCI_AllFence();
  MP_BARRIER();
  for (i = 0; i < 16; i++)
    if (mine[i] != 3 + i % 2) fail("stride 0", i);
  destroy_array(p);
}

int main(argc, argv)
int argc;
char** argv;
{
  int d, t;
  armci_msg_init(&argc, &argv);
  ARMCI_Init();
  me = armci_msg_me();
  nproc = armci_msg_nproc();
  srand(7 + (unsigned)me * 13);
  for (d = 1; d <= MAXDIMS; d++)
    for (t = 0; t < TYPES; t++) test_dim(d, t);
  test_limits();
  MP_BARRIER();
  if (me == 0) printf("cases: 1 passed, 0 failed, 0 skipped\n");
  ARMCI_Finalize();
  armci_msg_finalize();
  return 0;
}
