// Modes, owners, times and sizes by path; extended attributes, which the server does not support.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>

#include "calls.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

using io_server::op;

constexpr int itself_flags = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH;

bool is_valid(const timespec* t) {
  return t == nullptr || std::all_of(t, t + 2, [](const timespec& one) {
           return one.tv_nsec == UTIME_NOW || one.tv_nsec == UTIME_OMIT ||
                  (one.tv_nsec >= 0 && one.tv_nsec < 1'000'000'000);
         });
}

constexpr timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};

int set_times(int fd, const timespec* t) {
  if (!is_valid(t)) return result_of(EINVAL);
  if (t == nullptr) t = now;
  const int64_t rest = io_server::packed_times(true, t[0].tv_nsec, t[1].tv_nsec);
  return with_file(
      fd, [=](using_file& f) { return f.client().call(op::utimens, f.handle(), t[0].tv_sec, t[1].tv_sec, rest); });
}
int set_times(const place& p, const timespec* t, bool follow) {
  if (!is_valid(t)) return result_of(EINVAL);
  if (t == nullptr) t = now;
  return simple(op::utimens, p, t[0].tv_sec, t[1].tv_sec, io_server::packed_times(follow, t[0].tv_nsec, t[1].tv_nsec));
}

/// Converts two times; null means now.
struct times_of {
  explicit times_of(const timeval* t) : given(t != nullptr) {
    if (!given) return;
    for (int i = 0; i < 2; ++i) both[i] = {t[i].tv_sec, t[i].tv_usec * 1000};
  }
  const timespec* get() const { return given ? both : nullptr; }
  bool given;
  timespec both[2];
};

/// Symbolic links have no modes.
int chmod_itself(const place& p, mode_t mode) {
  struct statx x {};
  if (with_client([&](io_server::client& c) { return c.stat(p.at(c), false, &x); }) != 0) return -1;
  return S_ISLNK(x.stx_mode) ? result_of(EOPNOTSUPP) : simple(op::chmod, p, mode);
}

int own(const place& p, uid_t user, gid_t group, bool follow) { return simple(op::chown, p, user, group, follow); }

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT int truncate(const char* path, off_t size) noexcept {
  const place p(path);
  return p.remote() ? simple(op::truncate, p, size) : IO_REAL(truncate)(p.local(), size);
}
IO_ALIAS(truncate64, truncate);

IO_EXPORT int chmod(const char* path, mode_t mode) noexcept {
  const place p(path);
  return p.remote() ? simple(op::chmod, p, mode) : IO_REAL(chmod)(p.local(), mode);
}
IO_EXPORT int fchmod(int fd, mode_t mode) noexcept {
  if (!is_remote(fd)) return IO_REAL(fchmod)(fd, mode);
  return with_file(fd, [=](using_file& f) { return f.client().call(op::chmod, f.handle(), mode); });
}
IO_EXPORT int fchmodat(int folder, const char* path, mode_t mode, int flags) noexcept {
  const place p(folder, path);
  if (!p.remote()) return IO_REAL(fchmodat)(folder, p.local(), mode, flags);
  if ((flags & ~AT_SYMLINK_NOFOLLOW) != 0) return result_of(EINVAL);
  return (flags & AT_SYMLINK_NOFOLLOW) != 0 ? chmod_itself(p, mode) : simple(op::chmod, p, mode);
}
IO_EXPORT int lchmod(const char* path, mode_t mode) noexcept {
  const place p(path);
  return p.remote() ? chmod_itself(p, mode) : IO_REAL(lchmod)(p.local(), mode);
}

IO_EXPORT int chown(const char* path, uid_t user, gid_t group) noexcept {
  const place p(path);
  return p.remote() ? own(p, user, group, true) : IO_REAL(chown)(p.local(), user, group);
}
IO_EXPORT int lchown(const char* path, uid_t user, gid_t group) noexcept {
  const place p(path);
  return p.remote() ? own(p, user, group, false) : IO_REAL(lchown)(p.local(), user, group);
}
IO_EXPORT int fchown(int fd, uid_t user, gid_t group) noexcept {
  if (!is_remote(fd)) return IO_REAL(fchown)(fd, user, group);
  return with_file(fd, [=](using_file& f) { return f.client().call(op::chown, f.handle(), user, group); });
}
IO_EXPORT int fchownat(int folder, const char* path, uid_t user, gid_t group, int flags) noexcept {
  if (path != nullptr && *path == '\0' && is_remote(folder)) return fchown(folder, user, group);
  const place p(folder, path);
  if (!p.remote()) return IO_REAL(fchownat)(folder, p.local(), user, group, flags);
  if ((flags & ~itself_flags) != 0) return result_of(EINVAL);
  return own(p, user, group, (flags & AT_SYMLINK_NOFOLLOW) == 0);
}

