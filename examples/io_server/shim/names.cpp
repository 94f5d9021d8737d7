// Names in folders: creating, removing, renaming, linking.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "calls.hpp"
#include "opening.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

using io_server::op;

int unlink_any(int folder, const char* path, int flags) {
  const place p(folder, path);
  if (!p.remote()) return IO_REAL(unlinkat)(folder, p.local(), flags);
  if ((flags & ~AT_REMOVEDIR) != 0) return result_of(EINVAL);
  if (p.names_descriptor()) return result_of(EPERM);
  return simple(op::unlink, p, (flags & AT_REMOVEDIR) != 0);
}

int mkdir_any(int folder, const char* path, mode_t mode) {
  const place p(folder, path);
  return p.remote() ? simple(op::mkdir, p, masked(mode)) : IO_REAL(mkdirat)(folder, p.local(), mode);
}

int refuse_node(const place& p) { return result_of(simple(op::access, p, F_OK, 0) == 0 ? EEXIST : EPERM); }

bool is_empty(const place& p) { return !p.remote() && p.local() != nullptr && p.local()[0] == '\0'; }

/// Gives an open file a name, also one that has none (O_TMPFILE).
int link_open_file(int fd, const place& q) {
  if (!q.remote()) return result_of(q.local() == nullptr ? EFAULT : is_empty(q) ? ENOENT : EXDEV);
  return with_file(fd, [&](using_file& f) {
    return f.client().call(op::link, io_server::location(f.handle(), ""), q.at(f.client()), 1);
  });
}

/// A request with two paths. Both must be remote.
int two(op what, const place& p, const place& q, int64_t a) {
  for (const place* one : {&p, &q})
    if (!one->remote() && one->local() == nullptr) return result_of(EFAULT);
  if (is_empty(p) || is_empty(q)) return result_of(ENOENT);
  if (!p.remote() || !q.remote()) return result_of(EXDEV);
  return with_client([&](io_server::client& c) { return c.call(what, p.at(c), q.at(c), a); });
}

int symlink_any(const char* target, int folder, const char* path) {
  const place p(folder, path);
  if (!p.remote()) return IO_REAL(symlinkat)(target, folder, p.local());
  if (target == nullptr) return result_of(EFAULT);
  return with_client([&](io_server::client& c) { return c.call(op::symlink, stored_target(target), p.at(c), 0); });
}

ssize_t read_link(const place& p, char* to, size_t room) {
  if (room == 0) return result_of(EINVAL);
  std::string text;
  if (p.names_descriptor()) {
    text = outer(p.inner());
  } else {
    char target[PATH_MAX];
    size_t size = 0;
    if (with_client([&](io_server::client& c) { return c.readlink(p.at(c), target, sizeof target, &size); }) != 0)
      return -1;
    text = shown_target(std::string(target, size));
  }
  const size_t size = std::min(text.size(), room);
  std::memcpy(to, text.data(), size);
  return static_cast<ssize_t>(size);
}

