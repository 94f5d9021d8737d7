#include "paths.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "descriptors.hpp"
#include "folders.hpp"
#include "never_destroyed.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

/// Removes `.`, `..` and double slashes from a path, without regard to symbolic links: `link/..` is the folder of
/// `link`.
std::string normal(const std::string& path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    size_t end = path.find('/', at);
    if (end == std::string::npos) end = path.size();
    const std::string part = path.substr(at, end - at);
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    at = end + 1;
  }
  std::string result;
  for (const std::string& part : parts) result += "/" + part;
  return result;
}

// The working folder. Global state, as it belongs to the process.
struct working_folder {
  std::mutex mutex;
  std::atomic<bool> is_remote{false};
  std::string inner;  // under mutex
};

working_folder& cwd() { return never_destroyed<working_folder>(); }

// The working folder of a child of vfork(), which has the memory and the thread-local data of the thread that waits for
// it.
struct borrowed_folder {
  pid_t child = 0;
  std::optional<std::string> inner;
};
thread_local borrowed_folder borrowed_cwd;

/// Returns whether a path that is relative to a local folder may name a file below the prefix of remote paths, for
/// example by "..". Usually it cannot.
bool may_lead_to_prefix(const char* path) {
  const std::string_view prefix = configured().prefix;
  return std::strstr(path, prefix.data() + prefix.rfind('/') + 1) != nullptr;
}

/// The path of a local folder; empty if it is unknown.
std::string path_of_local(int folder) {
  char path[PATH_MAX];
  if (folder == AT_FDCWD) return IO_REAL(getcwd)(path, sizeof path) != nullptr ? path : "";
  const std::string link = "/proc/self/fd/" + std::to_string(folder);
  const ssize_t size = IO_REAL(readlink)(link.c_str(), path, sizeof path);
  return size > 0 && path[0] == '/' ? std::string(path, static_cast<size_t>(size)) : "";
}

bool is_below(const std::string& path, std::string_view prefix) {
  return path.compare(0, prefix.size(), prefix) == 0 && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

/// Returns whether a path leaves the prefix by `..`, without regard to symbolic links; it may return to it.
bool leaves(const std::string& path, std::string_view prefix) {
  int depth = 0;
  for (size_t at = prefix.size(), end; at < path.size(); at = end + 1) {
    end = std::min(path.find('/', at), path.size());
    const std::string_view part(path.data() + at, end - at);
    if (part == "..") {
      if (--depth < 0) return true;
    } else if (!part.empty() && part != ".") {
      ++depth;
    }
  }
  return false;
}

/// Returns whether a path begins with the link of /proc to the working folder; *rest becomes what follows.
bool names_cwd(const char* path, const char** rest) {
  char by_number[48];
  std::snprintf(by_number, sizeof by_number, "/proc/%d/cwd", getpid());
  for (const char* name : {"/proc/self/cwd", "/proc/thread-self/cwd", static_cast<const char*>(by_number)}) {
    const size_t size = std::strlen(name);
    if (std::strncmp(path, name, size) != 0) continue;
    *rest = path + size;
    return **rest == '\0' || **rest == '/';
  }
  return false;
}

/// The descriptor that a path like `/dev/fd/3` begins with, -1 if it does not; *rest becomes what follows.
int descriptor_in(const char* path, const char** rest) {
  static constexpr struct {
    const char* text;
    int fd;
  } names[] = {{"/dev/stdin", 0}, {"/dev/stdout", 1}, {"/dev/stderr", 2}};
  for (const auto& name : names) {
    const size_t size = std::strlen(name.text);
    if (std::strncmp(path, name.text, size) != 0) continue;
    *rest = path + size;
    return **rest == '\0' || **rest == '/' ? name.fd : -1;
  }
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"}) {
    const size_t size = std::strlen(folder);
    if (std::strncmp(path, folder, size) != 0) continue;
    int fd = 0, digits = 0;
    for (*rest = path + size; **rest >= '0' && **rest <= '9' && digits < 9; ++*rest, ++digits)
      fd = fd * 10 + (**rest - '0');
    return digits > 0 && (**rest == '\0' || **rest == '/') ? fd : -1;
  }
  return -1;
}

}  // namespace

place::place(const char* path) noexcept : place(AT_FDCWD, path) {}

place::place(int folder, const char* path) noexcept : given_(path) {
  try {
    find(folder, path);
  } catch (const std::bad_alloc&) {
    remote_ = unknown_ = true;
  }
}

