// mmap() of remote files: mappings are of the server's file if that is on this host. Otherwise the file is read into
// anonymous memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "calls.hpp"
#include "data.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

/// Maps the file itself. Returns MAP_FAILED if the server is on another host or does not lend its descriptor.
void* map_file(void* wish, size_t size, int protection, int flags, int fd, off_t offset) {
  void* p = MAP_FAILED;
  const int access = file_of(fd)->flags() & O_ACCMODE;
  with_file(fd, [&](using_file& f) {
    const io_server::descriptor file = f.client().to_map(f.handle(), access);
    if (!file) return ENODEV;
    p = IO_REAL(mmap)(wish, size, protection, flags, file.get(), offset);
    return p == MAP_FAILED ? errno : 0;
  });
  return p;
}

/// Returns whether the file is the index of a write-ahead log of SQLite. Its readers map it to see what others write to
/// it meanwhile, so a copy would make them return old data.
bool is_index_of_log(int fd) {
  constexpr std::string_view ending = "-shm";
  const std::string path = file_of(fd)->path();
  return path.size() >= ending.size() && path.substr(path.size() - ending.size()) == ending;
}

// A copy does not reflect later changes of the file; POSIX leaves that unspecified for private mappings. A writable
// shared mapping that can't be of the file is refused, since writes to it would be lost.
void* map_remote(void* wish, size_t size, int protection, int flags, int fd, off_t offset) {
  const int kind = flags & MAP_TYPE, access = file_of(fd)->flags() & O_ACCMODE;
  const bool is_shared_writable = kind != MAP_PRIVATE && (protection & PROT_WRITE) != 0;
  if (access == O_WRONLY || (is_shared_writable && access != O_RDWR)) {
    errno = EACCES;
    return MAP_FAILED;
  }
  if (offset < 0 || offset % sysconf(_SC_PAGESIZE) != 0 || size == 0 || kind == 0) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  void* const mapped = map_file(wish, size, protection, flags, fd, offset);
  if (mapped != MAP_FAILED || is_shared_writable) return mapped;
  if (kind != MAP_PRIVATE && is_index_of_log(fd)) {
    errno = ENODEV;
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
  if ((flags & MAP_ANONYMOUS) == 0 && is_remote(fd)) return map_remote(wish, size, protection, flags, fd, offset);
  return IO_REAL(mmap)(wish, size, protection, flags, fd, offset);
}
IO_ALIAS(mmap64, mmap);
