#include "network/shm/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>

#include "lci/errors.hpp"
#include "lib/base/hash.hpp"
#include "network/common/errno_text.hpp"

namespace lci::network::shm {

namespace {

/// Reads a small file; the text is terminated with 0. False with `errno` on failure.
template <size_t N>
bool read_file(const char* path, char (&text)[N]) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t n;
  while ((n = read(fd, text, N - 1)) < 0 && errno == EINTR) {
  }
  const int error = errno;
  close(fd);
  errno = error;
  if (n < 0) return false;
  text[n] = 0;
  return true;
}

struct process_stat {
  char state = 0;
  uint64_t start_time = 0;
};

/// False with `errno` if it can't be read.
bool read_stat(int pid, process_stat& s) {
  char path[64], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  if (!read_file(path, text)) return false;
  errno = 0;
  // The process name, in parentheses, may contain anything; only numbers follow it.
  const char* p = std::strrchr(text, ')');
  if (p == nullptr) return false;
  unsigned long long start = 0;
  const int got = std::sscanf(p + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                              &s.state, &start);
  s.start_time = start;
  return got == 2;
}

/// Returns whether the process with this pid is not the one that started at that time.
bool is_another(int pid, uint64_t start_time) {
  process_stat s;
  if (read_stat(pid, s))
    // a zombie has ended, too
    return s.state == 'Z' || s.state == 'X' || (start_time != 0 && s.start_time != start_time);
  if (errno == ENOENT || errno == ESRCH) return true;
  return kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace

uint64_t process_start_time(int pid) {
  process_stat s;
  return read_stat(pid, s) ? s.start_time : 0;
}

namespace {

uint64_t find_process_space() {
  char boot[64] = {};
  constexpr const char* boot_id = "/proc/sys/kernel/random/boot_id";
  if (!read_file(boot_id, boot)) {
    const int error = errno;
    // If there is no such file, or no process may read it, the ids are equal all the same. But if only this process
    // can't read it now, its id would differ, and its peers would look for a network between hosts.
    if (access(boot_id, R_OK) == 0)
      throw resource_error(std::string("shm: can't read ") + boot_id + ": " + errno_text(error) +
                           "; it must be readable by all ranks of a host, or by none");
    boot[0] = 0;
  }
  std::string bytes;
  const auto append = [&](const auto& what) { bytes.append(reinterpret_cast<const char*>(&what), sizeof what); };
  append(boot);
  for (const char* name : {"/proc/self/ns/pid", "/proc/self/ns/user"}) {
    struct stat space {};
    append(stat(name, &space) == 0 ? uint64_t{space.st_ino} : 0);
  }
  append(geteuid());
  return fnv1a(bytes);
}

}  // namespace

uint64_t process_space() {
  static const uint64_t space = find_process_space();
  return space;
}

process_watch::~process_watch() {
  if (fd_ >= 0) close(fd_);
}

bool process_watch::has_ended(int pid, uint64_t start_time) {
  if (fd_ < 0) {
    fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (fd_ < 0 && errno == ESRCH) return true;
    // With the pidfd open, the pid can't be reused; it may have been before.
    if (is_another(pid, start_time)) return true;
    if (fd_ < 0) return false;
  }
  pollfd p{fd_, POLLIN, 0};
  return ::poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

}  // namespace lci::network::shm
