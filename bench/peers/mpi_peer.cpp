// Runs lci_perf's measurements on MPI; built once for each installed MPI.
#include "bench/peers/mpi_end.hpp"
#include "bench/peers/mpi_window.hpp"
#include "bench/peers/start.hpp"

namespace peers {
namespace {

const program who = {
    LCI_PEER_NAME,
    "mpiexec -n 2 (mpirun --bind-to none -n 2) PROGRAM ...; -n 1: threads to each other",
    {op_kind::sendrecv, op_kind::put, op_kind::get, op_kind::atomic, op_kind::putsignal, op_kind::strided},
    false};

class mpi_job : public job {
 public:
  using job::job;
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void broadcast(round& r) override { MPI_Bcast(&r, sizeof r, MPI_BYTE, 0, MPI_COMM_WORLD); }
};

int rank_of_this() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
int number_of_ranks() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

/// MPICH 4.0 over UCX's tcp sometimes hangs in MPI_Finalize(): one rank closes its connection, and the other one, which
/// waits elsewhere, doesn't answer. MPICH's launcher accepts ranks that exit without MPI_Finalize().
void leave() {
#ifdef MPICH_VERSION
  MPI_Barrier(MPI_COMM_WORLD);
  std::_Exit(0);
#else
  MPI_Finalize();
#endif
}

int start() {
  start_report report;
  MPI_Init(nullptr, nullptr);
  report.library_is_up();
  const int rank = rank_of_this(), ranks = number_of_ranks();
  uint64_t word = 1;
  for (int turn = 0; turn < 2 && ranks == 2; ++turn) {
    if (turn == rank) {
      MPI_Send(&word, 1, MPI_UINT64_T, 1 - rank, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&word, 1, MPI_UINT64_T, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      report.first_message();
    }
  }
  report.print(rank, ranks);
  leave();
  return 0;
}

void measure(const options& o) {
  mpi_job all(rank_of_this(), o.ranks);
  const int partner = o.ranks - 1 - all.rank;
  if (is_one_sided(o.op)) {
    mpi_window memory(window_bytes(o), partner);
    one_sided<mpi_window> what(o, all, memory);
    run(who, o, all, what);
    return;
  }
  std::vector<MPI_Comm> comms(static_cast<size_t>(o.threads), MPI_COMM_WORLD);
  if (o.dedicated)
    for (MPI_Comm& c : comms) MPI_Comm_dup(MPI_COMM_WORLD, &c);
  two_sided<mpi_end> what(o, all, [&](place where) {
    return std::make_unique<mpi_end>(comms[static_cast<size_t>(where.pair)], partner, where, o.yield);
  });
  run(who, o, all, what);
  if (o.dedicated)
    for (MPI_Comm& c : comms) MPI_Comm_free(&c);
}

int start_and_measure(int argc, char** argv) {
  options o = parse(argc, argv, who);
  const bool threads = o.threads > 1 || o.thread_safe;
  int provided = 0;
  // Only after MPI_Init_thread() is it known whether this is the only process. Its threads then communicate with each
  // other.
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  o.ranks = number_of_ranks();
  if (o.ranks > 2) die(who.name, "more than 2 ranks");
  if ((threads || o.ranks == 1) && provided != MPI_THREAD_MULTIPLE)
    die(who.name, "MPI_THREAD_MULTIPLE is needed: with one rank, give --thread-safe; or this MPI has it not");
  lci_perf::core_count();  // reads the affinity mask before this thread is pinned
  measure(o);
  leave();
  return 0;
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
  return peers::asks_for_start(argc, argv) ? peers::start() : peers::start_and_measure(argc, argv);
}
