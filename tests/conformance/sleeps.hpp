// What tests of sleeping threads know of the system.
#pragma once

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace conf {

/// Returns true if sleeps in shared memory last half a millisecond only, as the system has no barrier on the
/// threads of other processes, so that a message may fail to wake its receiver.
inline bool sleeps_are_short() {
  const char* const backend = std::getenv("LCI_ATTR_BACKEND");
  if (backend != nullptr && *backend != '\0' && std::string(backend) != "shm") return false;
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return commands < 0 || (commands & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

}  // namespace conf
