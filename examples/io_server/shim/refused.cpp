// Functions that are not forwarded, although their arguments may be remote files. They fail as on a file system that
// lacks the feature: the system would use local files of the same names, or the anonymous files behind descriptors.
#include <aio.h>
#include <alloca.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>

#include "calls.hpp"
#include "real.hpp"

namespace io_shim {

int refusal_of(const place& p, int error, bool follow) {
  if (simple(io_server::op::access, p, F_OK, follow) == 0) return error;
  const bool is_missing = errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG;
  return is_missing ? errno : error;
}

namespace {

int refuse(const place& p, int error) { return result_of(refusal_of(p, error)); }

/// Executing a program, as on a file system that is mounted with `noexec`.
int refuse_program(const place& p) { return refuse(p, EACCES); }

/// Returns whether execvp(), execlp() and posix_spawnp() search for the program in PATH.
bool is_searched(const char* file) { return file == nullptr || std::strchr(file, '/') == nullptr; }

/// Returns the path of an address of a Unix socket; empty if the address is of another kind, or has no path.
std::string socket_path(const sockaddr* address, socklen_t size) {
  if (configured().server.empty() || address == nullptr || size <= offsetof(sockaddr_un, sun_path) ||
      address->sa_family != AF_UNIX)
    return {};
  const char* const path = reinterpret_cast<const sockaddr_un*>(address)->sun_path;
  return {path, strnlen(path, std::min<size_t>(size - offsetof(sockaddr_un, sun_path), sizeof(sockaddr_un::sun_path)))};
}

/// Returns the error number of a connect() or sendto() to this address, or 0 if the address is not a remote path. The
/// server has no sockets.
int error_of_peer(const sockaddr* address, socklen_t size) {
  return unless_no_memory(
      [&] {
        const std::string path = socket_path(address, size);
        if (path.empty()) return 0;
        const place p(path.c_str());
        return p.remote() ? refusal_of(p, ECONNREFUSED) : 0;
      },
      [](int error) { return error; });
}

int error_of_name(const sockaddr* address, socklen_t size) {
  return unless_no_memory(
      [&] {
        const std::string path = socket_path(address, size);
        if (path.empty()) return 0;
        const place p(path.c_str());
        if (!p.remote()) return 0;
        return simple(io_server::op::access, p, F_OK, 0) == 0 ? EADDRINUSE : EPERM;
      },
      [](int error) { return error; });
}

bool means_descriptor(int fd, const char* path, int flags) {
  return path != nullptr && *path == '\0' && (flags & AT_EMPTY_PATH) != 0 && is_remote(fd);
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

// Stores the arguments of execl() and its relatives, with the null pointer at the end, in `arguments`. With `last` at
// the argument after the null pointer.
#define IO_ARGUMENTS(first, last)                                                 \
  va_list last;                                                                   \
  va_start(last, first);                                                          \
  size_t io_count = 2;                                                            \
  while ((first) != nullptr && va_arg(last, char*) != nullptr) ++io_count;        \
  va_end(last);                                                                   \
  char** const arguments = static_cast<char**>(alloca(io_count * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                        \
  va_start(last, first);                                                          \
  for (size_t i = 1; i < io_count; ++i) arguments[i] = (first) != nullptr ? va_arg(last, char*) : nullptr

IO_EXPORT int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  const place p(path);
  return p.remote() ? refuse_program(p) : IO_REAL(execve)(p.local(), arguments, environment);
}
IO_EXPORT int execv(const char* path, char* const arguments[]) noexcept {
  const place p(path);
  return p.remote() ? refuse_program(p) : IO_REAL(execv)(p.local(), arguments);
}
IO_EXPORT int execvp(const char* file, char* const arguments[]) noexcept {
  if (is_searched(file)) return IO_REAL(execvp)(file, arguments);
  const place p(file);
  return p.remote() ? refuse_program(p) : IO_REAL(execvp)(p.local(), arguments);
}
IO_EXPORT int execvpe(const char* file, char* const arguments[], char* const environment[]) noexcept {
  if (is_searched(file)) return IO_REAL(execvpe)(file, arguments, environment);
  const place p(file);
  return p.remote() ? refuse_program(p) : IO_REAL(execvpe)(p.local(), arguments, environment);
}
IO_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  IO_ARGUMENTS(first, rest);
  va_end(rest);
  return execv(path, arguments);
}
IO_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  IO_ARGUMENTS(first, rest);
  va_end(rest);
  return execvp(file, arguments);
}
IO_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  IO_ARGUMENTS(first, rest);
  char* const* const environment = va_arg(rest, char**);
  va_end(rest);
  return execve(path, arguments, environment);
}
IO_EXPORT int fexecve(int fd, char* const arguments[], char* const environment[]) noexcept {
  return is_remote(fd) ? result_of(EACCES) : IO_REAL(fexecve)(fd, arguments, environment);
}
IO_EXPORT int execveat(int folder, const char* path, char* const arguments[], char* const environment[],
                       int flags) noexcept {
  if (means_descriptor(folder, path, flags)) return result_of(EACCES);
  const place p(folder, path);
  return p.remote() ? refuse_program(p) : IO_REAL(execveat)(folder, p.local(), arguments, environment, flags);
}
IO_EXPORT int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                          const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  const place p(path);
  return p.remote() ? refusal_of(p, EACCES)
                    : IO_REAL(posix_spawn)(child, p.local(), actions, attributes, arguments, environment);
}
IO_EXPORT int posix_spawnp(pid_t* child, const char* file, const posix_spawn_file_actions_t* actions,
                           const posix_spawnattr_t* attributes, char* const arguments[], char* const environment[]) {
  if (is_searched(file)) return IO_REAL(posix_spawnp)(child, file, actions, attributes, arguments, environment);
  const place p(file);
  return p.remote() ? refusal_of(p, EACCES)
                    : IO_REAL(posix_spawnp)(child, p.local(), actions, attributes, arguments, environment);
}