ssize_t readlink_any(int folder, const char* path, char* to, size_t room) {
  const place p(folder, path);
  if (!p.remote()) return IO_REAL(readlinkat)(folder, p.local(), to, room);
  return unless_no_memory([&] { return read_link(p, to, room); },
                          [](int error) -> ssize_t { return result_of(error); });
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT int unlink(const char* path) noexcept { return unlink_any(AT_FDCWD, path, 0); }
IO_EXPORT int unlinkat(int folder, const char* path, int flags) noexcept { return unlink_any(folder, path, flags); }
IO_EXPORT int rmdir(const char* path) noexcept { return unlink_any(AT_FDCWD, path, AT_REMOVEDIR); }
IO_EXPORT int remove(const char* path) noexcept {
  const place p(path);
  if (!p.remote()) return IO_REAL(remove)(p.local());
  if (p.names_descriptor()) return result_of(EPERM);
  if (simple(op::unlink, p, 0) == 0) return 0;
  return errno == EISDIR ? simple(op::unlink, p, 1) : -1;
}

IO_EXPORT int mkdir(const char* path, mode_t mode) noexcept { return mkdir_any(AT_FDCWD, path, mode); }
IO_EXPORT int mkdirat(int folder, const char* path, mode_t mode) noexcept { return mkdir_any(folder, path, mode); }
IO_EXPORT int mknodat(int folder, const char* path, mode_t mode, dev_t device) noexcept {
  const place p(folder, path);
  return p.remote() ? refuse_node(p) : IO_REAL(mknodat)(folder, p.local(), mode, device);
}
IO_EXPORT int mknod(const char* path, mode_t mode, dev_t device) noexcept {
  return mknodat(AT_FDCWD, path, mode, device);
}
// The names that programs call which were compiled with glibc before 2.33.
IO_EXPORT int __xmknod(int, const char* path, mode_t mode, dev_t* device) noexcept {
  return mknod(path, mode, *device);
}
IO_EXPORT int __xmknodat(int, int folder, const char* path, mode_t mode, dev_t* device) noexcept {
  return mknodat(folder, path, mode, *device);
}
IO_EXPORT int mkfifoat(int folder, const char* path, mode_t mode) noexcept {
  const place p(folder, path);
  return p.remote() ? refuse_node(p) : IO_REAL(mkfifoat)(folder, p.local(), mode);
}
IO_EXPORT int mkfifo(const char* path, mode_t mode) noexcept { return mkfifoat(AT_FDCWD, path, mode); }

IO_EXPORT int renameat2(int from, const char* old, int to, const char* now, unsigned flags) noexcept {
  const place p(from, old), q(to, now);
  if (!p.remote() && !q.remote()) return IO_REAL(renameat2)(from, p.local(), to, q.local(), flags);
  constexpr unsigned all = RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT;
  const bool exchanges = (flags & RENAME_EXCHANGE) != 0;
  if ((flags & ~all) != 0 || (exchanges && flags != RENAME_EXCHANGE)) return result_of(EINVAL);
  if (p.names_descriptor() || q.names_descriptor()) return result_of(EXDEV);
  return two(op::rename, p, q, flags);
}
IO_EXPORT int renameat(int from, const char* old, int to, const char* now) noexcept {
  return renameat2(from, old, to, now, 0);
}
IO_EXPORT int rename(const char* old, const char* now) noexcept { return renameat2(AT_FDCWD, old, AT_FDCWD, now, 0); }

IO_EXPORT int linkat(int from, const char* old, int to, const char* now, int flags) noexcept {
  const place p(from, old), q(to, now);
  const bool is_from = (flags & AT_EMPTY_PATH) != 0 && is_empty(p) && is_remote(from);
  if (is_from) return link_open_file(from, q);
  if (!p.remote() && !q.remote()) return IO_REAL(linkat)(from, p.local(), to, q.local(), flags);
  if ((flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0) return result_of(EINVAL);
  if (p.names_descriptor() && (flags & AT_SYMLINK_FOLLOW) == 0) return result_of(EXDEV);
  if (p.descriptor() >= 0) return link_open_file(p.descriptor(), q);
  return two(op::link, p, q, (flags & AT_SYMLINK_FOLLOW) != 0);
}
IO_EXPORT int link(const char* old, const char* now) noexcept { return linkat(AT_FDCWD, old, AT_FDCWD, now, 0); }
IO_EXPORT int symlink(const char* target, const char* path) noexcept { return symlink_any(target, AT_FDCWD, path); }
IO_EXPORT int symlinkat(const char* target, int folder, const char* path) noexcept {
  return symlink_any(target, folder, path);
}
IO_EXPORT ssize_t readlink(const char* path, char* to, size_t room) noexcept {
  return readlink_any(AT_FDCWD, path, to, room);
}
IO_EXPORT ssize_t readlinkat(int folder, const char* path, char* to, size_t room) noexcept {
  return readlink_any(folder, path, to, room);
}
IO_EXPORT ssize_t __readlink_chk(const char* path, char* to, size_t room, size_t) { return readlink(path, to, room); }
IO_EXPORT ssize_t __readlinkat_chk(int folder, const char* path, char* to, size_t room, size_t) {
  return readlinkat(folder, path, to, room);
}

IO_EXPORT char* mkdtemp(char* pattern) noexcept {
  const place p(pattern);
  if (!p.remote()) return IO_REAL(mkdtemp)(pattern);
  const size_t length = std::strlen(pattern);
  if (length < 6 || std::strcmp(pattern + length - 6, "XXXXXX") != 0) {
    errno = EINVAL;
    return nullptr;
  }
  for (int attempt = 0; attempt < 1000; ++attempt) {
    char text[7];
    std::snprintf(text, sizeof text, "%06x", static_cast<unsigned>(arc4random()) & 0xffffff);
    std::memcpy(pattern + length - 6, text, 6);
    if (simple(op::mkdir, place(pattern), 0700) == 0) return pattern;
    if (errno != EEXIST) return nullptr;
  }
  return nullptr;
}
