/* What MPI does of what `lci_perf sendrecv rate` measures: one way, so many messages under way at a time.
   Prints messages a second, the median of 7 rounds. Started by `mpiexec -n 2 mpi_rate [SIZE] [WINDOW]`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 7, most = 4096 };

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* One window after the other, each answered by a message without bytes, for `windows` of them. */
static double messages_a_second(int rank, char* buffer, int size, int window, int windows) {
  MPI_Request requests[most];
  static MPI_Status ends[most];
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int w = 0; w < windows; ++w) {
    for (int i = 0; i < window; ++i) {
      char* const at = buffer + (size_t)i * (size_t)size;
      if (rank == 0)
        MPI_Isend(at, size, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
      else
        MPI_Irecv(at, size, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(window, requests, ends);
    if (rank == 0)
      MPI_Recv(NULL, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(NULL, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
  return (double)window * windows / (MPI_Wtime() - begin);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int size = argc > 1 ? atoi(argv[1]) : 8, window = argc > 2 ? atoi(argv[2]) : 64;
  int rank, n;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  if (n != 2 || size < 1 || window < 1 || window > most) {
    if (rank == 0) fprintf(stderr, "mpi_rate: two ranks, SIZE from 1, WINDOW from 1 to %d\n", most);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  char* const buffer = calloc((size_t)window, (size_t)size);
  double rate[rounds];
  /* As many windows as take a tenth of a second, as the first rank sees it. */
  const double first = messages_a_second(rank, buffer, size, window, 100);
  int windows = (int)(first * 0.1 / window) + 1;
  MPI_Bcast(&windows, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int r = 0; r < rounds; ++r) rate[r] = messages_a_second(rank, buffer, size, window, windows);
  qsort(rate, rounds, sizeof rate[0], by_value);
  if (rank == 0) printf("%.0f\n", rate[rounds / 2]);
  free(buffer);
  MPI_Finalize();
  return 0;
}
