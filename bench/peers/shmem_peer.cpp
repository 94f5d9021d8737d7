// Runs lci_perf's one-sided measurements on OpenSHMEM, and puts with a flag that notifies the target.
#include <shmem.h>

#include "bench/peers/one_sided.hpp"
#include "bench/peers/start.hpp"

namespace peers {
namespace {

const program who = {"openshmem",
                     "oshrun --bind-to none -n 2 PROGRAM ...",
                     {op_kind::put, op_kind::get, op_kind::atomic, op_kind::putsignal, op_kind::strided},
                     false};

/// Memory of the symmetric heap, and a flag.
class shmem_window {
 public:
  explicit shmem_window(size_t bytes)
      : partner_(1 - shmem_my_pe()),
        local_(lci_perf::make_page_buffer(bytes, 1)),
        mine_(static_cast<char*>(shmem_align(4096, bytes))),
        flag_(static_cast<long*>(shmem_align(4096, 4096))) {
    *flag_ = 0;
    shmem_barrier_all();
  }
  shmem_window(const shmem_window&) = delete;
  shmem_window& operator=(const shmem_window&) = delete;

  char* mine() { return mine_; }
  char* local() { return local_.get(); }
  void sync() { shmem_quiet(); }
  void put(size_t size) { shmem_putmem_nbi(mine_, local_.get(), size, partner_); }
  void get(size_t size) { shmem_getmem_nbi(local_.get(), mine_, size, partner_); }
  void fetch_add() { shmem_long_atomic_fetch_add(reinterpret_cast<long*>(mine_), 1, partner_); }
  void put_block() {
    constexpr size_t pitch = lci_perf::matrix_rows * sizeof(double), row = lci_perf::block_rows * sizeof(double);
    for (size_t at = 0; at < lci_perf::block_rows * pitch; at += pitch)
      shmem_putmem_nbi(mine_ + at, local_.get() + at, row, partner_);
  }
  void complete() { shmem_quiet(); }
  void put_signal(size_t size) {
    shmem_putmem(mine_, local_.get(), size, partner_);
    shmem_fence();
    shmem_long_p(flag_, ++sent_, partner_);
  }
  void await_signal() { shmem_long_wait_until(flag_, SHMEM_CMP_GE, ++awaited_); }

 private:
  const int partner_;
  const lci_perf::page_buffer local_;
  char* const mine_;
  long* const flag_;
  long sent_ = 0, awaited_ = 0;
};

class shmem_job : public job {
 public:
  shmem_job() : job(shmem_my_pe(), shmem_n_pes()), next_(static_cast<round*>(shmem_malloc(sizeof(round)))) {}
  void barrier() override { shmem_barrier_all(); }
  void broadcast(round& r) override {
    if (rank == 0) {
      shmem_putmem(next_, &r, sizeof r, 1);
      *next_ = r;
    }
    shmem_barrier_all();
    r = *next_;
    shmem_barrier_all();  // rank 0 must not write the next one before
  }

 private:
  round* const next_;
};

/// Exits without shmem_finalize(), which ends in a segmentation fault in Open MPI 4.1 with UCX 1.13. The launcher then
/// complains, correctly, that the processes exited too early.
[[noreturn]] void leave() {
  shmem_barrier_all();
  std::_Exit(0);
}

int start() {
  start_report report;
  shmem_init();
  report.library_is_up();
  const int rank = shmem_my_pe(), ranks = shmem_n_pes();
  auto* const flag = static_cast<long*>(shmem_calloc(1, sizeof(long)));
  shmem_barrier_all();  // the other rank may return from calloc before this one writes its zero
  if (rank == 0) shmem_long_p(flag, 1, 1);
  shmem_long_wait_until(flag, SHMEM_CMP_GE, 1);
  report.first_message();
  if (rank == 1) shmem_long_p(flag, 1, 0);
  report.print(rank, ranks);
  leave();
}

int measure(options o) {
  shmem_init();
  lci_perf::core_count();  // reads the affinity mask before this thread is pinned
  o.ranks = shmem_n_pes();
  if (o.ranks != 2) die(who.name, "it runs on 2 ranks");
  shmem_job all;
  shmem_window memory(window_bytes(o));
  one_sided<shmem_window> what(o, all, memory);
  run(who, o, all, what);
  leave();
}

}  // namespace
}  // namespace peers

int main(int argc, char** argv) {
  return peers::asks_for_start(argc, argv) ? peers::start() : peers::measure(peers::parse(argc, argv, peers::who));
}
