// Requests that change modes, owners and times, of a path or of an open file.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "execute.hpp"

namespace io_server {

namespace {

/// The times that a request of `utimens` sets. The kernel refuses invalid ones.
std::array<timespec, 2> times_of(const request& h) {
  return {{{h.a, first_nanoseconds(h.c)}, {h.b, second_nanoseconds(h.c)}}};
}

int change(const request& h, int fd, const char* path) {
  if (h.what == op::chown) return fchownat(fd, "", static_cast<uid_t>(h.a), static_cast<gid_t>(h.b), AT_EMPTY_PATH);
  if (h.what == op::chmod) return chmod(path, static_cast<mode_t>(h.a) & 07777);
  return utimensat(AT_FDCWD, path, times_of(h).data(), 0);
}

}  // namespace

int execute_on_attributes(const root_folder& root, session& client, const received& r) {
  const request& h = r.head;
  descriptor found;
  std::shared_ptr<open_file> file;
  int fd;
  if (h.handle != 0 && r.text.empty()) {
    file = client.find(h.handle);
    if (file == nullptr) return EBADF;
    fd = file->fd.get();
  } else {
    const bool follows = h.what == op::chmod || (h.what == op::utimens ? times_follow(h.c) : h.c != 0);
    last_name name;
    if (h.what == op::utimens && !follows) {
      // /proc/self/fd would follow a symbolic link, so change the link itself by its name in its folder. A `/` after
      // the name would make the kernel follow it, too.
      const descriptor folder = root.parent(r.text, name, descriptor_of(r.folder));
      if (!folder) return errno;
      if (name.is_normal() && !name.has_slash())
        return errno_of(utimensat(folder.get(), name.text.c_str(), times_of(h).data(), AT_SYMLINK_NOFOLLOW));
    }
    found = root.open(r.text, O_PATH | (follows ? 0 : O_NOFOLLOW), 0, descriptor_of(r.folder));
    if (!found) return errno;
    fd = found.get();
  }
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return change(h, fd, path) == 0 ? 0 : errno;
}

}  // namespace io_server
