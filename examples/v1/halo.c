/* LCI v1.7: the flow of heat in a rod, of which each rank computes a part. In each step a rank exchanges its edges with
 * each neighbour by one iovec: the edges of two fields, and the step's number as piggy-back data. At the end each rank
 * compares its part with a computation of the whole rod. */
#include <lci.h>
#include <math.h>
#include <string.h>

/* cells: of the whole rod; width: cells of an edge. */
enum { cells = 120, width = 2, steps = 50 };

struct field {
  double* now;
  double* then;
};

/* Computes one step of the `n` cells between two edges. */
static void step(struct field* f, int n) {
  int i;
  double* swap;
  for (i = width; i < n + width; ++i)
    f->then[i] = f->now[i] + 0.1 * (f->now[i - 1] - 2 * f->now[i] + f->now[i + 1]) +
                 0.01 * (f->now[i - 2] - 2 * f->now[i] + f->now[i + 2]);
  swap = f->now;
  f->now = f->then;
  f->then = swap;
}

/* Allocates a field of `n` cells, the first of which is cell `first` of the rod, and sets their values. */
static void make(struct field* f, int n, int first, double scale) {
  int i;
  f->now = calloc((size_t)(n + 2 * width), sizeof(double));
  f->then = calloc((size_t)(n + 2 * width), sizeof(double));
  for (i = 0; i < n; ++i) f->now[width + i] = scale * sin(0.1 * (first + i));
}

/* Sends the cells at index `from` of both fields to a rank, and receives that rank's cells to index `to`. `out` and
 * `in` are the tags of the two messages. */
static void exchange(struct field* fields, int from, int to, int rank, LCI_tag_t out, LCI_tag_t in, LCI_comp_t sync,
                     int* number) {
  LCI_lbuffer_t edges[2], halos[2];
  LCI_iovec_t send, receive;
  int i, other = -1;
  LCI_request_t requests[2];
  for (i = 0; i < 2; ++i) {
    edges[i].segment = halos[i].segment = LCI_SEGMENT_ALL;
    edges[i].address = fields[i].now + from;
    halos[i].address = fields[i].now + to;
    edges[i].length = halos[i].length = width * sizeof(double);
  }
  send.lbuffers = edges;
  receive.lbuffers = halos;
  send.count = receive.count = 2;
  send.piggy_back.address = number;
  receive.piggy_back.address = &other;
  send.piggy_back.length = receive.piggy_back.length = sizeof(int);
  while (LCI_recvv(LCI_UR_ENDPOINT, receive, rank, in, sync, NULL) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  while (LCI_sendv(LCI_UR_ENDPOINT, send, rank, out, sync, NULL) == LCI_ERR_RETRY) LCI_progress(LCI_UR_DEVICE);
  LCI_sync_wait(sync, requests); /* its threshold is 2: the send and the receive */
  if (requests[0].flag != LCI_OK || requests[1].flag != LCI_OK || other != *number) {
    fprintf(stderr, "rank %d: the exchange of step %d has failed\n", LCI_RANK, *number);
    exit(1);
  }
}

int main(void) {
  struct field mine[2], whole[2];
  LCI_comp_t sync;
  double difference = 0;
  int n, first, s, i, k;
  if (LCI_initialize() != LCI_OK) return 1;
  n = cells / LCI_NUM_PROCESSES;
  if (cells % LCI_NUM_PROCESSES != 0 || n < width) {
    fprintf(stderr, "halo: the number of ranks must divide %d\n", cells);
    LCI_finalize();
    return 2;
  }
  first = LCI_RANK * n;
  LCI_sync_create(LCI_UR_DEVICE, 2, &sync);
  for (k = 0; k < 2; ++k) {
    make(&mine[k], n, first, 1 + k);
    make(&whole[k], cells, 0, 1 + k);
  }
  for (s = 0; s < steps; ++s) {
    /* Messages to the left have tag 1, those to the right tag 2. Even ranks begin with their right neighbour, odd ranks
     * with their left one, so that pairs of neighbours exchange at the same time. */
    for (i = 0; i < 2; ++i) {
      const int right = (LCI_RANK + i) % 2 == 0;
      if (right && LCI_RANK + 1 < LCI_NUM_PROCESSES) exchange(mine, n, n + width, LCI_RANK + 1, 2, 1, sync, &s);
      if (!right && LCI_RANK > 0) exchange(mine, width, 0, LCI_RANK - 1, 1, 2, sync, &s);
    }
    for (k = 0; k < 2; ++k) {
      step(&mine[k], n);
      step(&whole[k], cells);
    }
  }
  for (k = 0; k < 2; ++k)
    for (i = 0; i < n; ++i) difference += fabs(mine[k].now[width + i] - whole[k].now[width + first + i]);
  printf("rank %d: the sum of differences is %g\n", LCI_RANK, difference);
  LCI_sync_free(&sync);
  LCI_finalize();
  return difference == 0 ? 0 : 1;
}
