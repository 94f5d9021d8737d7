// All calls of MPI: compiled and linked once for each MPI, and loaded into processes that use that MPI.
#define OMPI_SKIP_MPICXX  // MPI's old C++ names need a library of their own
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <cstring>

#include "lib/layers/armci/groups.hpp"

namespace {

void store(void* to, MPI_Comm comm) { std::memcpy(to, &comm, sizeof comm); }

void of_world(void* comm) { store(comm, MPI_COMM_WORLD); }

void of_members(void* comm, const int* members, int n) {
  MPI_Group world, some;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, n, members, &some);
  // Collective among the members alone; others may make other groups at the same time.
  constexpr int tag = 4711;
  MPI_Comm_create_group(MPI_COMM_WORLD, some, tag, &made);
  MPI_Group_free(&some);
  MPI_Group_free(&world);
  store(comm, made);
}

void release(void* comm) {
  MPI_Comm made;
  std::memcpy(&made, comm, sizeof made);
  if (made != MPI_COMM_NULL && made != MPI_COMM_WORLD) MPI_Comm_free(&made);
  store(comm, MPI_COMM_NULL);
}

bool is_world(const void* comm) {
  MPI_Comm given;
  std::memcpy(&given, comm, sizeof given);
  int result = MPI_UNEQUAL;
  return given != MPI_COMM_NULL && MPI_Comm_compare(given, MPI_COMM_WORLD, &result) == MPI_SUCCESS &&
         (result == MPI_IDENT || result == MPI_CONGRUENT);
}

bool is_usable() {
  int begun = 0, ended = 0;
  return MPI_Initialized(&begun) == MPI_SUCCESS && begun != 0 && MPI_Finalized(&ended) == MPI_SUCCESS && ended == 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const armci_layer::communicators armci_communicators;
extern "C" const armci_layer::communicators armci_communicators{of_world, of_members, release, is_world, is_usable};
