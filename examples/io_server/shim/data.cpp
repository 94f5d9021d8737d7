// Reading, writing, positions, and functions that affect a file's data: sizes, synchronization, allocation.
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "calls.hpp"
#include "data.hpp"
#include "real.hpp"

namespace io_shim {

using io_server::op;

namespace {

int size_of(using_file& f, int64_t* size) {
  struct statx status {};
  const int error = f.client().stat(f.handle(), &status);
  *size = static_cast<int64_t>(status.stx_size);
  return error;
}

/// If an error follows a partial transfer, the call returns the number of bytes; the next call will return the error.
int error_unless_some(int error, size_t done) { return done > 0 ? 0 : error; }

}  // namespace

ssize_t read_at(int fd, void* to, size_t size, int64_t offset) {
  if (to == nullptr && size != 0) return result_of(EFAULT);
  size_t done = 0;
  if (with_file(fd, [&](using_file& f) {
        return error_unless_some(f.client().read(f.handle(), to, size, offset, &done), done);
      }) != 0)
    return -1;
  return static_cast<ssize_t>(done);
}

namespace {

ssize_t write_at(int fd, const void* from, size_t size, int64_t offset) {
  if (from == nullptr && size != 0) return result_of(EFAULT);
  size_t done = 0;
  if (with_file(fd, [&](using_file& f) {
        const int64_t at =
            (f.file().flags() & O_APPEND) != 0 ? -1 : offset;  // Linux appends although an offset is given
        return error_unless_some(f.client().write(f.handle(), from, size, at, &done), done);
      }) != 0)
    return -1;
  return static_cast<ssize_t>(done);
}

/// Bytes. Pieces of up to this size together are gathered on the stack into one request.
constexpr size_t together = io_server::most_inline;
/// Bytes. Pieces of this size or more on average are transferred in place, others are gathered in memory of the heap.
constexpr size_t large = size_t{64} << 10;

/// Returns memory in which pieces are gathered; null if each is to be transferred alone. `whole`: they must be one
/// request, if that is possible.
std::unique_ptr<char[]> memory_for(size_t total, int n, bool whole) {
  if (n < 2 || total > io_server::most_bulk || (!whole && total / static_cast<size_t>(n) >= large)) return nullptr;
  return std::unique_ptr<char[]>(new (std::nothrow) char[total]);
}

bool appends(int fd) { return (file_of(fd)->flags() & O_APPEND) != 0; }

/// Returns the errno of a call with these pieces, or 0. Sets *total to their size, or to SIZE_MAX if each piece must be
/// transferred alone, since one has no memory.
int check_pieces(const iovec* pieces, int n, size_t* total) {
  *total = 0;
  if (n < 0 || n > IOV_MAX) return EINVAL;
  if (pieces == nullptr && n > 0) return EFAULT;
  for (int i = 0; i < n; ++i) {
    const size_t size = pieces[i].iov_len;
    if (size > SSIZE_MAX) return EINVAL;
    const bool is_alone = *total == SIZE_MAX || size > SIZE_MAX - *total || (pieces[i].iov_base == nullptr && size > 0);
    *total = is_alone ? SIZE_MAX : *total + size;
  }
  return 0;
}

template <class One>
ssize_t each(const iovec* pieces, int n, One one) {
  ssize_t total = 0;
  for (int i = 0; i < n; ++i) {
    if (pieces[i].iov_len == 0) continue;
    const ssize_t part = one(pieces[i].iov_base, pieces[i].iov_len, total);
    if (part < 0) return total > 0 ? total : -1;
    total += part;
    if (static_cast<size_t>(part) < pieces[i].iov_len) break;
  }
  return total;
}

/// Reads into several pieces. `one(memory, size, offset)` reads one; `offset` counts from the first piece.
template <class One>
ssize_t scatter(const iovec* pieces, int n, One one) {
  size_t total = 0;
  if (const int error = check_pieces(pieces, n, &total)) return result_of(error);
  const auto heap = total > together ? memory_for(total, n, false) : nullptr;
  if (n < 2 || (total > together && heap == nullptr)) return each(pieces, n, one);
  char stack[together];
  const char* const memory = heap != nullptr ? heap.get() : stack;
  const ssize_t got = one(heap != nullptr ? heap.get() : stack, total, 0);
  size_t left = got < 0 ? 0 : static_cast<size_t>(got);
  size_t at = 0;
  for (int i = 0; i < n && left > 0; ++i) {
    const size_t part = std::min(pieces[i].iov_len, left);
    if (part != 0) std::memcpy(pieces[i].iov_base, memory + at, part);
    at += part;
    left -= part;
  }
  return got;
}

/// Writes several pieces. `whole`: as one request, if that is possible.
template <class One>
ssize_t gather(const iovec* pieces, int n, bool whole, One one) {
  size_t total = 0;
  if (const int error = check_pieces(pieces, n, &total)) return result_of(error);
  const auto heap = total > together ? memory_for(total, n, whole) : nullptr;
  if (n < 2 || (total > together && heap == nullptr)) return each(pieces, n, one);
  char stack[together];
  char* const memory = heap != nullptr ? heap.get() : stack;
  size_t at = 0;
  for (int i = 0; i < n; ++i) {
    if (pieces[i].iov_len != 0) std::memcpy(memory + at, pieces[i].iov_base, pieces[i].iov_len);
    at += pieces[i].iov_len;
  }
  return one(memory, total, 0);
}

/// Sets *n to the number of bytes between the position and the file's end, as FIONREAD does.
int count_unread(int fd, int* n) {
  return with_file(fd, [=](using_file& f) {
    int64_t size = 0;
    if (const int error = size_of(f, &size)) return error;
    const int64_t left = size - remote_file::position(f.file()).get();
    *n = static_cast<int>(std::clamp<int64_t>(left, INT_MIN, INT_MAX));
    return 0;
  });
}

}  // namespace

ssize_t read_next(int fd, void* to, size_t size) {
  if (to == nullptr && size != 0) return result_of(EFAULT);
  size_t done = 0;
  if (with_file(fd, [&](using_file& f) {
        remote_file::position at(f.file());
        const int error = f.client().read(f.handle(), to, size, at.get(), &done);
        at.set(at.get() + static_cast<int64_t>(done));
        return error_unless_some(error, done);
      }) != 0)
    return -1;
  return static_cast<ssize_t>(done);
}

ssize_t write_next(int fd, const void* from, size_t size) {
  if (from == nullptr && size != 0) return result_of(EFAULT);
  size_t done = 0;
  if (with_file(fd, [&](using_file& f) {
        remote_file::position at(f.file());
        const bool appends = (f.file().flags() & O_APPEND) != 0;
        int64_t behind = at.get();
        const int error = f.client().write(f.handle(), from, size, appends ? -1 : at.get(), &done, &behind);
        if (done > 0) at.set(appends ? behind : at.get() + static_cast<int64_t>(done));
        return error_unless_some(error, done);
      }) != 0)
    return -1;
  return static_cast<ssize_t>(done);
}

off_t seek(int fd, off_t offset, int whence) {
  int64_t result = -1;
  const int error = with_file(fd, [&](using_file& f) {
    if ((f.file().flags() & O_PATH) != 0) return EBADF;
    remote_file::position at(f.file());
    int64_t from = 0;
    if (whence == SEEK_CUR) from = at.get();
    if (whence == SEEK_END)
      if (const int e = size_of(f, &from)) return e;
    if (whence == SEEK_DATA || whence == SEEK_HOLE) {
      if (const int e = f.client().seek(f.handle(), offset, whence, &result)) return e;
      at.set(result);
      return 0;
    }
    if (whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END) return EINVAL;
    if (__builtin_add_overflow(from, offset, &result)) return EINVAL;
    if (result < 0) return EINVAL;
    at.set(result);
    return 0;
  });
  return error == 0 ? result : -1;
}

}  // namespace io_shim

