// The process that the user sees. It starts the job in a process below itself and then only passes
// signals on and waits.
//
// Why two processes: both adopt the orphans below them (PR_SET_CHILD_SUBREAPER). If this one is
// killed with SIGKILL, the job's process sees its socket close and kills all that is below; if the
// job's process is killed, this one does. Only if both are killed at once are processes that the
// ranks have started (not the ranks, which die with the job's process) left.
#pragma once

#include "network/launcher/launch_options.hpp"

namespace lci::launcher {

/// Runs the job; returns lcirun's exit code.
int run_guarded(const launch_options& options);

}  // namespace lci::launcher
