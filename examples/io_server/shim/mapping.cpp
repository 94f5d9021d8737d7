// mmap() of remote files: reads the file into anonymous memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "calls.hpp"
#include "data.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

// The mapping is a copy, so it does not reflect later changes of the file; POSIX leaves that unspecified for private
// mappings. A writable shared mapping is refused, since writes to it would be lost.
void* map_copy(void* wish, size_t size, int protection, int flags, int fd, off_t offset) {
  const int kind = flags & MAP_TYPE, access = file_of(fd)->flags() & O_ACCMODE;
  const bool is_shared_writable = kind != MAP_PRIVATE && (protection & PROT_WRITE) != 0;
  if (access == O_WRONLY || (is_shared_writable && access != O_RDWR)) {
    errno = EACCES;
    return MAP_FAILED;
  }
  if (is_shared_writable) {
    errno = ENODEV;
    return MAP_FAILED;
  }
  if (offset < 0 || offset % sysconf(_SC_PAGESIZE) != 0 || size == 0) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  const int how = (flags & ~(MAP_TYPE | MAP_POPULATE)) | MAP_PRIVATE | MAP_ANONYMOUS;
  void* p = IO_REAL(mmap)(wish, size, PROT_READ | PROT_WRITE, how, -1, 0);
  if (p == MAP_FAILED) return p;
  const ssize_t n = read_at(fd, p, size, offset);
  if (n < 0) {
    const int error = errno;
    munmap(p, size);
    errno = error == EISDIR ? ENODEV : error;
    return MAP_FAILED;
  }
  if (protection != (PROT_READ | PROT_WRITE)) mprotect(p, size, protection);
  return p;
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT void* mmap(void* wish, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  if ((flags & MAP_ANONYMOUS) == 0 && is_remote(fd)) return map_copy(wish, size, protection, flags, fd, offset);
  return IO_REAL(mmap)(wish, size, protection, flags, fd, offset);
}
IO_ALIAS(mmap64, mmap);