using namespace io_shim;

namespace {

/// The same as is_remote(), in functions that are cancellation points.
bool is_remote_here(int fd) {
  const bool is = is_remote(fd);
  if (is) pthread_testcancel();
  return is;
}

}  // namespace

IO_EXPORT ssize_t read(int fd, void* to, size_t size) {
  return is_remote_here(fd) ? read_next(fd, to, size) : IO_REAL(read)(fd, to, size);
}
IO_EXPORT ssize_t __read_chk(int fd, void* to, size_t size, size_t room) {
  if (size > room) __builtin_trap();
  return read(fd, to, size);
}
IO_EXPORT ssize_t write(int fd, const void* from, size_t size) {
  return is_remote_here(fd) ? write_next(fd, from, size) : IO_REAL(write)(fd, from, size);
}
IO_EXPORT ssize_t pread(int fd, void* to, size_t size, off_t offset) {
  if (!is_remote_here(fd)) return IO_REAL(pread)(fd, to, size, offset);
  return offset < 0 ? result_of(EINVAL) : read_at(fd, to, size, offset);
}
IO_ALIAS(pread64, pread);
IO_EXPORT ssize_t __pread_chk(int fd, void* to, size_t size, off_t offset, size_t room) {
  if (size > room) __builtin_trap();
  return pread(fd, to, size, offset);
}
IO_ALIAS(__pread64_chk, __pread_chk);
IO_EXPORT ssize_t pwrite(int fd, const void* from, size_t size, off_t offset) {
  if (!is_remote_here(fd)) return IO_REAL(pwrite)(fd, from, size, offset);
  return offset < 0 ? result_of(EINVAL) : write_at(fd, from, size, offset);
}
IO_ALIAS(pwrite64, pwrite);

