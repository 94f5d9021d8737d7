// Requests for open files: data that fits in a message, sizes, folder listings.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "execute.hpp"

namespace io_server {

namespace {

int read_inline(int fd, const request& h, reply& answer, outgoing& out) {
  if (h.b < 0 || static_cast<size_t>(h.b) > std::min(most_inline, out.room)) return EINVAL;
  ssize_t n;
  while ((n = pread(fd, out.data, static_cast<size_t>(h.b), h.a)) < 0 && errno == EINTR) {
  }
  if (n < 0) return errno;
  answer.result = n;
  out.size = static_cast<size_t>(n);
  return 0;
}

int write_inline(const open_file& file, const received& r, reply& answer) {
  const bool appends = r.head.a < 0;
  if (appends && (file.flags & O_APPEND) == 0) return EINVAL;
  ssize_t n;
  while ((n = appends ? write(file.fd.get(), r.data, r.head.data_size)
                      : pwrite(file.fd.get(), r.data, r.head.data_size, r.head.a)) < 0 &&
         errno == EINTR) {
  }
  if (n < 0) return errno;
  answer.result = n;
  answer.second = appends ? lseek(file.fd.get(), 0, SEEK_CUR) : r.head.a + n;
  return 0;
}

int list(open_file& file, const request& h, reply& answer, outgoing& out) {
  std::lock_guard guard(file.position);
  if (lseek(file.fd.get(), h.a, SEEK_SET) < 0) return errno;
  const size_t room = std::min(out.room, static_cast<size_t>(std::max<int64_t>(h.b, 0)));
  const long n = syscall(SYS_getdents64, file.fd.get(), out.data, room);
  if (n < 0) return errno;
  answer.result = n;
  out.size = static_cast<size_t>(n);
  return 0;
}

/// Finds data or a hole. The position of the descriptor changes; only appending writes use that position, so for files
/// to which these are possible another descriptor is used.
int seek_data(const open_file& file, const request& h, reply& answer) {
  if (h.b != SEEK_DATA && h.b != SEEK_HOLE) return EINVAL;
  if ((file.flags & O_PATH) != 0) return EBADF;
  descriptor other;
  int fd = file.fd.get();
  if ((file.flags & O_APPEND) != 0) {
    other = descriptor(open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
    if (!other) return EINVAL;
    fd = other.get();
  }
  answer.result = lseek(fd, h.a, static_cast<int>(h.b));
  return answer.result < 0 ? errno : 0;
}

/// Tells the client the descriptor, which it may copy with pidfd_getfd() to read the file itself. The kernel allows
/// that to processes that may also read the server's memory, so lending gives no new right. Refuses files that are open
/// for writing, unless the client is about to map one.
int lend(const open_file& file, const request& h, reply& answer) {
  struct stat status {};
  const int access = file.flags & (O_ACCMODE | O_PATH);
  if (access != O_RDONLY && (h.a == 0 || access != O_RDWR)) return EPERM;
  if (fstat(file.fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return EPERM;
  answer.result = getpid();
  answer.second = file.fd.get();
  return 0;
}

}  // namespace

int execute_on_file(session& client, const received& r, reply& answer, outgoing& out) {
  const std::shared_ptr<open_file> file = client.find(r.head.handle);
  if (file == nullptr) return EBADF;
  const int fd = file->fd.get();
  const request& h = r.head;
  switch (h.what) {
    case op::read:
      return read_inline(fd, h, answer, out);
    case op::write:
      return write_inline(*file, r, answer);
    case op::ftruncate:
      return errno_of(ftruncate(fd, h.a));
    case op::fsync:
      return errno_of(h.a != 0 ? fdatasync(fd) : fsync(fd));
    case op::fallocate:
      return errno_of(fallocate(fd, static_cast<int>(h.c), h.a, h.b));
    case op::seek:
      return seek_data(*file, h, answer);
    case op::list:
      return list(*file, h, answer, out);
    case op::lend:
      if (const int error = lend(*file, h, answer)) return error;
      break;
    default:
      break;
  }
  struct statx status {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) return errno;
  std::memcpy(out.data, &status, sizeof status);
  out.size = sizeof status;
  return 0;
}

}  // namespace io_server
