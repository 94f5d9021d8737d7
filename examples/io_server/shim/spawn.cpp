// posix_spawn(): the C library's child makes system calls that can't be replaced. So what its file actions open is
// opened here, when the action is added, and the child only duplicates the descriptor.
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <vector>

#include "calls.hpp"
#include "folders.hpp"
#include "opening.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

/// Descriptors that file actions use, until these are destroyed.
struct spawned_files {
  std::mutex mutex;
  std::map<const posix_spawn_file_actions_t*, std::vector<int>> all;  // under mutex
};

spawned_files& files_of_actions() {
  static spawned_files& s = *new spawned_files;
  return s;
}

/// Moves the descriptor out of the way of those that the child will have, and keeps it. Returns an errno.
int keep(const posix_spawn_file_actions_t* actions, int* fd) {
  const int high = duplicate_above(*fd, F_DUPFD_CLOEXEC, 200);
  const int error = errno;
  ::close(*fd);
  if (high < 0) return error;
  *fd = high;
  try {
    spawned_files& s = files_of_actions();
    std::lock_guard guard(s.mutex);
    s.all[actions].push_back(high);
  } catch (const std::bad_alloc&) {
    ::close(high);
    return ENOMEM;
  }
  return 0;
}

void drop(const posix_spawn_file_actions_t* actions) {
  spawned_files& s = files_of_actions();
  std::vector<int> left;
  {
    std::lock_guard guard(s.mutex);
    const auto at = s.all.find(actions);
    if (at == s.all.end()) return;
    left = std::move(at->second);
    s.all.erase(at);
  }
  for (const int fd : left) ::close(fd);
}

/// The child's working folder: an inherited descriptor that is marked as such, see folders.cpp.
int add_folder(posix_spawn_file_actions_t* actions, const place& p) {
  int fd = open_remote(p, O_PATH | O_DIRECTORY | O_CLOEXEC, 0, true);
  if (fd < 0) return errno;
  if (const int error = keep(actions, &fd)) return error;
  if (const int former = current_cwd_descriptor(); former >= 0)
    if (const int error = posix_spawn_file_actions_addclose(actions, former)) return error;
  return posix_spawn_file_actions_adddup2(actions, fd, fd);  // so that the executed program inherits it
}

/// These functions return an errno, and throw nothing.
template <class Body>
int errno_of(Body body) {
  return unless_no_memory(body, [](int error) { return error; });
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t* actions, int fd, const char* path, int flags,
                                               mode_t mode) noexcept {
  return errno_of([&] {
    const place p(path);
    if (!p.remote()) return IO_REAL(posix_spawn_file_actions_addopen)(actions, fd, p.local(), flags, mode);
    int opened = open_remote(p, flags | O_CLOEXEC, mode);
    if (opened < 0) return errno;
    if (const int error = keep(actions, &opened)) return error;
    return posix_spawn_file_actions_adddup2(actions, opened, fd);
  });
}

IO_EXPORT int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t* actions, const char* path) noexcept {
  return errno_of([&] {
    const place p(path);
    return p.remote() ? add_folder(actions, p) : IO_REAL(posix_spawn_file_actions_addchdir_np)(actions, p.local());
  });
}

IO_EXPORT int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t* actions) noexcept {
  drop(actions);
  return IO_REAL(posix_spawn_file_actions_destroy)(actions);
}
