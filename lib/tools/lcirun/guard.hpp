// The guard: the process that the user starts. It forks the process that runs the job, forwards signals to it and
// waits.
//
// Why two processes: both adopt the orphans below them (PR_SET_CHILD_SUBREAPER). If the guard is killed with SIGKILL,
// the job's process sees its socket closed and kills everything below it; if the job's process is killed, the guard
// does so. Only if both are killed at once, processes that ranks have started remain (not the ranks, which die with the
// job's process).
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>

#include "lib/tools/lcirun/spawn.hpp"

namespace lci::launcher {

/// Signals that are forwarded to ranks.
constexpr int forwarded_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/// A message from the guard to the job's process.
struct guard_order {
  uint8_t signal;      // to forward
  bool from_terminal;  // its process group has received it already
  bool kill_hard;
};

/// Runs the job and returns the exit code. If the socket `guard` closes, the guard is dead.
using guarded_work = std::function<int(const original_state& original, int guard)>;

/// Runs `work` in a child process; returns its exit code.
int run_guarded(const guarded_work& work);

}  // namespace lci::launcher
