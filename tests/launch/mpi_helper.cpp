// A program that uses MPI and LCI: begins and ends them in the order of its argument, and checks after each step what
// the library promises in that state. Each rank prints one line. Exit code 9: the library reported an error.
#define OMPI_SKIP_MPICXX  // MPI's old C++ names need a library of their own
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <lci.hpp>
#include <string>
#include <thread>

namespace {

[[noreturn]] void wrong(const char* what) {
  std::fprintf(stderr, "wrong: %s\n", what);
  std::_Exit(8);
}

/// Passes a number around all ranks, by LCI.
void use_lci() {
  const int me = lci::get_rank_me(), n = lci::get_rank_n();
  int number = -1;
  lci::comp_t sync = lci::alloc_sync();
  lci::status_t got = lci::post_recv((me + n - 1) % n, &number, sizeof number, 7, sync);
  lci::post_send((me + 1) % n, &me, sizeof me, 7, lci::COMP_NULL);
  if (got.is_posted()) lci::sync_wait(sync, &got);
  lci::free_comp(&sync);
  if (number != (me + n - 1) % n) wrong("LCI's message");
}

/// Rank 0 allocates a net context, which is collective, while messages to rank 1 wait for room; rank 1 does so once it
/// has received them.
void allocate_with_waiting_messages() {
  char bytes[1024] = {};
  lci::barrier();
  if (lci::get_rank_me() == 0) {
    while (lci::post_send(1, bytes, sizeof bytes, 1, lci::COMP_NULL).error != lci::errorcode_t::done_backlog) continue;
    bytes[0] = 1;
    lci::post_send(1, bytes, sizeof bytes, 1, lci::COMP_NULL);
  } else if (lci::get_rank_me() == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    while (bytes[0] == 0) lci::post_recv(0, bytes, sizeof bytes, 1, lci::COMP_NULL);
  }
  lci::net_context_t context = lci::alloc_net_context();
  lci::free_net_context(&context);
}

void use_mpi(int rank, int size) {
  int sum = 0, me = -1, n = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me != rank || n != size) wrong("the ranks differ");
  if (sum != n * (n - 1) / 2) wrong("MPI's sum");
}

void run(const std::string& steps) {
  int rank = -1, size = -1;
  bool lci_runs = false, mpi_runs = false;
  for (const char step : steps) {
    switch (step) {
      case 'M':
        MPI_Init(nullptr, nullptr);
        mpi_runs = true;
        break;
      case 'm':
        MPI_Finalize();
        mpi_runs = false;
        break;
      case 'L':
        lci::g_runtime_init();
        rank = lci::get_rank_me();
        size = lci::get_rank_n();
        lci_runs = true;
        break;
      case 'l':
        lci::g_runtime_fina();
        lci_runs = false;
        break;
      case 'i': {  // LCI has initialised MPI
        int flag = 0;
        MPI_Initialized(&flag);
        if (flag == 0) wrong("MPI is not initialised");
        mpi_runs = true;
        break;
      }
      case 'd': {
        lci::device_t device = lci::alloc_device();
        lci::free_device(&device);
        break;
      }
      case 'w':
        allocate_with_waiting_messages();
        break;
      default:
        wrong("unknown step");
    }
    if (lci_runs) use_lci();
    if (mpi_runs && rank >= 0) use_mpi(rank, size);
  }
  std::printf("good rank=%d size=%d\n", rank, size);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "MLlm");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    std::_Exit(9);
  }
  return 0;
}
