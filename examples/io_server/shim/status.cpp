// File attributes: the stat family, access and statfs.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ipc.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <string>

#include "calls.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

using io_server::op;

// Added to device numbers of the server, so that they differ from those of this system: programs regard files with the
// same device and inode number as identical.
constexpr uint32_t other_device = 0x800;

struct stat converted(const struct statx& x) {
  struct stat s {};
  s.st_dev = makedev(x.stx_dev_major ^ other_device, x.stx_dev_minor);
  s.st_ino = x.stx_ino;
  s.st_nlink = x.stx_nlink;
  s.st_mode = x.stx_mode;
  s.st_uid = x.stx_uid;
  s.st_gid = x.stx_gid;
  s.st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor);
  s.st_size = static_cast<off_t>(x.stx_size);
  s.st_blksize = 1 << 20;  // efficient size of a request; stdio uses it as the size of its buffers
  s.st_blocks = static_cast<blkcnt_t>(x.stx_blocks);
  s.st_atim = {x.stx_atime.tv_sec, x.stx_atime.tv_nsec};
  s.st_mtim = {x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec};
  s.st_ctim = {x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec};
  return s;
}

/// The size of a symbolic link is that of the target that readlink() returns: programs allocate as much memory for it.
int fetch(const place& p, bool follow, struct statx* x) {
  return with_client([&](io_server::client& c) {
    const int error = c.stat(p.at(c), follow, x);
    if (error != 0 || !S_ISLNK(x->stx_mode)) return error;
    char target[PATH_MAX];
    size_t size = 0;
    if (c.readlink(p.at(c), target, sizeof target, &size) == 0)
      x->stx_size = shown_target(std::string(target, size)).size();
    return 0;
  });
}
int fetch(int fd, struct statx* x) {
  return with_file(fd, [&](using_file& f) { return f.client().stat(f.handle(), x); });
}

int stat_remote(const place& p, bool follow, struct stat* s) {
  struct statx x {};
  if (fetch(p, follow, &x) != 0) return -1;
  *s = converted(x);
  return 0;
}
int stat_remote(int fd, struct stat* s) {
  struct statx x {};
  if (fetch(fd, &x) != 0) return -1;
  *s = converted(x);
  return 0;
}

int statfs_remote(const place& p, struct statfs* s) {
  const int result = with_client([&](io_server::client& c) { return c.statfs(p.at(c), s); });
  // Programs that read the type of a local file system use what only local ones provide, e.g. inotify.
  if (result == 0) s->f_type = FUSE_SUPER_MAGIC;
  return result;
}

constexpr int stat_flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
constexpr int statx_flags = stat_flags | AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC;
constexpr int access_flags = AT_SYMLINK_NOFOLLOW | AT_EACCESS | AT_EMPTY_PATH;

/// Returns whether a call asks for a link of /dev or /proc itself, which is a local file also if what it names is
/// remote.
bool is_local_link(const place& p, int flags) { return p.names_descriptor() && (flags & AT_SYMLINK_NOFOLLOW) != 0; }

bool means_folder(const char* path, int flags) {
  return path != nullptr && *path == '\0' && (flags & AT_EMPTY_PATH) != 0;
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

static_assert(sizeof(struct stat) == sizeof(struct stat64), "the 64-bit names are other names of the same functions");

IO_EXPORT int stat(const char* path, struct stat* s) noexcept {
  const place p(path);
  return p.remote() ? stat_remote(p, true, s) : IO_REAL(stat)(p.local(), s);
}
IO_EXPORT int lstat(const char* path, struct stat* s) noexcept {
  const place p(path);
  return p.remote() && !p.names_descriptor() ? stat_remote(p, false, s) : IO_REAL(lstat)(p.local(), s);
}
IO_EXPORT int fstat(int fd, struct stat* s) noexcept {
  return is_remote(fd) ? stat_remote(fd, s) : IO_REAL(fstat)(fd, s);
}
IO_EXPORT int fstatat(int folder, const char* path, struct stat* s, int flags) noexcept {
  if (means_folder(path, flags) && is_remote(folder)) return stat_remote(folder, s);
  const place p(folder, path);
  if (!p.remote() || is_local_link(p, flags)) return IO_REAL(fstatat)(folder, p.local(), s, flags);
  return (flags & ~stat_flags) != 0 ? result_of(EINVAL) : stat_remote(p, (flags & AT_SYMLINK_NOFOLLOW) == 0, s);
}
IO_EXPORT int stat64(const char* path, struct stat64* s) noexcept {
  return stat(path, reinterpret_cast<struct stat*>(s));
}
IO_EXPORT int lstat64(const char* path, struct stat64* s) noexcept {
  return lstat(path, reinterpret_cast<struct stat*>(s));
}
IO_EXPORT int fstat64(int fd, struct stat64* s) noexcept { return fstat(fd, reinterpret_cast<struct stat*>(s)); }
IO_EXPORT int fstatat64(int folder, const char* path, struct stat64* s, int flags) noexcept {
  return fstatat(folder, path, reinterpret_cast<struct stat*>(s), flags);
}
// The names that programs call which were compiled with glibc before 2.33.
IO_EXPORT int __xstat(int, const char* path, struct stat* s) { return stat(path, s); }
IO_EXPORT int __lxstat(int, const char* path, struct stat* s) { return lstat(path, s); }
IO_EXPORT int __fxstat(int, int fd, struct stat* s) { return fstat(fd, s); }
IO_EXPORT int __fxstatat(int, int folder, const char* path, struct stat* s, int flags) {
  return fstatat(folder, path, s, flags);
}
IO_ALIAS(__xstat64, __xstat);
IO_ALIAS(__lxstat64, __lxstat);
IO_ALIAS(__fxstat64, __fxstat);
IO_ALIAS(__fxstatat64, __fxstatat);

IO_EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* x) noexcept {
  const bool of_descriptor = means_folder(path, flags) && is_remote(folder);
  const place p(folder, path);
  if (!of_descriptor && (!p.remote() || is_local_link(p, flags)))
    return IO_REAL(statx)(folder, p.local(), flags, mask, x);
  if ((flags & ~statx_flags) != 0 || (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE ||
      (mask & STATX__RESERVED) != 0)
    return result_of(EINVAL);
  const int result = of_descriptor ? fetch(folder, x) : fetch(p, (flags & AT_SYMLINK_NOFOLLOW) == 0, x);
  if (result == 0) {
    x->stx_dev_major ^= other_device;
    x->stx_blksize = 1 << 20;
  }
  return result;
}

IO_EXPORT int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  const place p(folder, path);
  if (!p.remote()) return IO_REAL(faccessat)(folder, p.local(), mode, flags);
  if ((flags & ~access_flags) != 0) return result_of(EINVAL);
  return simple(op::access, p, mode, (flags & AT_SYMLINK_NOFOLLOW) == 0);
}
IO_EXPORT int access(const char* path, int mode) noexcept {
  const place p(path);
  return p.remote() ? simple(op::access, p, mode, 1) : IO_REAL(access)(p.local(), mode);
}
IO_EXPORT int euidaccess(const char* path, int mode) noexcept {
  const place p(path);
  return p.remote() ? simple(op::access, p, mode, 1) : IO_REAL(euidaccess)(p.local(), mode);
}
IO_ALIAS(eaccess, euidaccess);

