// Descriptors: open, close, dup.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

#include "calls.hpp"
#include "folders.hpp"
#include "opening.hpp"
#include "real.hpp"
#include "streams.hpp"

namespace io_shim {

namespace {

// A copy of the process's umask. Read from the system once only, since reading it changes it for a moment, in which
// other threads may create files; then umask() updates the copy.
std::atomic<mode_t>& process_umask() {
  static std::atomic<mode_t>& now = *new std::atomic<mode_t>([] {
    const mode_t mask = IO_REAL(umask)(0);
    IO_REAL(umask)(mask);
    return mask;
  }());
  return now;
}

}  // namespace

mode_t masked(mode_t mode) { return mode & ~process_umask().load(); }

namespace {

bool wants_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

int open_at_server(io_server::client& c, const place& p, int flags, mode_t mode, io_server::client::opened* what) {
  // Processes that inherit the descriptor share the open file at the server. The number can't be guessed.
  what->number = uint64_t{arc4random()} << 32 | arc4random() | 1;
  return c.open(p.at(c), flags, wants_mode(flags) ? masked(mode) : 0, what);
}

/// The path by which the file is opened again. That of a folder has no symbolic links: paths relative to it may begin
/// with `..`.
std::string path_of(const place& p, const io_server::client::opened& what) {
  return what.path[0] != '\0' ? what.path : p.inner();
}

bool read_all(int fd, void* to, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = IO_REAL(read)(fd, static_cast<char*>(to) + done, size - done);
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

/// Opens a file in a child of vfork() whose parent has no connection to the server. The child must not connect, as it
/// uses its parent's memory: it forks a process that connects and opens the file. The descriptor is of use only to the
/// program that the child executes, which opens the file again by what the descriptor says.
int open_by_helper(const place& p, int flags, mode_t mode, bool as_cwd) {
  struct {
    int error = EIO;
    io_server::client::opened what;
  } answer;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  const pid_t helper = fork();
  if (helper == 0) {
    answer.error =
        with_client([&](io_server::client& c) { return open_at_server(c, p, flags, mode, &answer.what); }) == 0 ? 0
                                                                                                                : errno;
    const ssize_t n = IO_REAL(write)(ends[1], &answer, sizeof answer);
    end_session();
    IO_REAL(_exit)(n == static_cast<ssize_t>(sizeof answer) ? 0 : 1);
  }
  IO_REAL(close)(ends[1]);
  if (helper > 0) {
    if (!read_all(ends[0], &answer, sizeof answer)) answer.error = EIO;
    waitpid(helper, nullptr, 0);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  IO_REAL(close)(ends[0]);
  if (answer.error != 0) return result_of(answer.error);
  std::shared_ptr<remote_file> file;
  const int fd = remote_file::create(path_of(p, answer.what), flags, answer.what, nullptr, file);
  if (fd >= 0 && as_cwd) file->mark_as_cwd();
  return fd;
}

}  // namespace

int open_remote(const place& p, int flags, mode_t mode, bool as_cwd) {
  if (!is_connected() && is_borrowed()) return open_by_helper(p, flags, mode, as_cwd);
  int fd = -1;
  const int result = with_client([&](io_server::client& c) {
    io_server::client::opened what;
    const int e = open_at_server(c, p, flags, mode, &what);
    if (e != 0) return e;
    std::shared_ptr<remote_file> file;
    fd = remote_file::create(path_of(p, what), flags, what, &c, file);
    if (fd < 0) {
      const int why = errno;
      c.close(what.handle);
      return why;
    }
    if (as_cwd) file->mark_as_cwd();
    // In a child of vfork() the descriptor is for the program that it executes: the table is the parent's.
    if (!is_borrowed()) set_file(fd, std::move(file));
    return 0;
  });
  if (result != 0) {
    const int why = errno;
    if (fd >= 0) IO_REAL(close)(fd);  // there was no memory to note that it is a remote one
    return result_of(why);
  }
  follow_standard_stream(fd);
  return fd;
}

namespace {

int open_any(int folder, const char* path, int flags, mode_t mode) {
  const place p(folder, path);
  if (!p.remote()) return IO_REAL(openat)(folder, p.local(), flags, mode);
  pthread_testcancel();
  return open_remote(p, flags, mode);
}

/// Descriptors of which the program does not know.
bool is_hidden(int fd) { return is_of_lci(fd) || (fd >= 0 && !is_inside() && fd == current_cwd_descriptor()); }

int close_any(int fd) {
  if (is_hidden(fd)) return result_of(EBADF);
  if (is_remote(fd) && !is_borrowed()) {
    set_file(fd, nullptr);
    const int result = IO_REAL(close)(fd);
    follow_standard_stream(fd);
    return result;
  }
  return IO_REAL(close)(fd);
}

/// Associates a duplicated descriptor with the file of the old one.
int duplicated(int from, int to) {
  if (to < 0 || is_borrowed()) return to;
  if (is_remote(from)) {
    set_file(to, file_of(from));
    follow_standard_stream(to);
  } else if (is_remote(to)) {
    set_file(to, nullptr);
    follow_standard_stream(to);
  }
  return to;
}

}  // namespace

int duplicate_above(int fd, int command, int least) {
  const int made = IO_REAL(fcntl)(fd, command, least);
  return unless_no_memory([&] { return duplicated(fd, made); },
                          [&](int error) {
                            IO_REAL(close)(made);
                            return result_of(error);
                          });
}

}  // namespace io_shim

using namespace io_shim;

#define IO_MODE(flags)           \
  mode_t mode = 0;               \
  if (wants_mode(flags)) {       \
    va_list more;                \
    va_start(more, flags);       \
    mode = va_arg(more, mode_t); \
    va_end(more);                \
  }

IO_EXPORT int open(const char* path, int flags, ...) {
  IO_MODE(flags)
  return open_any(AT_FDCWD, path, flags, mode);
}
IO_ALIAS(open64, open);
IO_EXPORT int openat(int folder, const char* path, int flags, ...) {
  IO_MODE(flags)
  return open_any(folder, path, flags, mode);
}
IO_ALIAS(openat64, openat);
IO_EXPORT int creat(const char* path, mode_t mode) {
  return open_any(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}
IO_ALIAS(creat64, creat);
// With _FORTIFY_SOURCE, <fcntl.h> redirects open() without a mode to this function.
IO_EXPORT int __open_2(const char* path, int flags) { return open_any(AT_FDCWD, path, flags, 0); }
IO_ALIAS(__open64_2, __open_2);
IO_EXPORT int __openat_2(int folder, const char* path, int flags) { return open_any(folder, path, flags, 0); }
IO_ALIAS(__openat64_2, __openat_2);

IO_EXPORT mode_t umask(mode_t mask) noexcept {
  if (!is_borrowed()) process_umask().store(mask & 0777);
  return IO_REAL(umask)(mask);
}

IO_EXPORT int close(int fd) { return close_any(fd); }

IO_EXPORT int close_range(unsigned first, unsigned last, int flags) noexcept {
  constexpr int only_marks = 4;  // CLOSE_RANGE_CLOEXEC
  const int cwd = current_cwd_descriptor();
  if ((flags & only_marks) == 0 && !is_borrowed())
    for (const int fd : remote_descriptors())
      if (static_cast<unsigned>(fd) >= first && static_cast<unsigned>(fd) <= last) close_any(fd);
  // LCI's descriptors stay open. They are few, have the highest numbers, and are closed by exec(). So does the one by
  // which an executed program inherits the working folder.
  for (unsigned fd = first; fd <= last && fd < 65536; ++fd) {
    if (!is_of_lci(static_cast<int>(fd)) && static_cast<int>(fd) != cwd) continue;
    if (fd > first && IO_REAL(close_range)(first, fd - 1, flags) != 0) return -1;
    first = fd + 1;
  }
  return first > last ? 0 : IO_REAL(close_range)(first, last, flags);
}
IO_EXPORT void closefrom(int first) noexcept { close_range(static_cast<unsigned>(first < 0 ? 0 : first), ~0U, 0); }

IO_EXPORT int dup(int fd) noexcept { return duplicated(fd, IO_REAL(dup)(fd)); }
IO_EXPORT int dup2(int from, int to) noexcept {
  if (is_hidden(to)) return result_of(EBADF);
  const int result = IO_REAL(dup2)(from, to);
  return result < 0 || from == to ? result : duplicated(from, result);
}
IO_EXPORT int dup3(int from, int to, int flags) noexcept {
  if (is_hidden(to)) return result_of(EBADF);
  return duplicated(from, IO_REAL(dup3)(from, to, flags));
}
