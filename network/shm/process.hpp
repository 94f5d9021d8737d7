// Who a process is, and whether it still runs.
#pragma once

#include <cstdint>

namespace lci::network::shm {

/// When a process started, in clock ticks since boot; 0 if that can't be found out. Tells a process
/// from a later one that got its number.
uint64_t process_start_time(int pid);

/// The same for all processes that can see each other by number and open each other's files, and no
/// others: those of one boot of one kernel, in one container as far as that goes, of one user.
uint64_t process_space();

/// Watches one process. Not thread-safe.
class process_watch {
 public:
  process_watch() = default;
  ~process_watch();
  process_watch(const process_watch&) = delete;
  process_watch& operator=(const process_watch&) = delete;

  /// Whether the process has ended. One that can't be looked at just now is taken to live.
  bool has_ended(int pid, uint64_t start_time);

 private:
  int fd_ = -1;  // a pidfd; without one (none left, an old kernel) the process is looked up instead
};

}  // namespace lci::network::shm
