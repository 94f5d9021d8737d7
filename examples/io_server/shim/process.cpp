#include "process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <vector>

#include "descriptors.hpp"
#include "never_destroyed.hpp"
#include "paths.hpp"
#include "real.hpp"
#include "streams.hpp"

namespace io_shim {

namespace {

thread_local int depth = 0;

// The library's state. Never destroyed, since programs may call functions until they exit.
struct process_state {
  std::shared_mutex gate;  // held shared by calls, exclusively by fork()
  std::mutex connecting;
  std::atomic<io_server::client*> client{nullptr};
  std::chrono::steady_clock::time_point failed;  // under connecting
  bool has_failed = false;                       // under connecting
  std::atomic<int> why_failed{EIO};              // an errno
  bool has_tried = false;                        // under connecting: LCI was used, perhaps without success
  bool was_forked = false;                       // under connecting
  std::atomic<bool> has_locked{false};
  std::atomic<bool> ends{false};  // exit() has ended the session, and what connecting needs
  std::atomic<pid_t> pid{getpid()};
  // Descriptors of LCI. Written under `connecting` and read without a lock: programs do not close descriptors while
  // they connect.
  std::vector<int> of_lci;
  std::atomic<bool> any_of_lci{false};
};

process_state& process() { return never_destroyed<process_state>(); }

std::vector<int> open_descriptors() {
  std::vector<int> all;
  DIR* d = IO_REAL(opendir)("/proc/self/fd");
  if (d == nullptr) return all;
  while (const dirent* e = IO_REAL(readdir)(d))
    if (e->d_name[0] != '.' && std::atoi(e->d_name) != dirfd(d)) all.push_back(std::atoi(e->d_name));
  IO_REAL(closedir)(d);
  std::sort(all.begin(), all.end());
  return all;
}

/// A scope in which opened descriptors get high numbers, since shells and other programs use low ones by number.
class high_descriptors {
 public:
  high_descriptors() {
    rlimit limit{};
    const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
    first_ = static_cast<int>(std::min<rlim_t>(known ? limit.rlim_cur / 2 : 128, 512));
    for (int fd; (fd = IO_REAL(open)("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) {
      fillers_.push_back(fd);
      if (fd >= first_) break;
    }
    before_ = open_descriptors();
  }
  /// Ends the scope and returns the descriptors that were opened in it.
  std::vector<int> close() {
    for (const int fd : fillers_) IO_REAL(close)(fd);
    fillers_.clear();
    std::vector<int> made;
    for (const int fd : open_descriptors())
      if (fd >= first_ && !std::binary_search(before_.begin(), before_.end(), fd)) made.push_back(fd);
    return made;
  }
  ~high_descriptors() {
    for (const int fd : fillers_) IO_REAL(close)(fd);
  }

 private:
  int first_ = 0;
  std::vector<int> fillers_, before_;
};

/// The system has refused memory for a connection. Returns the errno that tells which limit the user can raise.
int errno_of_limits() {
  const auto is_limited = [](__rlimit_resource resource) {
    rlimit limit{};
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  if (is_limited(RLIMIT_FSIZE)) return EFBIG;
  return is_limited(RLIMIT_AS) ? ENOMEM : EIO;
}

void before_fork() {
  if (depth == 0) process().gate.lock();
}
void in_parent() {
  if (depth == 0) process().gate.unlock();
}
// Runs in a forked child. Closes the sockets of the parent's connection, so that the server notices when the parent
// dies.
void in_child() {
  process_state& p = process();
  for (const int fd : p.of_lci) IO_REAL(close)(fd);
  io_server::lent_descriptor::close_all();
  p.of_lci.clear();
  p.any_of_lci.store(false, std::memory_order_relaxed);
  p.was_forked |= p.has_tried;
  p.has_tried = false;
  p.client.store(nullptr, std::memory_order_relaxed);
  p.has_failed = false;
  p.why_failed.store(EIO, std::memory_order_relaxed);
  p.has_locked.store(false, std::memory_order_relaxed);
  p.pid.store(getpid(), std::memory_order_relaxed);
  forget_handles();
  new (&p.gate) std::shared_mutex;
}

void leave() {
  if (process().client.load() == nullptr || is_borrowed()) return;
  flush_cxx_streams();   // after sync_with_stdio(false) they have buffers of their own
  std::fflush(nullptr);  // writes buffered data of streams of remote files
  end_session();
  process().ends.store(true, std::memory_order_relaxed);
}

__attribute__((constructor)) void begin() {
  if (configured().server.empty()) return;
  process();  // records the process's id, before a child of vfork() needs it
  pthread_atfork(before_fork, in_parent, in_child);
  std::atexit(leave);
}

}  // namespace

bool is_inside() { return depth > 0; }

remote_call::remote_call() : error_(errno) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
  process().gate.lock_shared();
  ++depth;
}

remote_call::~remote_call() {
  --depth;
  process().gate.unlock_shared();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error_;
}

io_server::client* current_client() {
  process_state& p = process();
  io_server::client* c = p.client.load(std::memory_order_acquire);
  if (c != nullptr && !c->is_lost()) return c;
  if (p.ends.load(std::memory_order_relaxed)) return nullptr;
  if (is_borrowed()) return nullptr;  // its sockets would be lost when it executes a program
  std::lock_guard guard(p.connecting);
  c = p.client.load(std::memory_order_relaxed);
  if (c != nullptr && !c->is_lost()) return c;
  using clock = std::chrono::steady_clock;
  if (p.has_failed && clock::now() - p.failed < std::chrono::seconds(1)) return nullptr;
  high_descriptors high;
  const auto fail = [&p](const std::exception& e, int why) {
    p.has_failed = true;
    p.failed = clock::now();
    p.why_failed.store(why, std::memory_order_relaxed);
    if (std::getenv("IOD_VERBOSE") != nullptr) dprintf(2, "liblci_io_shim: %s\n", e.what());
    return nullptr;
  };
  try {
    if (p.was_forked) {
      lci::restart_after_fork();
      p.was_forked = false;
    }
    p.has_tried = true;
    c = new io_server::client(std::string(configured().server), configured().timeout);
  } catch (const lci::resource_error& e) {
    return fail(e, errno_of_limits());
  } catch (const std::bad_alloc& e) {
    return fail(e, ENOMEM);
  } catch (const std::exception& e) {
    return fail(e, EIO);
  }
  p.has_failed = false;
  p.why_failed.store(EIO, std::memory_order_relaxed);
  for (const int fd : high.close()) p.of_lci.push_back(fd);
  p.any_of_lci.store(!p.of_lci.empty(), std::memory_order_release);
  p.client.store(c, std::memory_order_release);
  return c;
}

int errno_of_connection() { return process().why_failed.load(std::memory_order_relaxed); }

bool is_connected() {
  const io_server::client* c = process().client.load(std::memory_order_acquire);
  return c != nullptr && !c->is_lost();
}

void end_session() {
  io_server::client* c = process().client.load();
  if (c == nullptr || is_borrowed()) return;
  const remote_call here;
  c->leave();
}

void note_lock() { process().has_locked.store(true, std::memory_order_relaxed); }

bool is_borrowed() { return getpid() != process().pid.load(std::memory_order_relaxed); }

bool is_of_lci(int fd) {
  process_state& p = process();
  if (!is_inside() && io_server::lent_descriptor::is_one(fd)) return true;
  if (is_inside() || !p.any_of_lci.load(std::memory_order_acquire)) return false;
  return std::find(p.of_lci.begin(), p.of_lci.end(), fd) != p.of_lci.end();
}

}  // namespace io_shim

// The server closes a process's files shortly after it has exited. But its locks must be free when its parent's wait()
// returns, so a process with locks ends its session here. Other processes do nothing here, since _exit() must work
// everywhere, e.g. in a signal handler that has interrupted malloc().
IO_EXPORT void _exit(int code) {
  using namespace io_shim;
  if (process().has_locked.load(std::memory_order_relaxed)) end_session();
  IO_REAL(_exit)(code);
  __builtin_unreachable();
}
IO_EXPORT void _Exit(int code) noexcept { _exit(code); }
