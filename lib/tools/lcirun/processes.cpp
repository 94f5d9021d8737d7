#include "lib/tools/lcirun/processes.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unordered_map>

#include "lib/tools/lcirun/launch_options.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

namespace lci::launcher {

namespace {

// How long lcirun waits until its standard error takes a message: it must serve and end the job even if nobody reads
// that. It does not wait with further messages until one was read.
constexpr int reader_timeout_ms = 5000;

/// The parent of a living process; 0 if it has ended or is a zombie.
pid_t parent_of(const char* pid) {
  const std::string path = std::string("/proc/") + pid + "/stat";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[512];
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return 0;
  text[n] = '\0';
  // "pid (name) state ppid ..."; the name may contain any character.
  const char* name_end = strrchr(text, ')');
  char state = 0;
  int parent = 0;
  if (name_end == nullptr || sscanf(name_end + 1, " %c %d", &state, &parent) != 2) return 0;
  return state == 'Z' || state == 'X' ? 0 : parent;
}

}  // namespace

std::vector<pid_t> descendants() {
  std::unordered_multimap<pid_t, pid_t> children;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return {};
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    const pid_t parent = parent_of(entry->d_name);
    if (parent > 0) children.emplace(parent, atoi(entry->d_name));
  }
  closedir(proc);
  std::vector<pid_t> found;
  const auto add_children = [&](pid_t parent) {
    const auto [begin, end] = children.equal_range(parent);
    for (auto it = begin; it != end; ++it) found.push_back(it->second);
  };
  add_children(getpid());
  for (size_t i = 0; i < found.size(); ++i) add_children(found[i]);
  return found;
}

int signal_descendants(int signal) {
  const auto found = descendants();
  for (const pid_t pid : found) kill(pid, signal);
  return int(found.size());
}

bool kill_descendants(double seconds) {
  const double end = now() + seconds;
  for (;;) {
    signal_descendants(SIGKILL);
    pid_t pid;
    while ((pid = waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (pid < 0 && errno == ECHILD) return true;
    if (now() > end) return false;
    poll(nullptr, 0, 1);  // killed processes need a moment to end
  }
}

std::string describe_exit(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    std::string text = "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal);
    if (WCOREDUMP(status)) text += ", core dumped";
    return text + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

int exit_code(int status) { return WIFSIGNALED(status) ? exit_signal_base + WTERMSIG(status) : WEXITSTATUS(status); }

void complain(const std::string& text) {
  const std::string line = "lcirun: " + text + "\n";
  static bool is_read = true;
  pollfd error{STDERR_FILENO, POLLOUT, 0};
  while (poll(&error, 1, is_read ? reader_timeout_ms : 0) < 0 && errno == EINTR) {
  }
  is_read = error.revents != 0;
  if (!is_read) return;
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, line.data(), line.size());
}

int watch_children(event_loop& loop, std::function<void()> on_end) {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);  // blocked by the guard before it forked us
  const int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) throw_errno("signalfd");
  loop.watch(signals, EPOLLIN, [signals, call = std::move(on_end)] {
    signalfd_siginfo info[8];
    while (read(signals, info, sizeof info) > 0) {
    }
    call();
  });
  return signals;
}

std::string own_path() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, size_t(n)) : std::string();
}

void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

}  // namespace lci::launcher