IO_EXPORT int bind(int socket, const sockaddr* address, socklen_t size) noexcept {
  const int error = error_of_name(address, size);
  return error != 0 ? result_of(error) : IO_REAL(bind)(socket, address, size);
}
IO_EXPORT int connect(int socket, const sockaddr* address, socklen_t size) {
  const int error = error_of_peer(address, size);
  return error != 0 ? result_of(error) : IO_REAL(connect)(socket, address, size);
}
IO_EXPORT ssize_t sendto(int socket, const void* from, size_t size, int flags, const sockaddr* address,
                         socklen_t address_size) {
  const int error = address != nullptr ? error_of_peer(address, address_size) : 0;
  return error != 0 ? result_of(error) : IO_REAL(sendto)(socket, from, size, flags, address, address_size);
}

IO_EXPORT int inotify_add_watch(int fd, const char* path, uint32_t events) noexcept {
  const place p(path);
  return p.remote() ? refuse(p, EOPNOTSUPP) : IO_REAL(inotify_add_watch)(fd, p.local(), events);
}
IO_EXPORT int fanotify_mark(int fd, unsigned flags, uint64_t events, int folder, const char* path) noexcept {
  if (path == nullptr && is_remote(folder)) return result_of(EOPNOTSUPP);
  const place p(folder, path);
  return p.remote() ? refuse(p, EOPNOTSUPP) : IO_REAL(fanotify_mark)(fd, flags, events, folder, p.local());
}
IO_EXPORT int name_to_handle_at(int folder, const char* path, file_handle* handle, int* mount, int flags) noexcept {
  if (means_descriptor(folder, path, flags)) return result_of(EOPNOTSUPP);
  const place p(folder, path);
  return p.remote() ? refuse(p, EOPNOTSUPP) : IO_REAL(name_to_handle_at)(folder, p.local(), handle, mount, flags);
}
IO_EXPORT int chroot(const char* path) noexcept {
  const place p(path);
  return p.remote() ? refuse(p, EPERM) : IO_REAL(chroot)(p.local());
}

// The C library's threads would read and write the anonymous file.
IO_EXPORT int aio_read(aiocb* operation) noexcept {
  return is_remote(operation->aio_fildes) ? result_of(ENOSYS) : IO_REAL(aio_read)(operation);
}
IO_EXPORT int aio_write(aiocb* operation) noexcept {
  return is_remote(operation->aio_fildes) ? result_of(ENOSYS) : IO_REAL(aio_write)(operation);
}
IO_EXPORT int aio_fsync(int how, aiocb* operation) noexcept {
  return is_remote(operation->aio_fildes) ? result_of(ENOSYS) : IO_REAL(aio_fsync)(how, operation);
}
IO_EXPORT int lio_listio(int mode, aiocb* const list[], int n, sigevent* event) noexcept {
  for (int i = 0; i < n; ++i)
    if (list[i] != nullptr && list[i]->aio_lio_opcode != LIO_NOP && is_remote(list[i]->aio_fildes))
      return result_of(ENOSYS);
  return IO_REAL(lio_listio)(mode, list, n, event);
}
static_assert(sizeof(aiocb) == sizeof(aiocb64));
IO_EXPORT int aio_read64(aiocb64* operation) noexcept { return aio_read(reinterpret_cast<aiocb*>(operation)); }
IO_EXPORT int aio_write64(aiocb64* operation) noexcept { return aio_write(reinterpret_cast<aiocb*>(operation)); }
IO_EXPORT int aio_fsync64(int how, aiocb64* operation) noexcept {
  return aio_fsync(how, reinterpret_cast<aiocb*>(operation));
}
IO_EXPORT int lio_listio64(int mode, aiocb64* const list[], int n, sigevent* event) noexcept {
  return lio_listio(mode, reinterpret_cast<aiocb* const*>(list), n, event);
}
