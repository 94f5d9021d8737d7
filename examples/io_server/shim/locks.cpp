// fcntl() and flock(). Requests of locks never block at the server, so a blocking call repeats its request.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <ctime>

#include "calls.hpp"
#include "opening.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

using io_server::op;

/// Returns whether a function that waits fails with EINTR after this signal's handler: it does unless sigaction() was
/// given SA_RESTART.
bool interrupts(int signal) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_RESTART) != 0) return false;
  return (now.sa_flags & SA_SIGINFO) != 0 || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
}

/// The pauses between two requests. Signals are blocked in its scope, except at the end of each pause: a signal that
/// arrived during a request would otherwise interrupt nothing.
class pauses {
 public:
  pauses() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~pauses() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  pauses(const pauses&) = delete;
  pauses& operator=(const pauses&) = delete;

  /// Waits for one pause and lets pending signals be handled. Returns false if the handler of one of them was installed
  /// without SA_RESTART: then the caller must fail with EINTR.
  bool wait() {
    const timespec t{0, next_};
    {
      const uncancellable whole;  // flock() is no cancellation point
      nanosleep(&t, nullptr);
    }
    next_ = std::min(2 * next_, 20'000'000L);
    sigset_t arrived, all;
    sigpending(&arrived);
    bool goes_on = true;
    for (int s = 1; s <= SIGRTMAX; ++s)
      if (sigismember(&arrived, s) == 1 && sigismember(&before_, s) == 0 && interrupts(s)) goes_on = false;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);  // the handlers run here
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    return goes_on;
  }

 private:
  sigset_t before_;
  long next_ = 200'000;
};

/// Requests a lock. If `waits` is set, repeats the request while another process holds the lock, until a signal
/// interrupts the wait.
template <class Request>
int request_lock(bool waits, Request request) {
  if (!waits) return request();
  for (pauses p;;) {
    const int result = request();
    if (result == 0 || (errno != EAGAIN && errno != EACCES)) return result;
    if (!p.wait()) return result_of(EINTR);
  }
}

/// Converts the start of a lock, which may be relative to the position or the end, to an absolute offset. Must not set
/// the position: other threads and processes that share it read and write meanwhile.
int absolute(int fd, struct flock& l) {
  int64_t base = 0;
  if (l.l_whence == SEEK_CUR) {
    base = ::lseek(fd, 0, SEEK_CUR);
    if (base < 0) return errno;
  } else if (l.l_whence == SEEK_END) {
    struct stat s {};
    if (::fstat(fd, &s) != 0) return errno;
    base = s.st_size;
  } else if (l.l_whence != SEEK_SET) {
    return EINVAL;
  }
  if (__builtin_add_overflow(base, l.l_start, &l.l_start)) return EOVERFLOW;
  l.l_whence = SEEK_SET;
  return l.l_start < 0 ? EINVAL : 0;
}

int lock(int fd, int command, struct flock& l) {
  struct flock wanted = l;
  const bool is_of_file = command == F_OFD_GETLK || command == F_OFD_SETLK || command == F_OFD_SETLKW;
  if (is_of_file && l.l_pid != 0) return result_of(EINVAL);
  if (const int error = absolute(fd, wanted)) return result_of(error);
  const int64_t kind = wanted.l_type | (is_of_file ? io_server::of_open_file : 0);
  if (command == F_GETLK || command == F_OFD_GETLK) {
    return with_file(fd, [&](using_file& f) {
      int type = 0;
      int64_t at[2] = {wanted.l_start, wanted.l_len};
      const int error = f.client().test_lock(f.handle(), kind, &type, at);
      if (error != 0) return error;
      l.l_type = static_cast<short>(type);
      if (type == F_UNLCK) return 0;
      l.l_whence = SEEK_SET;
      l.l_start = at[0];
      l.l_len = at[1];
      // The owner is another client, whose process id is not known. -1 stands for locks of open files.
      l.l_pid = is_of_file ? -1 : 0;
      return 0;
    });
  }
  return request_lock(command == F_SETLKW || command == F_OFD_SETLKW, [&] {
    pthread_testcancel();
    return with_file(
        fd, [&](using_file& f) { return f.client().call(op::lock, f.handle(), kind, wanted.l_start, wanted.l_len); });
  });
}

/// Records that the process has locks: then it ends its session before it exits, which releases them.
int noted(int result) {
  if (result == 0) note_lock();
  return result;
}

int control(int fd, int command, void* argument) {
  const auto number = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return duplicate_above(fd, command, number);
    case F_GETFD:
    case F_SETFD:
      return IO_REAL(fcntl)(fd, command, number);
    case F_GETFL:
      return file_of(fd)->flags() & ~(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC);
    case F_SETFL: {
      // O_APPEND was fixed when the server opened the file. The other flags that F_SETFL may change don't affect files.
      const auto file = file_of(fd);
      if (((file->flags() ^ number) & O_APPEND) != 0) return result_of(EINVAL);
      constexpr int may_change = O_NONBLOCK | O_NOATIME | O_ASYNC;
      file->set_flags((file->flags() & ~may_change) | (number & may_change));
      return 0;
    }
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return noted(lock(fd, command, *static_cast<struct flock*>(argument)));
    // They concern the descriptor only, or pipes.
    case F_GETOWN:
    case F_SETOWN:
    case F_GETOWN_EX:
    case F_SETOWN_EX:
    case F_GETSIG:
    case F_SETSIG:
    case F_GETLEASE:
    case F_GETPIPE_SZ:
    case F_SETPIPE_SZ:
      return IO_REAL(fcntl)(fd, command, argument);
    default:
      return result_of(EINVAL);
  }
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void* argument = va_arg(more, void*);
  va_end(more);
  if (is_remote(fd)) return control(fd, command, argument);
  return IO_REAL(fcntl)(fd, command, argument);
}
IO_ALIAS(fcntl64, fcntl);

IO_EXPORT int lockf(int fd, int command, off_t size) {
  if (!is_remote(fd)) return IO_REAL(lockf)(fd, command, size);
  if (command != F_LOCK && command != F_TLOCK && command != F_ULOCK && command != F_TEST) return result_of(EINVAL);
  struct flock l {};
  l.l_whence = SEEK_CUR;
  l.l_len = size;
  l.l_type = command == F_ULOCK ? F_UNLCK : F_WRLCK;
  if (command == F_TEST) {
    l.l_type = F_RDLCK;  // as in glibc
    if (fcntl(fd, F_GETLK, &l) != 0) return -1;
    return l.l_type == F_UNLCK ? 0 : result_of(EACCES);
  }
  return fcntl(fd, command == F_LOCK ? F_SETLKW : F_SETLK, &l);
}
IO_ALIAS(lockf64, lockf);

IO_EXPORT int flock(int fd, int operation) noexcept {
  if (!is_remote(fd)) return IO_REAL(flock)(fd, operation);
  return noted(request_lock((operation & LOCK_NB) == 0, [=] {
    return with_file(fd, [=](using_file& f) { return f.client().call(op::flock, f.handle(), operation & ~LOCK_NB); });
  }));
}
