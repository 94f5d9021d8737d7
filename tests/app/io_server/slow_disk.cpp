// Preloaded into lci_iod: fsync() takes as many seconds as the variable SLOW_DISK says.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int fsync(int fd) {
  sleep(static_cast<unsigned>(std::atoi(std::getenv("SLOW_DISK"))));
  return static_cast<int>(syscall(SYS_fsync, fd));
}
