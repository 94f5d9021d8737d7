// Identifying a process, and whether it is still running.
#pragma once

#include <cstdint>

namespace lci::network::shm {

/// Start time of a process, in clock ticks since boot; 0 if unknown. Distinguishes a process from a later one with the
/// same pid.
uint64_t process_start_time(int pid);

/// An id shared by exactly those processes that see each other by pid and can open each other's files: same boot of one
/// kernel, same container as far as namespaces tell, same user.
uint64_t process_space();

/// Monitors one process. Not thread-safe.
class process_watch {
 public:
  process_watch() = default;
  ~process_watch();
  process_watch(const process_watch&) = delete;
  process_watch& operator=(const process_watch&) = delete;

  /// Returns whether the process has ended. If it can't be checked now, it counts as running.
  bool has_ended(int pid, uint64_t start_time);

 private:
  int fd_ = -1;  // a pidfd; without one (none left, an old kernel) has_ended() looks the process up
};

}  // namespace lci::network::shm
