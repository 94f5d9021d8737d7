// Requests for paths: attributes, and creation, removal and renaming of files and folders.
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "execute.hpp"

namespace io_server {

namespace {

template <class T>
int put(outgoing& out, const T& value) {
  std::memcpy(out.data, &value, sizeof value);
  out.size = sizeof value;
  return 0;
}

int truncate_path(const root_folder& root, const received& r) {
  const descriptor file = root.open(r.text, O_WRONLY | O_NONBLOCK, 0, descriptor_of(r.folder));
  return file ? errno_of(ftruncate(file.get(), r.head.a)) : errno;
}

int read_link(const root_folder& root, const received& r, outgoing& out) {
  const descriptor link = root.open(r.text, O_PATH | O_NOFOLLOW, 0, descriptor_of(r.folder));
  if (!link) return errno;
  const ssize_t n = readlinkat(link.get(), "", out.data, out.room);
  if (n < 0) return errno == ENOENT ? EINVAL : errno;  // readlink() of a path that is no link fails with EINVAL
  out.size = static_cast<size_t>(n);
  return 0;
}

}  // namespace

int execute_on_path(const root_folder& root, const received& r, outgoing& out) {
  if (r.head.what == op::truncate) return truncate_path(root, r);
  if (r.head.what == op::readlink) return read_link(root, r, out);
  const bool follow = r.head.what == op::stat ? r.head.a != 0 : r.head.what != op::access || r.head.b != 0;
  const descriptor found = root.open(r.text, O_PATH | (follow ? 0 : O_NOFOLLOW), 0, descriptor_of(r.folder));
  if (!found) return errno;
  if (r.head.what == op::access)
    return errno_of(static_cast<int>(
        syscall(SYS_faccessat2, found.get(), "", static_cast<int>(r.head.a), AT_EMPTY_PATH | AT_EACCESS)));
  if (r.head.what == op::statfs) {
    struct statfs status {};
    return fstatfs(found.get(), &status) != 0 ? errno : put(out, status);
  }
  struct statx status {};
  if (statx(found.get(), "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &status) != 0) return errno;
  return put(out, status);
}

namespace {

/// The kernel's error for removing a folder by such a name, or anything else if `folder` is false.
int removal_error(const last_name& name, bool folder) {
  if (!folder) return EISDIR;
  if (name.what == last_name::kind::root) return EBUSY;
  return name.what == last_name::kind::dot ? EINVAL : ENOTEMPTY;
}

int rename(const root_folder& root, const received& r, int folder, const last_name& name) {
  last_name name2;
  const descriptor folder2 = root.parent(r.text2, name2, descriptor_of(r.folder2));
  if (!folder2) return errno;
  const auto flags = static_cast<unsigned>(r.head.a);
  if (!name.is_normal()) return EBUSY;
  if (!name2.is_normal()) return (flags & RENAME_NOREPLACE) != 0 ? EEXIST : EBUSY;
  return errno_of(
      static_cast<int>(syscall(SYS_renameat2, folder, name.text.c_str(), folder2.get(), name2.text.c_str(), flags)));
}

/// Gives the file that `fd` refers to another name, the request's second path.
int link_descriptor(const root_folder& root, const received& r, int fd) {
  last_name name2;
  const descriptor folder2 = root.parent(r.text2, name2, descriptor_of(r.folder2));
  if (!folder2) return errno;
  if (!name2.is_normal()) return EEXIST;
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return errno_of(linkat(AT_FDCWD, path, folder2.get(), name2.text.c_str(), AT_SYMLINK_FOLLOW));
}

int link(const root_folder& root, const received& r, int folder, const last_name& name) {
  // The kernel would follow a symbolic link out of the root, if its target is to be linked or a `/` follows it. Such a
  // path is opened below the root first.
  const bool by_name = r.head.a == 0 && name.is_normal() && !name.has_slash();
  descriptor target;
  struct stat s {};
  if (by_name ? fstatat(folder, name.text.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0
              : !(target = root.open(r.text, O_PATH | (r.head.a == 0 ? O_NOFOLLOW : 0), 0, descriptor_of(r.folder))))
    return errno;
  if (!by_name) return link_descriptor(root, r, target.get());
  last_name name2;
  const descriptor folder2 = root.parent(r.text2, name2, descriptor_of(r.folder2));
  if (!folder2) return errno;
  if (!name2.is_normal()) return EEXIST;
  return errno_of(linkat(folder, name.text.c_str(), folder2.get(), name2.text.c_str(), 0));
}

}  // namespace

int execute_on_names(const root_folder& root, const received& r) {
  const request& h = r.head;
  last_name name;
  if (h.what == op::symlink && r.text.empty()) return ENOENT;
  if (h.what == op::link && r.text.empty() && r.folder != nullptr) return link_descriptor(root, r, r.folder->fd.get());
  // For a symbolic link, the first text is the target, which may be any text; the second is the path.
  const bool is_second = h.what == op::symlink;
  const descriptor folder =
      root.parent(is_second ? r.text2 : r.text, name, descriptor_of(is_second ? r.folder2 : r.folder));
  if (!folder) return errno;
  switch (h.what) {
    case op::unlink:
      if (!name.is_normal()) return removal_error(name, h.a != 0);
      return errno_of(unlinkat(folder.get(), name.text.c_str(), h.a != 0 ? AT_REMOVEDIR : 0));
    case op::mkdir:
      if (!name.is_normal()) return EEXIST;
      return errno_of(mkdirat(folder.get(), name.text.c_str(), static_cast<mode_t>(h.a) & 07777));
    case op::symlink:
      if (!name.is_normal()) return EEXIST;
      return errno_of(symlinkat(r.text.c_str(), folder.get(), name.text.c_str()));
    case op::rename:
      return rename(root, r, folder.get(), name);
    default:
      return link(root, r, folder.get(), name);
  }
}

}  // namespace io_server
