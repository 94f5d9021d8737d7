// The process that the user sees. It starts the job in a process below itself and then only passes
// signals on and waits.
//
// Why two processes: both adopt the orphans below them (PR_SET_CHILD_SUBREAPER). If this one is
// killed with SIGKILL, the job's process sees its socket close and kills all that is below; if the
// job's process is killed, this one does. Only if both are killed at once are processes that the
// ranks have started (not the ranks, which die with the job's process) left.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>

#include "lib/tools/lcirun/spawn.hpp"

namespace lci::launcher {

/// What is passed on to ranks.
constexpr int forwarded_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/// What the guard says to the process below it.
struct guard_order {
  uint8_t signal;      // to be passed on
  bool from_terminal;  // whose processes have got it already
  bool kill_hard;
};

/// The job's part: returns the exit code. The socket's end means that the guard is dead.
using guarded_work = std::function<int(const original_state& original, int guard)>;

/// Runs the work in a process below this one; returns its exit code.
int run_guarded(const guarded_work& work);

}  // namespace lci::launcher
