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
  const descriptor file = root.open(r.text, O_WRONLY | O_NONBLOCK);
  return file ? errno_of(ftruncate(file.get(), r.head.a)) : errno;
}

int read_link(const root_folder& root, const received& r, outgoing& out) {
  const descriptor link = root.open(r.text, O_PATH | O_NOFOLLOW);
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
  const descriptor found = root.open(r.text, O_PATH | (follow ? 0 : O_NOFOLLOW));
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

int execute_on_names(const root_folder& root, const received& r) {
  const request& h = r.head;
  std::string name, name2;
  // For a symbolic link, the first text is the target, which may be any text; the second is the path.
  const descriptor folder = h.what == op::symlink ? root.parent(r.text2, name) : root.parent(r.text, name);
  if (!folder) return h.what == op::mkdir && errno == EBUSY ? EEXIST : errno;
  switch (h.what) {
    case op::unlink:
      return errno_of(unlinkat(folder.get(), name.c_str(), h.a != 0 ? AT_REMOVEDIR : 0));
    case op::mkdir:
      return errno_of(mkdirat(folder.get(), name.c_str(), static_cast<mode_t>(h.a) & 07777));
    case op::symlink:
      return errno_of(symlinkat(r.text.c_str(), folder.get(), name.c_str()));
    default:
      break;
  }
  const descriptor folder2 = root.parent(r.text2, name2);
  if (!folder2) return errno;
  if (h.what == op::rename)
    return errno_of(static_cast<int>(
        syscall(SYS_renameat2, folder.get(), name.c_str(), folder2.get(), name2.c_str(), static_cast<unsigned>(h.a))));
  if (h.a == 0) return errno_of(linkat(folder.get(), name.c_str(), folder2.get(), name2.c_str(), 0));
  // To link the target of a symbolic link, open it below the root first: the kernel would follow the link out of it.
  const descriptor target = root.open(r.text, O_PATH);
  if (!target) return errno;
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", target.get());
  return errno_of(linkat(AT_FDCWD, path, folder2.get(), name2.c_str(), AT_SYMLINK_FOLLOW));
}

}  // namespace io_server
