/* A program of MPI, for the subset over CCS and for an MPI: random derived types sent round a ring by every function,
 * packed and unpacked, gathered from any source, broadcast and reduced. Process 0 prints a checksum of the memory of
 * each process after each step, so that two runs can be compared.
 *
 *   lcirun -n 3 ccs_mpi_program [seed] [steps] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM (1 << 20) /* bytes of a buffer; types have their origin in its middle */

static int me, n;
static unsigned long long state;
static int below(int limit) { /* the same at all processes */
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (int)((state >> 33) % (unsigned)limit);
}

/* A type with the range of bytes that it touches. */
typedef struct {
  MPI_Datatype type;
  long low, high; /* of the bytes of one element */
  int made;       /* to be freed */
  int resized;    /* it, or a part of it: once, since bounds of MPI-1, which CCS has, can't be taken back */
} any_type;

static long extent_of(const any_type* t) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(t->type, &lower, &extent);
  return (long)extent;
}
static long span(const any_type* t, int elements) { return t->high - t->low + (elements - 1) * extent_of(t); }
static void release(any_type* t) {
  if (t->made) MPI_Type_free(&t->type);
}

static any_type basic(void) {
  any_type t;
  int size;
  switch (below(5)) {
    case 0:
      t.type = MPI_CHAR;
      break;
    case 1:
      t.type = MPI_SHORT;
      break;
    case 2:
      t.type = MPI_INT;
      break;
    case 3:
      t.type = MPI_DOUBLE;
      break;
    default:
      t.type = MPI_BYTE;
  }
  MPI_Type_size(t.type, &size);
  t.low = 0;
  t.high = size;
  t.made = 0;
  t.resized = 0;
  return t;
}

/* Blocks that do not overlap, in any order, some of them before the origin. */
static any_type scattered(int depth);

static any_type strided(any_type of) {
  any_type t;
  const int count = 1 + below(5), length = 1 + below(3);
  long stride = span(&of, length) + below(24);
  if (below(4) == 0) stride = -stride;
  t.made = 1;
  t.resized = of.resized;
  MPI_Type_create_hvector(count, length, stride, of.type, &t.type);
  t.low = of.low + (stride < 0 ? (count - 1) * stride : 0);
  t.high = of.low + span(&of, length) + (stride > 0 ? (count - 1) * stride : 0);
  release(&of);
  return t;
}

static any_type repeated(any_type of) {
  any_type t;
  const int count = 1 + below(4);
  t.made = 1;
  t.resized = of.resized;
  MPI_Type_contiguous(count, of.type, &t.type);
  t.low = of.low;
  t.high = of.low + span(&of, count);
  release(&of);
  return t;
}

static any_type wider(any_type of) {
  any_type t = of;
  const long lower = of.low - below(8);
  if (of.resized) return t;
  MPI_Type_create_resized(of.type, lower, of.high - lower + below(16), &t.type);
  t.made = 1;
  t.resized = 1;
  release(&of);
  return t;
}

static any_type random_type(int depth) {
  if (depth == 0) return basic();
  switch (below(5)) {
    case 0:
      return strided(random_type(depth - 1));
    case 1:
      return repeated(random_type(depth - 1));
    case 2:
      return wider(random_type(depth - 1));
    default:
      return scattered(depth);
  }
}

static any_type scattered(int depth) {
  any_type t, member[4];
  int lengths[4], count = 1 + below(4), same = below(2), i;
  long at = -(long)below(200), low = 0, high = 0;
  MPI_Aint displacements[4], bound, extent, lower = 0, upper = 0;
  MPI_Datatype types[4];
  t.resized = 0;
  for (i = 0; i < count; ++i) {
    member[i] = same && i > 0 ? member[0] : random_type(depth - 1);
    types[i] = member[i].type;
    t.resized |= member[i].resized;
    lengths[i] = 1 + below(3);
    displacements[i] = at - member[i].low;
    if (i == 0) low = at;
    at += span(&member[i], lengths[i]);
    high = at;
    MPI_Type_get_extent(types[i], &bound, &extent);
    if (i == 0 || displacements[i] + bound < lower) lower = displacements[i] + bound;
    if (i == 0 || displacements[i] + bound + lengths[i] * extent > upper)
      upper = displacements[i] + bound + lengths[i] * extent;
    at += below(20);
  }
  for (i = count - 1; i > 0; --i) { /* another order */
    const int k = below(i + 1), length = lengths[i];
    const MPI_Aint displacement = displacements[i];
    const MPI_Datatype type = types[i];
    lengths[i] = lengths[k];
    displacements[i] = displacements[k];
    types[i] = types[k];
    lengths[k] = length;
    displacements[k] = displacement;
    types[k] = type;
  }
  t.made = 1;
  t.low = low;
  t.high = high;
  if (same)
    MPI_Type_create_hindexed(count, lengths, displacements, types[0], &t.type);
  else
    MPI_Type_create_struct(count, lengths, displacements, types, &t.type);
  if (!same) {
    /* How a struct is padded is up to each MPI: this one is not. */
    MPI_Datatype padded = t.type;
    MPI_Type_create_resized(padded, lower, upper - lower, &t.type);
    MPI_Type_free(&padded);
    t.resized = 1;
  }
  for (i = 0; i < (same ? 1 : count); ++i) release(&member[i]);
  return t;
}

