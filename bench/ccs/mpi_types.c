/* The described transfers of ccs_perf.cpp by MPI: a derived type is sent, received as bytes, and acknowledged. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { room = 4 << 20, rounds = 9, each = 500 };

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void transfer(const char* name, MPI_Datatype type, char* here, char* window, int me) {
  double times[rounds];
  int round, i, size;
  MPI_Type_commit(&type);
  MPI_Type_size(type, &size);
  for (round = -1; round < rounds; ++round) {
    double begin;
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    for (i = 0; i < each; ++i) {
      if (me == 0) {
        MPI_Send(here, 1, type, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(window, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(window, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(here, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
      }
    }
    if (round >= 0) times[round] = (MPI_Wtime() - begin) / each;
  }
  qsort(times, rounds, sizeof times[0], by_value);
  if (me == 0) printf("%s, mpi: %.4g MB/s\n", name, 1e-6 * size / times[rounds / 2]);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  char* here = malloc(room);
  char* window = malloc(room);
  int me, i, ones[3] = {1, 1, 1};
  MPI_Aint* at = malloc(100000 * sizeof *at);
  MPI_Aint inner_at[3] = {0, 8, 16}, outer_at[2] = {0, 48};
  MPI_Datatype vector, indexed, inner, members[2], outer, wide, structs,
      words[3] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  for (i = 0; i < room; ++i) here[i] = window[i] = 1;
  MPI_Type_create_hvector(1024, 64, 192, MPI_BYTE, &vector);
  transfer("vector of 1024 x 64", vector, here, window, me);
  for (i = 0; i < 100000; ++i) at[i] = 16 * i;
  srand(1);
  for (i = 99999; i > 0; --i) {
    const int k = (int)(((unsigned)rand() * 32768u + (unsigned)rand()) % (unsigned)(i + 1));
    const MPI_Aint swapped = at[i];
    at[i] = at[k];
    at[k] = swapped;
  }
  MPI_Type_create_hindexed_block(10000, 1, at, MPI_DOUBLE, &indexed);
  transfer("indexed 10000 x 8", indexed, here, window, me);
  MPI_Type_create_struct(3, ones, inner_at, words, &inner);
  members[0] = members[1] = inner;
  MPI_Type_create_struct(2, ones, outer_at, members, &outer);
  MPI_Type_create_resized(outer, 0, 96, &wide);
  MPI_Type_contiguous(2000, wide, &structs);
  transfer("struct of structs", structs, here, window, me);
  MPI_Finalize();
  return 0;
}
