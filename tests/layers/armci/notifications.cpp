// A process that sleeps in armci_notify_wait() is woken by the notification, also of a process that shares its memory.
#include <armci.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

int main() {
  constexpr int rounds = 21;
  ARMCI_Init();
  const int me = armci_msg_me(), other = 1 - me;
  double times[rounds];
  ARMCI_Barrier();
  for (double& t : times) {
    int value = 0;
    const auto begin = std::chrono::steady_clock::now();
    if (me == 0) {
      usleep(20000);  // the other one sleeps by now
      armci_notify(other);
      armci_notify_wait(other, &value);
    } else {
      armci_notify_wait(other, &value);
      armci_notify(other);
    }
    t = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  // A sleep that nobody ends takes 50 ms.
  std::nth_element(times, times + rounds / 2, times + rounds);
  const double usual = times[rounds / 2] * 1e3;
  if (usual > 40) std::printf("FAILED: %.1f ms for a round\n", usual);
  ARMCI_Barrier();
  ARMCI_Finalize();
  return usual > 40 ? 1 : 0;
}
