// Requests that change modes, owners and times, of a path or of an open file.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "execute.hpp"

namespace io_server {

namespace {

constexpr int64_t billion = 1'000'000'000;

timespec time_of(int64_t nanoseconds) {
  if (nanoseconds == time_now) return {0, UTIME_NOW};
  if (nanoseconds == time_unchanged) return {0, UTIME_OMIT};
  const int64_t rest = (nanoseconds % billion + billion) % billion;
  return {(nanoseconds - rest) / billion, rest};
}

int change(const request& h, int fd, const char* path) {
  if (h.what == op::chown) return fchownat(fd, "", static_cast<uid_t>(h.a), static_cast<gid_t>(h.b), AT_EMPTY_PATH);
  if (h.what == op::chmod) return chmod(path, static_cast<mode_t>(h.a) & 07777);
  const timespec times[2] = {time_of(h.a), time_of(h.b)};
  return utimensat(AT_FDCWD, path, times, 0);
}

}  // namespace

int execute_on_attributes(const root_folder& root, session& client, const received& r) {
  const request& h = r.head;
  descriptor found;
  std::shared_ptr<open_file> file;
  int fd;
  if (h.handle != 0) {
    file = client.find(h.handle);
    if (file == nullptr) return EBADF;
    fd = file->fd.get();
  } else {
    const bool follows = h.what == op::chmod || h.c != 0;
    last_name name;
    if (h.what == op::utimens && !follows) {
      // /proc/self/fd would follow a symbolic link, so change the link itself by its name in its folder. A `/` after
      // the name would make the kernel follow it, too.
      const descriptor folder = root.parent(r.text, name);
      if (!folder) return errno;
      if (name.is_normal() && !name.has_slash()) {
        const timespec times[2] = {time_of(h.a), time_of(h.b)};
        return utimensat(folder.get(), name.text.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
      }
    }
    found = root.open(r.text, O_PATH | (follows ? 0 : O_NOFOLLOW));
    if (!found) return errno;
    fd = found.get();
  }
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return change(h, fd, path) == 0 ? 0 : errno;
}

}  // namespace io_server