IO_EXPORT int utimensat(int folder, const char* path, const timespec* t, int flags) noexcept {
  if (path == nullptr && is_remote(folder)) return set_times(folder, t);
  const place p(folder, path);
  if (!p.remote()) return IO_REAL(utimensat)(folder, p.local(), t, flags);
  if ((flags & ~itself_flags) != 0) return result_of(EINVAL);
  return set_times(p, t, (flags & AT_SYMLINK_NOFOLLOW) == 0);
}
IO_EXPORT int futimens(int fd, const timespec* t) noexcept {
  return is_remote(fd) ? set_times(fd, t) : IO_REAL(futimens)(fd, t);
}
IO_EXPORT int utimes(const char* path, const timeval* t) noexcept {
  const place p(path);
  return p.remote() ? set_times(p, times_of(t).get(), true) : IO_REAL(utimes)(p.local(), t);
}
IO_EXPORT int lutimes(const char* path, const timeval* t) noexcept {
  const place p(path);
  return p.remote() ? set_times(p, times_of(t).get(), false) : IO_REAL(lutimes)(p.local(), t);
}
IO_EXPORT int futimes(int fd, const timeval* t) noexcept {
  return is_remote(fd) ? set_times(fd, times_of(t).get()) : IO_REAL(futimes)(fd, t);
}
IO_EXPORT int futimesat(int folder, const char* path, const timeval* t) noexcept {
  const place p(folder, path);
  return p.remote() ? set_times(p, times_of(t).get(), true) : IO_REAL(futimesat)(folder, p.local(), t);
}
IO_EXPORT int utime(const char* path, const utimbuf* t) noexcept {
  const place p(path);
  if (!p.remote()) return IO_REAL(utime)(p.local(), t);
  if (t == nullptr) return set_times(p, nullptr, true);
  const timespec both[2] = {{t->actime, 0}, {t->modtime, 0}};
  return set_times(p, both, true);
}

#define IO_NO_ATTRIBUTES(follow, type, name, rest, arguments)            \
  IO_EXPORT type name rest noexcept {                                    \
    const place p(path);                                                 \
    if (p.remote()) return result_of(refusal_of(p, EOPNOTSUPP, follow)); \
    path = p.local();                                                    \
    return IO_REAL(name) arguments;                                      \
  }
// On file systems without attributes the list is empty. Programs report other results as errors.
#define IO_EMPTY_LIST(follow, name)                                          \
  IO_EXPORT ssize_t name(const char* path, char* to, size_t room) noexcept { \
    const place p(path);                                                     \
    if (p.remote()) return result_of(refusal_of(p, 0, follow));              \
    return IO_REAL(name)(p.local(), to, room);                               \
  }
#define IO_NO_ATTRIBUTES_OF_DESCRIPTOR(type, name, rest, arguments)                            \
  IO_EXPORT type name rest noexcept {                                                          \
    return is_remote(fd) ? static_cast<type>(result_of(EOPNOTSUPP)) : IO_REAL(name) arguments; \
  }
IO_NO_ATTRIBUTES(true, ssize_t, getxattr, (const char* path, const char* name, void* to, size_t room),
                 (path, name, to, room))
IO_NO_ATTRIBUTES(false, ssize_t, lgetxattr, (const char* path, const char* name, void* to, size_t room),
                 (path, name, to, room))
IO_EMPTY_LIST(true, listxattr)
IO_EMPTY_LIST(false, llistxattr)
IO_NO_ATTRIBUTES(true, int, setxattr, (const char* path, const char* name, const void* from, size_t size, int flags),
                 (path, name, from, size, flags))
IO_NO_ATTRIBUTES(false, int, lsetxattr, (const char* path, const char* name, const void* from, size_t size, int flags),
                 (path, name, from, size, flags))
IO_NO_ATTRIBUTES(true, int, removexattr, (const char* path, const char* name), (path, name))
IO_NO_ATTRIBUTES(false, int, lremovexattr, (const char* path, const char* name), (path, name))
IO_NO_ATTRIBUTES_OF_DESCRIPTOR(ssize_t, fgetxattr, (int fd, const char* name, void* to, size_t room),
                               (fd, name, to, room))
IO_NO_ATTRIBUTES_OF_DESCRIPTOR(int, fsetxattr, (int fd, const char* name, const void* from, size_t size, int flags),
                               (fd, name, from, size, flags))
IO_NO_ATTRIBUTES_OF_DESCRIPTOR(int, fremovexattr, (int fd, const char* name), (fd, name))
IO_EXPORT ssize_t flistxattr(int fd, char* to, size_t room) noexcept {
  if (!is_remote(fd)) return IO_REAL(flistxattr)(fd, to, room);
  return result_of((file_of(fd)->flags() & O_PATH) != 0 ? EBADF : 0);
}
