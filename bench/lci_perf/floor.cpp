#include "bench/lci_perf/floor.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/lci_perf/binding.hpp"

namespace lci_perf {
namespace {

volatile sig_atomic_t second_may_end = 0;

void on_child_end(int) {
  if (second_may_end) return;
  static const char text[] = "lci_perf: the second process of the pair died\n";
  [[maybe_unused]] const ssize_t written = write(2, text, sizeof(text) - 1);
  _exit(1);
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "lci_perf: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

}  // namespace

void* shared_memory(size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail("mmap of shared memory");
  std::memset(p, 0, bytes);
  return p;
}

void run_pair(const options& o, const std::function<void()>& first, const std::function<void()>& second) {
  std::fflush(stdout);
  second_may_end = 0;
  struct sigaction action = {};
  action.sa_handler = on_child_end;
  sigaction(SIGCHLD, &action, nullptr);
  core_count();  // reads the affinity mask before this thread is pinned
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);  // the parent died before prctl()
    bind_thread(o.bind, 1, 1, 0);
    second();
    // Must not exit: `first` may still have to read our memory.
    while (true) pause();
  }
  bind_thread(o.bind, 0, 1, 0);
  first();
  second_may_end = 1;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

int run_floor(const options& o) {
  if (core_count() < 2 && o.metric != metric_kind::memcpy && o.metric != metric_kind::atomic &&
      o.metric != metric_kind::strided) {
    std::fprintf(stderr, "lci_perf: floor %s needs two cores; this process may use only one\n", name_of(o.metric));
    return 1;
  }
  switch (o.metric) {
    case metric_kind::handoff:
      floor_handoff(o);
      break;
    case metric_kind::ring64:
      floor_ring(o);
      break;
    case metric_kind::cma:
      floor_cma(o);
      break;
    case metric_kind::atomic:
      floor_atomic(o);
      break;
    case metric_kind::strided:
      floor_strided(o);
      break;
    default:
      floor_memcpy(o);
      break;
  }
  return 0;
}

}  // namespace lci_perf