IO_EXPORT ssize_t readv(int fd, const iovec* pieces, int n) {
  if (!is_remote_here(fd)) return IO_REAL(readv)(fd, pieces, n);
  return scatter(pieces, n, [fd](void* to, size_t size, ssize_t) { return read_next(fd, to, size); });
}
IO_EXPORT ssize_t writev(int fd, const iovec* pieces, int n) {
  if (!is_remote_here(fd)) return IO_REAL(writev)(fd, pieces, n);
  return gather(pieces, n, appends(fd),
                [fd](const void* from, size_t size, ssize_t) { return write_next(fd, from, size); });
}
IO_EXPORT ssize_t preadv(int fd, const iovec* pieces, int n, off_t at) {
  if (!is_remote_here(fd)) return IO_REAL(preadv)(fd, pieces, n, at);
  if (at < 0) return result_of(EINVAL);
  return scatter(pieces, n, [=](void* to, size_t size, ssize_t done) { return read_at(fd, to, size, at + done); });
}
IO_ALIAS(preadv64, preadv);
IO_EXPORT ssize_t pwritev(int fd, const iovec* pieces, int n, off_t at) {
  if (!is_remote_here(fd)) return IO_REAL(pwritev)(fd, pieces, n, at);
  if (at < 0) return result_of(EINVAL);
  return gather(pieces, n, appends(fd),
                [=](const void* from, size_t size, ssize_t done) { return write_at(fd, from, size, at + done); });
}
IO_ALIAS(pwritev64, pwritev);

// The flags are hints, or request durability. `at` -1 is the descriptor's position.
constexpr int known_flags = RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND;
IO_EXPORT ssize_t preadv2(int fd, const iovec* pieces, int n, off_t at, int flags) {
  if (!is_remote(fd)) return IO_REAL(preadv2)(fd, pieces, n, at, flags);
  if ((flags & ~known_flags) != 0) return result_of(EOPNOTSUPP);
  return at == -1 ? readv(fd, pieces, n) : preadv(fd, pieces, n, at);
}
IO_ALIAS(preadv64v2, preadv2);
IO_EXPORT ssize_t pwritev2(int fd, const iovec* pieces, int n, off_t at, int flags) {
  if (!is_remote(fd)) return IO_REAL(pwritev2)(fd, pieces, n, at, flags);
  if ((flags & ~known_flags) != 0 || (flags & RWF_APPEND) != 0) return result_of(EOPNOTSUPP);
  const ssize_t written = at == -1 ? writev(fd, pieces, n) : pwritev(fd, pieces, n, at);
  if (written >= 0 && (flags & (RWF_SYNC | RWF_DSYNC)) != 0 && fdatasync(fd) != 0) return -1;
  return written;
}
IO_ALIAS(pwritev64v2, pwritev2);

IO_EXPORT off_t lseek(int fd, off_t offset, int whence) noexcept {
  return is_remote(fd) ? seek(fd, offset, whence) : IO_REAL(lseek)(fd, offset, whence);
}
IO_ALIAS(lseek64, lseek);

