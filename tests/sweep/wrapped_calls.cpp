// Wraps the C library's system calls: symbols of an executable take precedence over those of libraries. Calls within
// the C library are not counted. Not used with sanitizers, which wrap these calls themselves, already before main().
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstddef>

#include "tests/sweep/faults.hpp"

namespace {

/// The wrapped function of the C library, or of a sanitizer.
template <class F>
F* behind(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

bool fails(sweep::call which) {
  const int error = sweep::count(which);
  if (error != 0) errno = error;
  return error != 0;
}

/// As fails(), for a call that may also transfer a part of its bytes.
bool fails(sweep::call which, bool& part) {
  const int error = sweep::count(which);
  part = error == sweep::partly;
  if (error != 0) errno = error;
  return error != 0 && !part;
}

size_t half(size_t size) { return size > 1 ? size / 2 : size; }

/// The same message with half of its bytes.
struct first_half {
  explicit first_half(const msghdr& whole) : message(whole) {
    size_t all = 0;
    for (size_t i = 0; i < whole.msg_iovlen; ++i) all += whole.msg_iov[i].iov_len;
    size_t left = half(all), n = 0;
    for (; n < whole.msg_iovlen && n < pieces.size() && left > 0; ++n) {
      pieces[n] = whole.msg_iov[n];
      pieces[n].iov_len = std::min(pieces[n].iov_len, left);
      left -= pieces[n].iov_len;
    }
    message.msg_iov = pieces.data();
    message.msg_iovlen = n;
  }
  first_half(const first_half&) = delete;
  first_half& operator=(const first_half&) = delete;

  std::array<iovec, 64> pieces{};
  msghdr message;
};

/// The call for a number of syscall(); `end` if it is not counted.
sweep::call call_of(long number) {
  switch (number) {
    case SYS_futex:
      return sweep::call::futex;
    case SYS_membarrier:
      return sweep::call::membarrier;
    case SYS_pidfd_open:
      return sweep::call::pidfd_open;
    case SYS_userfaultfd:
      return sweep::call::userfaultfd;
    default:
      return sweep::call::end;
  }
}

}  // namespace

extern "C" {

// A wrapper: the call, its symbol in programs with large files, its result, parameters and arguments.
#define WRAPPED(call_name, symbol, result, parameters, arguments)       \
  result symbol parameters {                                            \
    static auto* const real = behind<result parameters>(#symbol);       \
    return fails(sweep::call::call_name) ? result(-1) : real arguments; \
  }

WRAPPED(socket, socket, int, (int domain, int type, int protocol), (domain, type, protocol))
WRAPPED(bind, bind, int, (int fd, const sockaddr* at, socklen_t size), (fd, at, size))
WRAPPED(listen, listen, int, (int fd, int backlog), (fd, backlog))
WRAPPED(connect, connect, int, (int fd, const sockaddr* to, socklen_t size), (fd, to, size))
WRAPPED(accept4, accept4, int, (int fd, sockaddr* from, socklen_t* size, int flags), (fd, from, size, flags))
WRAPPED(getsockname, getsockname, int, (int fd, sockaddr* at, socklen_t* size), (fd, at, size))
WRAPPED(getpeername, getpeername, int, (int fd, sockaddr* at, socklen_t* size), (fd, at, size))
WRAPPED(getsockopt, getsockopt, int, (int fd, int level, int name, void* value, socklen_t* size),
        (fd, level, name, value, size))
WRAPPED(setsockopt, setsockopt, int, (int fd, int level, int name, const void* value, socklen_t size),
        (fd, level, name, value, size))
WRAPPED(socketpair, socketpair, int, (int domain, int type, int protocol, int* fds), (domain, type, protocol, fds))
WRAPPED(shutdown, shutdown, int, (int fd, int how) noexcept, (fd, how))
WRAPPED(read, read, ssize_t, (int fd, void* data, size_t size), (fd, data, size))
WRAPPED(write, write, ssize_t, (int fd, const void* data, size_t size), (fd, data, size))
WRAPPED(poll, poll, int, (pollfd * fds, nfds_t n, int timeout), (fds, n, timeout))
WRAPPED(ppoll, ppoll, int, (pollfd * fds, nfds_t n, const timespec* timeout, const sigset_t* mask),
        (fds, n, timeout, mask))
WRAPPED(epoll_create1, epoll_create1, int, (int flags), (flags))
WRAPPED(epoll_ctl, epoll_ctl, int, (int queue, int operation, int fd, epoll_event* event),
        (queue, operation, fd, event))
WRAPPED(epoll_wait, epoll_wait, int, (int queue, epoll_event* events, int most, int timeout),
        (queue, events, most, timeout))
WRAPPED(eventfd, eventfd, int, (unsigned initial, int flags), (initial, flags))
WRAPPED(fstat, fstat64, int, (int fd, struct stat64* what), (fd, what))
WRAPPED(munmap, munmap, int, (void* base, size_t size), (base, size))
WRAPPED(madvise, madvise, int, (void* base, size_t size, int advice), (base, size, advice))
WRAPPED(memfd_create, memfd_create, int, (const char* name, unsigned flags), (name, flags))
WRAPPED(ftruncate, ftruncate64, int, (int fd, off64_t size), (fd, size))
WRAPPED(fallocate, fallocate64, int, (int fd, int mode, off64_t offset, off64_t size), (fd, mode, offset, size))
WRAPPED(process_vm_readv, process_vm_readv, ssize_t,
        (pid_t pid, const iovec* here, unsigned long n_here, const iovec* there, unsigned long n_there,
         unsigned long flags),
        (pid, here, n_here, there, n_there, flags))
WRAPPED(process_vm_writev, process_vm_writev, ssize_t,
        (pid_t pid, const iovec* here, unsigned long n_here, const iovec* there, unsigned long n_there,
         unsigned long flags),
        (pid, here, n_here, there, n_there, flags))
WRAPPED(getrandom, getrandom, ssize_t, (void* data, size_t size, unsigned flags), (data, size, flags))
#undef WRAPPED

// Calls that may transfer a part of their bytes.

ssize_t send(int fd, const void* data, size_t size, int flags) {
  static auto* const real = behind<ssize_t(int, const void*, size_t, int)>("send");
  bool part = false;
  if (fails(sweep::call::send, part)) return -1;
  return real(fd, data, part ? half(size) : size, flags);
}

ssize_t recv(int fd, void* data, size_t size, int flags) {
  static auto* const real = behind<ssize_t(int, void*, size_t, int)>("recv");
  bool part = false;
  if (fails(sweep::call::recv, part)) return -1;
  return real(fd, data, part ? half(size) : size, flags);
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  static auto* const real = behind<ssize_t(int, const msghdr*, int)>("sendmsg");
  bool part = false;
  if (fails(sweep::call::sendmsg, part)) return -1;
  const first_half some(*message);
  return real(fd, part ? &some.message : message, flags);
}

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  static auto* const real = behind<ssize_t(int, msghdr*, int)>("recvmsg");
  bool part = false;
  if (fails(sweep::call::recvmsg, part)) return -1;
  first_half some(*message);
  return real(fd, part ? &some.message : message, flags);
}

void* mmap64(void* at, size_t size, int protection, int flags, int fd, off64_t offset) {
  static auto* const real = behind<void*(void*, size_t, int, int, int, off64_t)>("mmap64");
  return fails(sweep::call::mmap) ? MAP_FAILED : real(at, size, protection, flags, fd, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attr, void* (*body)(void*), void* argument) {
  static auto* const real = behind<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  const int error = sweep::count(sweep::call::pthread_create);
  return error != 0 ? error : real(thread, attr, body, argument);
}

// Functions with variable arguments, passed on with the maximum number of arguments.

int open64(const char* path, int flags, ...) {
  static auto* const real = behind<int(const char*, int, ...)>("open64");
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  return fails(sweep::call::open) ? -1 : real(path, flags, mode);
}

int fcntl64(int fd, int command, ...) {
  static auto* const real = behind<int(int, int, ...)>("fcntl64");
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fails(sweep::call::fcntl) ? -1 : real(fd, command, argument);
}

int ioctl(int fd, unsigned long request, ...) {
  static auto* const real = behind<int(int, unsigned long, ...)>("ioctl");
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fails(sweep::call::ioctl) ? -1 : real(fd, request, argument);
}

long syscall(long number, ...) {
  static auto* const real = behind<long(long, ...)>("syscall");
  va_list rest;
  va_start(rest, number);
  long a[6];
  for (long& each : a) each = va_arg(rest, long);
  va_end(rest);
  const sweep::call which = call_of(number);
  if (which != sweep::call::end && fails(which)) return -1;
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"

#endif