static unsigned long long checksum(const unsigned char* bytes, size_t size) {
  unsigned long long sum = 1469598103934665603ULL;
  size_t i;
  for (i = 0; i < size; ++i) sum = (sum ^ bytes[i]) * 1099511628211ULL;
  return sum;
}

/* The checksums of all processes, by messages from any source. */
static void report(const char* what, int step, const unsigned char* memory) {
  unsigned long long mine = checksum(memory, ROOM);
  char line[64];
  int i;
  if (me != 0) {
    snprintf(line, sizeof line, "%llx", mine);
    MPI_Send(line, (int)strlen(line) + 1, MPI_CHAR, 0, 7000 + me, MPI_COMM_WORLD);
  } else {
    unsigned long long* all = calloc((size_t)n, sizeof *all);
    all[0] = mine;
    for (i = 1; i < n; ++i) {
      MPI_Status status;
      int count = -1;
      MPI_Recv(line, sizeof line, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_CHAR, &count);
      if (count != (int)strlen(line) + 1 || status.MPI_TAG != 7000 + status.MPI_SOURCE) printf("wrong status\n");
      all[status.MPI_SOURCE] = strtoull(line, NULL, 16);
    }
    printf("%s %d:", what, step);
    for (i = 0; i < n; ++i) printf(" %016llx", all[i]);
    printf("\n");
    free(all);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* so that no message of the next report is taken for one of this */
}

/* Strides that need more than 32 bits. */
static void report_far_blocks(void) {
  const MPI_Aint strides[] = {5000000000L, -5000000000L, 2147483647L, -2147483648L, 2147483648L};
  int i;
  for (i = 0; me == 0 && i < 5; ++i) {
    MPI_Datatype far, twice;
    MPI_Aint lower, extent;
    MPI_Type_create_hvector(3, 2, strides[i], MPI_INT, &far);
    MPI_Type_get_extent(far, &lower, &extent);
    printf("blocks %ld bytes apart: bounds %ld %ld", (long)strides[i], (long)lower, (long)extent);
    MPI_Type_vector(2, 1, 3, far, &twice);
    MPI_Type_get_extent(twice, &lower, &extent);
    printf(", and %ld %ld\n", (long)lower, (long)extent);
    MPI_Type_free(&twice);
    MPI_Type_free(&far);
  }
}

int main(int argc, char** argv) {
  int steps, step, i;
  unsigned char* out = malloc(ROOM);
  unsigned char* in = malloc(ROOM);
  char* packed = malloc(ROOM);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  steps = argc > 2 ? atoi(argv[2]) : 60;
  report_far_blocks();
  for (step = 0; step < steps; ++step) {
    const int to = (me + 1) % n, from = (me + n - 1) % n;
    any_type t = random_type(1 + below(3));
    int size, position = 0, elements, received = -1, limit = 1 + below(12);
    MPI_Aint lower, extent;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Type_commit(&t.type);
    MPI_Type_size(t.type, &size);
    MPI_Type_get_extent(t.type, &lower, &extent);
    /* Few elements are short messages; with many, data goes by rendezvous. */
    elements = below(3) == 0 ? (int)((ROOM / 2 - t.high) / extent) : limit;
    if (span(&t, elements) > ROOM / 2 - 4096 || elements < 1) elements = 1;
    if (me == 0)
      printf("step %d: %d elements of %d bytes, bounds %ld %ld\n", step, elements, size, (long)lower, (long)extent);
    for (i = 0; i < ROOM; ++i) out[i] = (unsigned char)((i * 7 + step * 13 + me * 5) ^ (i >> 8));
    memset(in, 0xEE, ROOM);
    MPI_Irecv(in + ROOM / 4, elements, t.type, from, step, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out + ROOM / 4, elements, t.type, to, step, MPI_COMM_WORLD, &requests[1]);
    if (step % 2 == 0) {
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
      MPI_Wait(&requests[0], &status);
    } else {
      int done = 0;
      while (!done) MPI_Test(&requests[0], &done, &status);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Get_count(&status, t.type, &received);
    if (received != elements || status.MPI_SOURCE != from || status.MPI_TAG != step) printf("wrong status\n");
    report("ring", step, in);
    /* Packed here, unpacked there. */
    memset(in, 0xDD, ROOM);
    MPI_Pack(out + ROOM / 4, elements, t.type, packed, ROOM, &position, MPI_COMM_WORLD);
    if (position != elements * size) printf("wrong size of packed data\n");
    MPI_Isend(packed, position, MPI_PACKED, to, 5000, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv(in + ROOM / 4, elements, t.type, from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    report("packed", step, in);
    memset(in, 0xCC, ROOM);
    position = 0;
    MPI_Unpack(packed, elements * size, &position, in + ROOM / 4, elements, t.type, MPI_COMM_WORLD);
    MPI_Bcast(in + ROOM / 4, elements, t.type, step % n, MPI_COMM_WORLD);
    report("broadcast", step, in);
    {
      long sums[3], mine[3];
      double most, value = me * 0.5 + step;
      for (i = 0; i < 3; ++i) mine[i] = step * 100 + me * 10 + i;
      MPI_Allreduce(mine, sums, 3, MPI_LONG, step % 2 == 0 ? MPI_SUM : MPI_BXOR, MPI_COMM_WORLD);
      MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
      if (me == 0) printf("reduced: %ld %ld %ld %g\n", sums[0], sums[1], sums[2], most);
    }
    release(&t);
  }
  MPI_Finalize();
  free(out);
  free(in);
  free(packed);
  return 0;
}
