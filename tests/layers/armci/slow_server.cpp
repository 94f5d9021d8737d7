// A process that repeats a read-modify-write of its own memory until a process of another host has changed the memory:
// it executes the other one's request itself, since the thread that serves requests gets little of its processor.
#include <armci.h>
#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using clock = std::chrono::steady_clock;
constexpr int rounds = 50;

/// Gives the other threads of this process the processor of the calling one, when that has no use for it.
void hold_back_others() {
  const auto me = static_cast<int>(syscall(SYS_gettid));
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &here);
  DIR* const all = opendir("/proc/self/task");
  while (const dirent* const one = readdir(all)) {
    const int thread = std::atoi(one->d_name);
    if (thread == 0) continue;
    sched_setaffinity(thread, sizeof here, &here);
    const sched_param none{};
    if (thread != me) sched_setscheduler(thread, SCHED_IDLE, &none);
  }
  closedir(all);
}

/// Repeats the operation, as for a lock, until the memory is not 0.
void spin(int op, void* memory, clock::time_point end) {
  long found = 0;
  do {
    found = 0;
    ARMCI_Rmw(op, &found, memory, 0, 0);
    if (clock::now() > end) {
      std::fprintf(stderr, "FAILED: the requests of the other process wait while this one repeats operation %d\n", op);
      _exit(1);
    }
  } while (found == 0);
}

}  // namespace

int main() {
  ARMCI_Init();
  const int me = armci_msg_me();
  void* memory[2];
  ARMCI_Malloc(memory, sizeof(long) * 4);
  std::memset(memory[me], 0, sizeof(long) * 4);
  ARMCI_Barrier();
  if (me == 0) {
    hold_back_others();
  }
  constexpr int ops[] = {ARMCI_SWAP, ARMCI_SWAP_LONG, ARMCI_FETCH_AND_ADD, ARMCI_FETCH_AND_ADD_LONG};
  const clock::time_point end = clock::now() + std::chrono::seconds(20);
  for (int i = 0; i < 4 * rounds; ++i) {
    long* const at = static_cast<long*>(memory[0]) + i % 4;
    char nothing = 0;
    long value = 1;
    if (me == 0) {
      *at = 0;
      armci_msg_snd(i, &nothing, 1, 1);
      spin(ops[i % 4], at, end);
    } else {
      armci_msg_rcv(i, &nothing, 1, nullptr, 0);
      usleep(1000);  // until the other one repeats its operation
      ARMCI_Rmw(ARMCI_SWAP_LONG, &value, at, 0, 0);
    }
  }
  ARMCI_Barrier();
  ARMCI_Free(memory[me]);
  ARMCI_Finalize();
  return 0;
}