void place::find(int folder, const char* path) {
  if (path == nullptr || configured().server.empty() || is_inside()) return;
  if (path[0] == '/') {
    // Most paths do not contain the prefix, and need no further work.
    if (std::strstr(path, configured().prefix.data() + 1) != nullptr) resolve(path);
    if (!remote_ && (path[1] == 'd' || path[1] == 'p')) resolve_descriptor(path);
    return;
  }
  if (path[0] == '\0') return;
  if (folder == AT_FDCWD) {
    if (const auto inner = remote_cwd()) {
      resolve(outer(*inner) + "/" + path);
      stay_in_cwd(path);
      return;
    }
  } else if (is_remote(folder)) {
    if (auto file = file_of(folder)) {
      resolve(outer(file->path()) + "/" + path);
      stay_relative(std::move(file), path);
    }
    return;
  }
  // The prefix is a folder of its parent, as a mount point is.
  if (!may_lead_to_prefix(path)) return;
  const int error = errno;
  if (const std::string parent = path_of_local(folder); !parent.empty()) resolve(parent + "/" + path);
  errno = error;
}

// Paths that stay below the prefix are sent to the server unchanged, since it knows the symbolic links. Paths that
// leave the prefix by `..` are rewritten, since the system knows neither the prefix nor a working folder below it.
void place::resolve(const std::string& absolute) {
  const std::string_view prefix = configured().prefix;
  const std::string clean = normal(absolute);
  const bool begins_below = is_below(absolute, prefix);
  const bool stays_below = begins_below && !leaves(absolute, prefix);
  remote_ = is_below(clean, prefix);
  if (!remote_) {
    rewritten_ = begins_below;
    if (rewritten_) text_ = clean.empty() ? "/" : clean;
    return;
  }
  text_ = (stays_below ? absolute : clean).substr(prefix.size());
  while (!text_.empty() && text_[0] == '/') text_.erase(0, 1);
  stays_below_ = stays_below;
  if (!stays_below && absolute.back() == '/') text_ += '/';  // what it names must be a folder
}

void place::stay_relative(std::shared_ptr<remote_file> folder, const char* path) {
  if (!remote_ || !stays_below_) return;
  while (*path == '/') ++path;
  folder_ = std::move(folder);
  relative_ = *path == '\0' ? "." : path;
}

// The folder of a child of vfork() is not in the table, which is the parent's.
void place::stay_in_cwd(const char* path) {
  if (const int fd = current_cwd_descriptor(); fd >= 0 && !is_borrowed()) stay_relative(file_of(fd), path);
}

io_server::location place::at(io_server::client& c) const {
  const std::string& whole = inner();
  if (folder_ == nullptr) return whole;
  io_server::client* its = nullptr;
  uint64_t handle = 0;
  if (folder_->use(&its, &handle) != 0 || its != &c) return whole;
  return {handle, relative_};
}

// The system would open the anonymous file that is behind the descriptor.
void place::resolve_descriptor(const char* path) {
  const char* rest = nullptr;
  if (names_cwd(path, &rest)) {
    const auto inner = remote_cwd();
    if (!inner) return;
    names_descriptor_ = *rest == '\0';
    const std::string now = names_descriptor_ ? present_cwd() : *inner;
    resolve(now.empty() ? outer(*inner) + " (deleted)" : outer(now) + rest);
    return stay_in_cwd(rest);
  }
  const int fd = descriptor_in(path, &rest);
  if (fd < 0 || !is_remote(fd)) return;
  const auto file = file_of(fd);
  if (file == nullptr) return;
  resolve(outer(file->path()) + rest);
  names_descriptor_ = remote_ && *rest == '\0';
  if (names_descriptor_) descriptor_ = fd;
  if (!names_descriptor_) stay_relative(file, rest);
}

std::optional<std::string> remote_cwd() {
  working_folder& w = cwd();
  if (borrowed_cwd.child != 0) {
    if (borrowed_cwd.child == getpid()) return borrowed_cwd.inner;
    borrowed_cwd = {};  // the child has ended; this is its parent again
  }
  if (!w.is_remote.load(std::memory_order_acquire)) return std::nullopt;
  std::lock_guard guard(w.mutex);
  if (!w.is_remote.load(std::memory_order_relaxed)) return std::nullopt;
  return w.inner;
}

void set_remote_cwd(std::optional<std::string> inner) {
  if (inner) inner = normal(*inner);
  if (is_borrowed()) {
    borrowed_cwd = {getpid(), std::move(inner)};
    return;
  }
  working_folder& w = cwd();
  std::lock_guard guard(w.mutex);
  w.is_remote.store(inner.has_value(), std::memory_order_release);
  if (inner) w.inner = std::move(*inner);
}

std::string outer(const std::string& inner) {
  const std::string clean = normal("/" + inner);
  return std::string(configured().prefix) + clean;
}

std::string stored_target(const char* target) {
  const std::string text = target;
  if (text.empty() || text[0] != '/' || !is_below(text, configured().prefix)) return text;
  const std::string rest = text.substr(configured().prefix.size());
  return rest.empty() ? "/" : rest;
}

std::string shown_target(const std::string& stored) {
  if (stored.empty() || stored[0] != '/') return stored;
  return std::string(configured().prefix) + (stored == "/" ? "" : stored);
}

}  // namespace io_shim
