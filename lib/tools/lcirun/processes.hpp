// Helpers for processes: descendants, exit statuses, messages to the user, the clock.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "lib/tools/lcirun/event_loop.hpp"

namespace lci::launcher {

/// All living descendants of this process. Includes orphans, since this process adopts them (PR_SET_CHILD_SUBREAPER).
/// Empty without /proc.
std::vector<pid_t> descendants();

/// Sends the signal to all descendants. Returns how many there were.
int signal_descendants(int signal);

/// SIGKILLs all descendants and reaps them. Returns false if some could not be killed within `seconds`.
bool kill_descendants(double seconds);

/// "exited with code 3", "was killed by signal 11 (Segmentation fault)".
std::string describe_exit(int wait_status);
/// The exit code that a shell would show.
int exit_code(int wait_status);

/// Writes the line "lcirun: <text>" to stderr by one write(). The line is lost if stderr is a pipe that remains full
/// for some seconds.
void complain(const std::string& text);

/// Calls `on_end` when children have ended. SIGCHLD must be blocked. Returns a descriptor that the caller closes.
int watch_children(event_loop& loop, std::function<void()> on_end);

/// The path of this program's executable.
std::string own_path();

/// Raises this process's soft limit of descriptors to the hard one. For each rank the process that starts it has a
/// socket and up to two pipes.
void allow_many_files();

/// Seconds of the monotonic clock.
double now();

}  // namespace lci::launcher
