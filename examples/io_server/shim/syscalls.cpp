// Replaces syscall(): programs call by number what older C libraries had no name for, as libuv does with statx(). Calls
// that can name a remote file or descriptor become calls of the functions of the same names.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstring>
#include <type_traits>
#include <utility>

#include "calls.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

using arguments = std::array<long, 6>;

// Without a static variable that is initialized at its first use: where threads wait for another one that initializes
// it, the C++ library calls syscall().
std::atomic<decltype(&::syscall)> real_syscall{nullptr};

long really(long number, const arguments& a) {
  auto function = real_syscall.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<decltype(&::syscall)>(dlsym(RTLD_NEXT, "syscall"));
    real_syscall.store(function, std::memory_order_relaxed);
  }
  return function(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

template <class To>
To converted(long from) {
  if constexpr (std::is_pointer_v<To>)
    return reinterpret_cast<To>(from);
  else
    return static_cast<To>(from);
}

/// Calls a function that has the system call's parameters.
template <class R, class... P, size_t... I>
long called(R (*function)(P...), const arguments& a, std::index_sequence<I...>) {
  const R result = function(converted<P>(a[I])...);
  if constexpr (std::is_pointer_v<R>)
    return reinterpret_cast<long>(result);
  else
    return static_cast<long>(result);
}
template <class R, class... P>
long called(R (*function)(P...), const arguments& a) {
  return called(function, a, std::index_sequence_for<P...>());
}

long open_by_number(int folder, long path, long flags, long mode) {
  return ::openat(folder, converted<const char*>(path), static_cast<int>(flags), static_cast<mode_t>(mode));
}

/// A scope in which the thread can't be cancelled: syscall() is no cancellation point, but some of the functions are.
class not_cancelled {
 public:
  not_cancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~not_cancelled() { pthread_setcancelstate(before_, nullptr); }
  not_cancelled(const not_cancelled&) = delete;
  not_cancelled& operator=(const not_cancelled&) = delete;

 private:
  int before_ = 0;
};

/// openat2() has no function. Programs that call it expect kernels without it, and use openat() there.
long open_with_how(arguments a) {
  const place p(static_cast<int>(a[0]), converted<const char*>(a[1]));
  if (p.remote()) return result_of(ENOSYS);
  a[1] = reinterpret_cast<long>(p.local());
  return really(SYS_openat2, a);
}

/// The system call's result is the size.
long working_folder(const arguments& a) {
  const char* const path = ::getcwd(converted<char*>(a[0]), static_cast<size_t>(a[1]));
  return path == nullptr ? -1 : static_cast<long>(std::strlen(path)) + 1;
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

#define IO_CASE(name, ...)     \
  case SYS_##name: {           \
    const not_cancelled scope; \
    return __VA_ARGS__;        \
  }
#define IO_CALL(name, function) IO_CASE(name, called(&::function, a))
#define IO_SAME(name) IO_CALL(name, name)

IO_EXPORT long syscall(long number, ...) noexcept {
  arguments a;
  va_list more;
  va_start(more, number);
  for (long& x : a) x = va_arg(more, long);
  va_end(more);
  if (is_inside()) return really(number, a);
  switch (number) {
    IO_SAME(close)
    IO_SAME(close_range)
    IO_SAME(dup)
    IO_SAME(dup3)
    IO_SAME(read)
    IO_SAME(write)
    IO_SAME(pread64)
    IO_SAME(pwrite64)
    IO_SAME(readv)
    IO_SAME(writev)
    IO_SAME(preadv)
    IO_SAME(pwritev)
    IO_SAME(lseek)
    IO_SAME(ftruncate)
    IO_SAME(truncate)
    IO_SAME(fsync)
    IO_SAME(fdatasync)
    IO_SAME(syncfs)
    IO_SAME(sync_file_range)
    IO_SAME(fallocate)
    IO_SAME(flock)
    IO_SAME(copy_file_range)
    IO_SAME(sendfile)
    IO_SAME(splice)
    IO_SAME(mmap)
    IO_SAME(statx)
    IO_SAME(fstat)
    IO_CALL(newfstatat, fstatat)
    IO_SAME(statfs)
    IO_SAME(fstatfs)
    IO_SAME(getdents64)
    IO_SAME(chdir)
    IO_SAME(fchdir)
    IO_SAME(umask)
    IO_SAME(fchmod)
    IO_SAME(fchown)
    IO_SAME(fchownat)
    IO_SAME(mkdirat)
    IO_SAME(mknodat)
    IO_SAME(unlinkat)
    IO_SAME(renameat2)
    IO_SAME(linkat)
    IO_SAME(symlinkat)
    IO_SAME(readlinkat)
    IO_SAME(getxattr)
    IO_SAME(lgetxattr)
    IO_SAME(fgetxattr)
    IO_SAME(listxattr)
    IO_SAME(llistxattr)
    IO_SAME(flistxattr)
    IO_SAME(setxattr)
    IO_SAME(lsetxattr)
    IO_SAME(fsetxattr)
    IO_SAME(removexattr)
    IO_SAME(lremovexattr)
    IO_SAME(fremovexattr)
    IO_CASE(openat, open_by_number(static_cast<int>(a[0]), a[1], a[2], a[3]))
    IO_CASE(openat2, open_with_how(a))
    IO_CASE(preadv2, ::preadv2(static_cast<int>(a[0]), converted<const iovec*>(a[1]), static_cast<int>(a[2]), a[3],
                               static_cast<int>(a[5])))
    IO_CASE(pwritev2, ::pwritev2(static_cast<int>(a[0]), converted<const iovec*>(a[1]), static_cast<int>(a[2]), a[3],
                                 static_cast<int>(a[5])))
    IO_CASE(fcntl, ::fcntl(static_cast<int>(a[0]), static_cast<int>(a[1]), a[2]))
    IO_CASE(ioctl, ::ioctl(static_cast<int>(a[0]), static_cast<unsigned long>(a[1]), a[2]))
    IO_CASE(getcwd, working_folder(a))
    IO_CASE(faccessat, ::faccessat(static_cast<int>(a[0]), converted<const char*>(a[1]), static_cast<int>(a[2]), 0))
    IO_CALL(faccessat2, faccessat)
    IO_CASE(fchmodat, ::fchmodat(static_cast<int>(a[0]), converted<const char*>(a[1]), static_cast<mode_t>(a[2]), 0))
    IO_CASE(utimensat,
            a[1] == 0 ? ::futimens(static_cast<int>(a[0]), converted<const timespec*>(a[2])) : called(&::utimensat, a))
#ifdef SYS_open  // of x86-64 only
    IO_CASE(open, open_by_number(AT_FDCWD, a[0], a[1], a[2]))
    IO_SAME(creat)
    IO_SAME(dup2)
    IO_SAME(stat)
    IO_SAME(lstat)
    IO_SAME(access)
    IO_SAME(chmod)
    IO_SAME(chown)
    IO_SAME(lchown)
    IO_SAME(mkdir)
    IO_SAME(mknod)
    IO_SAME(rmdir)
    IO_SAME(unlink)
    IO_SAME(rename)
    IO_SAME(renameat)
    IO_SAME(link)
    IO_SAME(symlink)
    IO_SAME(readlink)
    IO_SAME(utime)
    IO_SAME(utimes)
    IO_SAME(futimesat)
#endif
    default:
      return really(number, a);
  }
}