// Limits of names are those of the server's file system; the others are those of this system.
IO_EXPORT long pathconf(const char* path, int name) noexcept {
  const place p(path);
  if (!p.remote()) return IO_REAL(pathconf)(p.local(), name);
  struct statfs s {};
  if (with_client([&](io_server::client& c) { return c.statfs(p.at(c), &s); }) != 0) return -1;
  return name == _PC_NAME_MAX ? s.f_namelen : IO_REAL(pathconf)("/", name);
}

// The anonymous file behind the descriptor is of a file system with other limits.
IO_EXPORT long fpathconf(int fd, int name) noexcept {
  return is_remote(fd) ? IO_REAL(pathconf)("/", name) : IO_REAL(fpathconf)(fd, name);
}

IO_EXPORT int statfs(const char* path, struct statfs* s) noexcept {
  const place p(path);
  if (!p.remote()) return IO_REAL(statfs)(p.local(), s);
  return statfs_remote(p, s);
}
IO_EXPORT int fstatfs(int fd, struct statfs* s) noexcept {
  if (!is_remote(fd)) return IO_REAL(fstatfs)(fd, s);
  return unless_no_memory([&] { return statfs_remote(place(outer(file_of(fd)->path()).c_str()), s); }, result_of);
}
IO_EXPORT int statfs64(const char* path, struct statfs64* s) noexcept {
  return statfs(path, reinterpret_cast<struct statfs*>(s));
}
IO_EXPORT int fstatfs64(int fd, struct statfs64* s) noexcept {
  return fstatfs(fd, reinterpret_cast<struct statfs*>(s));
}

namespace {

struct statvfs converted(const struct statfs& from) {
  struct statvfs s {};
  s.f_bsize = static_cast<unsigned long>(from.f_bsize);
  s.f_frsize = static_cast<unsigned long>(from.f_frsize != 0 ? from.f_frsize : from.f_bsize);
  s.f_blocks = from.f_blocks;
  s.f_bfree = from.f_bfree;
  s.f_bavail = from.f_bavail;
  s.f_files = from.f_files;
  s.f_ffree = s.f_favail = from.f_ffree;
  s.f_namemax = static_cast<unsigned long>(from.f_namelen);
  return s;
}

}  // namespace

IO_EXPORT int statvfs(const char* path, struct statvfs* s) noexcept {
  const place p(path);
  if (!p.remote()) return IO_REAL(statvfs)(p.local(), s);
  struct statfs got {};
  if (statfs(path, &got) != 0) return -1;
  *s = converted(got);
  return 0;
}
IO_EXPORT int fstatvfs(int fd, struct statvfs* s) noexcept {
  if (!is_remote(fd)) return IO_REAL(fstatvfs)(fd, s);
  struct statfs got {};
  if (fstatfs(fd, &got) != 0) return -1;
  *s = converted(got);
  return 0;
}
IO_EXPORT int statvfs64(const char* path, struct statvfs64* s) noexcept {
  return statvfs(path, reinterpret_cast<struct statvfs*>(s));
}
IO_EXPORT int fstatvfs64(int fd, struct statvfs64* s) noexcept {
  return fstatvfs(fd, reinterpret_cast<struct statvfs*>(s));
}

IO_EXPORT key_t ftok(const char* path, int project) noexcept {
  const place p(path);
  if (!p.remote()) return IO_REAL(ftok)(p.local(), project);
  struct stat s {};
  if (stat_remote(p, true, &s) != 0) return -1;
  return static_cast<key_t>((s.st_ino & 0xffff) | (s.st_dev & 0xff) << 16 |
                            (static_cast<unsigned>(project) & 0xff) << 24);
}
