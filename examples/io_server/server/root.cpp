#include "root.hpp"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <system_error>
#include <vector>

namespace io_server {

namespace {

constexpr int most_links = 40;  // as in Linux

int open_in_root(int root, const char* path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? mode & 07777 : 0;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  int fd;
  do {
    // EAGAIN: a concurrent rename; the kernel can't guarantee that the path has stayed below the root.
    fd = static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof how));
  } while (fd < 0 && (errno == EAGAIN || errno == EINTR));
  return fd;
}

/// Splits a path into components, the last one first. Returns whether the path must be a folder, since it ends with
/// `/`.
bool split(const std::string& path, std::vector<std::string>& into) {
  for (size_t end = path.size(); end > 0;) {
    const size_t slash = path.rfind('/', end - 1);
    const size_t begin = slash == std::string::npos ? 0 : slash + 1;
    if (begin < end) into.push_back(path.substr(begin, end - begin));
    end = slash == std::string::npos ? 0 : slash;
  }
  return !path.empty() && path.back() == '/';
}

bool read_link(int folder, const char* name, std::string& target) {
  char text[PATH_MAX];
  const ssize_t n = readlinkat(folder, name, text, sizeof text);
  if (n < 0) return false;
  target.assign(text, static_cast<size_t>(n));
  return true;
}

/// The path of an open folder; empty if it is unknown.
std::string system_path(int folder) {
  std::string path;
  if (!read_link(AT_FDCWD, ("/proc/self/fd/" + std::to_string(folder)).c_str(), path) || path[0] != '/') return "";
  return path.size() < PATH_MAX ? path : "";
}

}  // namespace

root_folder::root_folder(const std::string& path, bool walk)
    : root_(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), walks_(walk) {
  if (!root_) throw std::system_error(errno, std::generic_category(), path);
  if (walks_) return;
  const descriptor probe(open_in_root(root_.get(), ".", O_PATH, 0));
  walks_ = !probe;  // no openat2(): ENOSYS if the kernel is too old, EPERM if a seccomp filter forbids it
}

/// Returns the path below the root of a path that is relative to an open folder: with the folder's present path. A `..`
/// also leads from a folder that has been removed. Returns false and sets `errno` if the folder has no path.
bool root_folder::absolute(int folder, const std::string& path, std::string& result) const {
  std::string above = path_of(folder);
  size_t rest = 0;
  if (above.empty() && path.compare(0, 2, "..") == 0 && (path.size() == 2 || path[2] == '/')) {
    const descriptor upper(openat(folder, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (upper) above = path_of(upper.get());
    rest = 2;
  }
  if (above.empty()) {
    errno = ENOENT;
    return false;
  }
  result = above + "/" + path.substr(rest);
  return true;
}

descriptor root_folder::open(const std::string& path, int flags, mode_t mode, int folder) const {
  if (folder >= 0) {
    // The folder itself, which may have been removed. It must not be left by a link that another process puts here.
    if (path.empty() || path == ".") return descriptor(openat(folder, ".", flags | O_CLOEXEC, mode & 07777));
    std::string whole;
    return absolute(folder, path, whole) ? open(whole, flags, mode) : descriptor();
  }
  if ((flags & O_PATH) == 0) flags |= O_NOCTTY;  // openat2() fails if a flag has no effect together with O_PATH
  if (walks_) return walk(path, flags, mode);
  return descriptor(open_in_root(root_.get(), path.empty() ? "." : path.c_str(), flags, mode));
}

descriptor root_folder::parent(const std::string& path, last_name& name, int folder) const {
  size_t end = path.size();
  while (end > 0 && path[end - 1] == '/') --end;
  const size_t slash = path.rfind('/', end == 0 ? 0 : end - 1);
  const size_t begin = slash == std::string::npos || slash >= end ? 0 : slash + 1;
  name.text = path.substr(begin, end - begin);
  name.what = name.text.empty()   ? last_name::kind::root
              : name.text == "."  ? last_name::kind::dot
              : name.text == ".." ? last_name::kind::dotdot
                                  : last_name::kind::normal;
  if (end < path.size()) name.text += '/';
  return open(path.substr(0, begin), O_PATH | O_DIRECTORY, 0, folder);
}

std::string root_folder::path_of(int folder) const {
  struct stat s {};
  if (fstat(folder, &s) != 0 || s.st_nlink == 0)
    return "";  // for a removed folder, the system adds a remark to the path
  const std::string top = system_path(root_.get()), path = system_path(folder);
  if (top.empty() || path.empty()) return "";
  if (top == "/") return path;
  if (path == top) return "/";
  const bool is_below = path.compare(0, top.size(), top) == 0 && path[top.size()] == '/';
  return is_below ? path.substr(top.size()) : "";
}

// Resolves a path without letting the kernel follow links: opens each component with O_NOFOLLOW relative to its folder,
// reads each link and prepends its target to the rest of the path. The folders on the path stay open, so that `..` is
// the previous one even if another process moves a folder meanwhile.
descriptor root_folder::walk(const std::string& path, int flags, mode_t mode) const {
  std::vector<std::string> left;
  bool folder = split(path, left);
  std::vector<descriptor> passed;
  const auto here = [&] { return passed.empty() ? root_.get() : passed.back().get(); };
  for (int links = 0; !left.empty();) {
    const std::string name = std::move(left.back());
    left.pop_back();
    if (name == ".") continue;
    if (name == "..") {
      if (!passed.empty()) passed.pop_back();
      continue;
    }
    const bool last = left.empty();
    if (last && folder && (flags & O_CREAT) != 0) {  // as the kernel, which creates no folders
      errno = EISDIR;
      return descriptor();
    }
    struct stat s {};
    const bool exists = fstatat(here(), name.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0;
    if (exists && S_ISLNK(s.st_mode) && (!last || folder || (flags & (O_NOFOLLOW | O_EXCL)) == 0)) {
      std::string target;
      if (!read_link(here(), name.c_str(), target)) return descriptor();
      if (++links > most_links) {
        errno = ELOOP;
        return descriptor();
      }
      if (!target.empty() && target[0] == '/') passed.clear();
      std::vector<std::string> more;
      if (split(target, more) && last) folder = true;
      left.insert(left.end(), more.begin(), more.end());
      continue;
    }
    if (last) {
      const int how = flags | O_NOFOLLOW | O_CLOEXEC | (folder ? O_DIRECTORY : 0);
      return descriptor(openat(here(), name.c_str(), how, mode & 07777));
    }
    descriptor next(openat(here(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return descriptor();
    passed.push_back(std::move(next));
  }
  if ((flags & O_CREAT) != 0) {
    errno = (flags & O_EXCL) != 0 ? EEXIST : EISDIR;
    return descriptor();
  }
  return descriptor(openat(here(), ".", (flags & ~O_NOFOLLOW) | O_CLOEXEC, mode & 07777));
}

}  // namespace io_server