IO_EXPORT int ftruncate(int fd, off_t size) noexcept {
  if (!is_remote(fd)) return IO_REAL(ftruncate)(fd, size);
  return with_file(fd, [=](using_file& f) { return f.client().call(op::ftruncate, f.handle(), size); });
}
IO_ALIAS(ftruncate64, ftruncate);
IO_EXPORT int fsync(int fd) {
  if (!is_remote_here(fd)) return IO_REAL(fsync)(fd);
  return with_file(fd, [](using_file& f) { return f.client().call(op::fsync, f.handle()); });
}
IO_EXPORT int fdatasync(int fd) {
  if (!is_remote_here(fd)) return IO_REAL(fdatasync)(fd);
  return with_file(fd, [](using_file& f) { return f.client().call(op::fsync, f.handle(), 1); });
}
IO_EXPORT int syncfs(int fd) noexcept { return is_remote(fd) ? fsync(fd) : IO_REAL(syncfs)(fd); }
IO_EXPORT int sync_file_range(int fd, off64_t from, off64_t size, unsigned flags) {
  return is_remote(fd) ? fdatasync(fd) : IO_REAL(sync_file_range)(fd, from, size, flags);
}
IO_EXPORT int fallocate(int fd, int mode, off_t from, off_t size) {
  if (!is_remote(fd)) return IO_REAL(fallocate)(fd, mode, from, size);
  return with_file(fd, [=](using_file& f) { return f.client().call(op::fallocate, f.handle(), from, size, mode); });
}
IO_ALIAS(fallocate64, fallocate);
IO_EXPORT int posix_fallocate(int fd, off_t from, off_t size) {
  if (!is_remote(fd)) return IO_REAL(posix_fallocate)(fd, from, size);
  return fallocate(fd, 0, from, size) == 0 ? 0 : errno;
}
IO_ALIAS(posix_fallocate64, posix_fallocate);
IO_EXPORT int posix_fadvise(int fd, off_t from, off_t size, int advice) noexcept {
  return is_remote(fd) ? 0 : IO_REAL(posix_fadvise)(fd, from, size, advice);
}
IO_ALIAS(posix_fadvise64, posix_fadvise);
IO_EXPORT ssize_t readahead(int fd, off64_t from, size_t size) noexcept {
  return is_remote(fd) ? 0 : IO_REAL(readahead)(fd, from, size);
}
// These fail for remote files; programs then fall back to read() and write().
IO_EXPORT ssize_t copy_file_range(int from, off64_t* at, int to, off64_t* there, size_t size, unsigned flags) {
  if (is_remote(from) || is_remote(to)) return result_of(EXDEV);
  return IO_REAL(copy_file_range)(from, at, to, there, size, flags);
}
IO_EXPORT ssize_t sendfile(int to, int from, off_t* at, size_t size) noexcept {
  return is_remote(from) || is_remote(to) ? result_of(EINVAL) : IO_REAL(sendfile)(to, from, at, size);
}
IO_ALIAS(sendfile64, sendfile);
IO_EXPORT ssize_t splice(int from, off64_t* at, int to, off64_t* there, size_t size, unsigned flags) {
  return is_remote(from) || is_remote(to) ? result_of(EINVAL) : IO_REAL(splice)(from, at, to, there, size, flags);
}

// Requests about remote files are not forwarded. They must not reach the anonymous file behind the descriptor. FIONBIO
// is another form of fcntl(F_SETFL), by which Python sets O_NONBLOCK.
IO_EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list more;
  va_start(more, request);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (!is_remote(fd) || request == FIOCLEX || request == FIONCLEX) return IO_REAL(ioctl)(fd, request, argument);
  if (request == FIONBIO) {
    if (argument == nullptr) return result_of(EFAULT);
    const auto file = file_of(fd);
    file->set_flags((file->flags() & ~O_NONBLOCK) | (*static_cast<int*>(argument) != 0 ? O_NONBLOCK : 0));
    return 0;
  }
  if (request == FICLONE || request == FICLONERANGE || request == FIDEDUPERANGE || request == FS_IOC_FIEMAP)
    return result_of(EOPNOTSUPP);
  if (request != FIONREAD) return result_of(ENOTTY);
  return count_unread(fd, static_cast<int*>(argument));
}
