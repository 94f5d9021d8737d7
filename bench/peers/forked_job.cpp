#include "bench/peers/forked_job.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "bench/lci_perf/binding.hpp"

namespace peers {
namespace {
constexpr int most_numbers = 256;
constexpr size_t most_bytes = 4096;
}  // namespace

struct forked_job::shared {
  alignas(128) std::atomic<int> arrived{0};
  alignas(128) std::atomic<unsigned> turn{0};
  round next;
  struct {
    size_t size = 0;
    char bytes[most_bytes];
  } published[most_numbers];
};

forked_job::forked_job(int rank_, int ranks_, bool crowded, shared* memory, int child)
    : job(rank_, ranks_), crowded_(crowded), shared_(memory), child_(child) {}

forked_job forked_job::make(int ranks, bool crowded) {
  void* const at = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) die("mmap", std::strerror(errno));
  auto* const memory = new (at) shared;
  int child = 0;
  if (ranks == 2) {
    const int parent = getpid();
    child = fork();
    if (child < 0) die("fork", std::strerror(errno));
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // else this rank would wait for ever
      if (getppid() != parent) std::_Exit(1);
      return {1, ranks, crowded, memory, 0};
    }
    // And the other way round: rank 0 spins, and would not notice the end of its child.
    signal(SIGCHLD, [](int) {
      int status = 0;
      if (waitpid(-1, &status, WNOHANG) > 0 && status != 0) _exit(1);
    });
  }
  return {0, ranks, crowded, memory, child};
}

forked_job::~forked_job() {
  if (child_ == 0) return;
  int status = 0;
  if (waitpid(child_, &status, 0) == child_ && status != 0) std::_Exit(1);
}

void forked_job::barrier() {
  const unsigned turn = shared_->turn.load(std::memory_order_relaxed);
  // B1: the last process to arrive sees what the other did before
  if (shared_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks) {
    shared_->arrived.store(0, std::memory_order_relaxed);
    shared_->turn.store(turn + 1, std::memory_order_release);  // B2: pairs with B3
    return;
  }
  lci_perf::waiter w(crowded_);
  while (shared_->turn.load(std::memory_order_acquire) == turn) {  // B3: pairs with B2
    if (idle_) idle_();
    w.idle();
  }
}

void forked_job::broadcast(round& r) {
  if (rank == 0) shared_->next = r;
  barrier();
  r = shared_->next;
  barrier();  // rank 0 must not write the next one before
}

void forked_job::publish(int number, const void* bytes, size_t size) {
  if (number >= most_numbers || size > most_bytes) die("publish", "more than there is room for");
  std::memcpy(shared_->published[number].bytes, bytes, size);
  shared_->published[number].size = size;
}

std::vector<char> forked_job::look_up(int number) const {
  const auto& found = shared_->published[number];
  return {found.bytes, found.bytes + found.size};
}

}  // namespace peers
