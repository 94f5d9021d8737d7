/* A program with MPI and ARMCI: ranks, groups and both orders of their ends. "ok" is printed by rank 0.
 *
 *   beside_mpi armci|mpi|finalized|early   which of the two ends first; finalized: ARMCI is started and ended twice
 *                                          before; early: ARMCI is started before MPI */
#include <mpi.h>

#include <armci.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "not: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define EXPECT(condition) expect(condition, #condition)

static int me, n;

static void use(void) {
  void** const base = malloc((size_t)n * sizeof(void*));
  EXPECT(ARMCI_Malloc(base, 1000) == 0);
  memset(base[me], 0, 1000);
  ARMCI_Barrier();
  EXPECT(ARMCI_PutValueInt(me + 1, (char*)base[(me + 1) % n], (me + 1) % n) == 0);
  ARMCI_Barrier();
  EXPECT(*(int*)base[me] == (me + n - 1) % n + 1);
  MPI_Barrier(MPI_COMM_WORLD);

  /* Groups have communicators of their processes, in their order. */
  int* const pids = malloc((size_t)n * sizeof(int));
  int size = 0, rank = -1, in_comm = -1, members = 0;
  for (int r = me % 2; r < n; r += 2) pids[size++] = r;
  ARMCI_Group g;
  ARMCI_Group_create(size, pids, &g);
  EXPECT(ARMCI_Group_rank(&g, &rank) == 0);
  MPI_Comm_rank(g.comm, &in_comm);
  MPI_Comm_size(g.comm, &members);
  EXPECT(in_comm == rank && members == size);
  int sum = me;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, g.comm);
  int expected = 0;
  for (int i = 0; i < size; ++i) expected += pids[i];
  EXPECT(sum == expected);
  ARMCI_Group_free(&g);
  EXPECT(ARMCI_Free(base[me]) == 0);
  free(pids);
  free(base);
}

/* Groups that are made, and the world and the default group that are asked for, after MPI_Init have communicators. */
static int early(int argc, char** argv) {
  ARMCI_Group before, world, usual, g;
  int result = MPI_UNEQUAL, only;
  EXPECT(ARMCI_Init() == 0);
  only = armci_msg_me();
  ARMCI_Group_create(1, &only, &before);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  EXPECT(armci_msg_me() == me && armci_msg_nproc() == n);
  ARMCI_Group_get_world(&world);
  MPI_Comm_compare(world.comm, MPI_COMM_WORLD, &result);
  EXPECT(result == MPI_IDENT);
  ARMCI_Group_get_default(&usual);
  EXPECT(usual.comm == MPI_COMM_WORLD);
  use();
  ARMCI_Group_free(&before);
  ARMCI_Group_create(1, &only, &g);
  MPI_Comm_size(g.comm, &result);
  EXPECT(result == 1);
  MPI_Finalize();
  /* MPI is gone, and groups go on without it. */
  ARMCI_Group_free(&g);
  ARMCI_Group_create(1, &only, &g);
  armci_msg_group_barrier(&g);
  ARMCI_Group_free(&g);
  EXPECT(ARMCI_Finalize() == 0);
  if (me == 0) puts("ok");
  return 0;
}

int main(int argc, char** argv) {
  const char* const first = argc > 1 ? argv[1] : "armci";
  if (strcmp(first, "early") == 0) return early(argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);

  /* Another communicator than the world is refused if it has other processes, or the same in another order. */
  MPI_Comm turned, same;
  MPI_Comm_split(MPI_COMM_WORLD, 0, n - me, &turned);
  if (n > 1) EXPECT(ARMCI_Init_mpi_comm(turned) != 0);
  EXPECT(ARMCI_Init_mpi_comm(MPI_COMM_NULL) != 0);
  EXPECT(!ARMCI_Initialized());
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  if (strcmp(first, "finalized") == 0) {
    for (int i = 0; i < 2; ++i) {
      EXPECT(ARMCI_Init_mpi_comm(same) == 0);
      use();
      EXPECT(ARMCI_Finalize() == 0);
    }
  }
  EXPECT(ARMCI_Init_thread_comm(MPI_THREAD_SINGLE, same) == 0);
  EXPECT(ARMCI_Init() == 0);
  EXPECT(armci_msg_me() == me && armci_msg_nproc() == n);
  use();
  EXPECT(ARMCI_Finalize() == 0);
  MPI_Comm_free(&same);
  MPI_Comm_free(&turned);
  const int prints = me == 0;
  if (strcmp(first, "mpi") == 0) MPI_Finalize();
  EXPECT(ARMCI_Finalize() == 0);
  if (strcmp(first, "mpi") != 0) MPI_Finalize();
  if (prints) puts("ok");
  return 0;
}
