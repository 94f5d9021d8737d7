// Preloaded into lci_iod: some calls take as many seconds as the variable SLOW_DISK says: fsync(), ftruncate() to 4711
// bytes, and pwrite() of bytes that begin with `slow`.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace {

void wait() { sleep(static_cast<unsigned>(std::atoi(std::getenv("SLOW_DISK")))); }

}  // namespace

extern "C" int fsync(int fd) {
  wait();
  return static_cast<int>(syscall(SYS_fsync, fd));
}

extern "C" int ftruncate64(int fd, off_t size) noexcept {
  if (size == 4711) wait();
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

extern "C" ssize_t pwrite64(int fd, const void* from, size_t size, off_t at) {
  if (size >= 4 && std::memcmp(from, "slow", 4) == 0) wait();
  return syscall(SYS_pwrite64, fd, from, size, at);
}
