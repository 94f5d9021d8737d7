// A process asks from time to time whether one that it waits for is alive. That one may compute for long without a call
// of ARMCI; what it was asked then fills its lane (LCI_ATTR_SHM_LANE_SLOTS makes that short). The other one must not
// wait for it with its question when what it waits for has happened.
#include <armci.h>
#include <armcix.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace {

constexpr int computing = 4, more_computing = 6;  // seconds

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int failures = 0;
void expect_soon(const char* what, double since) {
  const double took = now() - since;
  if (took < computing + more_computing / 2.0) return;
  std::printf("FAILED %s: after %.1f s\n", what, took);
  ++failures;
}

}  // namespace

int main() {
  ARMCI_Init();
  ARMCI_Create_mutexes(1);
  const int me = armci_msg_me();
  if (me == 0) ARMCI_Lock(0, 0);
  ARMCI_Barrier();
  const double begin = now();
  if (me == 0) {
    sleep(computing);
    ARMCI_Unlock(0, 0);
    sleep(more_computing);
  } else if (me == 1) {  // a mutex that rank 0 holds
    ARMCI_Lock(0, 0);
    expect_soon("lock", begin);
    ARMCI_Unlock(0, 0);
  } else if (me == 2) {  // a message of any process, which rank 3 sends; rank 0 is the first that is asked
    int value = 0;
    armci_msg_rcvany(5, &value, sizeof value, nullptr);
    expect_soon("message", begin);
  } else {
    sleep(computing);
    int value = 1;
    armci_msg_snd(5, &value, sizeof value, 2);
  }
  ARMCI_Barrier();
  ARMCI_Destroy_mutexes();
  ARMCI_Finalize();
  return failures == 0 ? 0 : 1;
}
