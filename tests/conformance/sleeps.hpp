// What tests of sleeping threads know of the system.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace conf {

/// Returns true if a thread that waits in shared memory wakes up every half a millisecond. LCI does so where the
/// system call membarrier() can't order the memory accesses of other processes' threads, as a sender may then overlook
/// that its receiver sleeps.
inline bool sleeps_are_short() {
  const char* const backend = std::getenv("LCI_ATTR_BACKEND");
  if (backend != nullptr && *backend != '\0' && std::string(backend) != "shm") return false;
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return commands < 0 || (commands & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

}  // namespace conf
