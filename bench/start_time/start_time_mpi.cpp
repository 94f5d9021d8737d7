// What start_time.cpp measures, of an MPI: the end of MPI_Init and of the first barrier.
#define OMPI_SKIP_MPICXX  // MPI's old C++ names need a library of their own
#define MPICH_SKIP_MPICXX
#include <mpi.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace {

double now_ms() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  const double main_ms = now_ms();
  const char* text = std::getenv("START_TIME_NS");
  const double start_ms = text != nullptr ? std::atof(text) * 1e-6 : main_ms;
  MPI_Init(&argc, &argv);
  const double init_ms = now_ms();
  MPI_Barrier(MPI_COMM_WORLD);
  const double barrier_ms = now_ms();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("{\"rank\": %d, \"main_ms\": %.3f, \"init_ms\": %.3f, \"barrier_ms\": %.3f}\n", rank,
              main_ms - start_ms, init_ms - start_ms, barrier_ms - start_ms);
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
