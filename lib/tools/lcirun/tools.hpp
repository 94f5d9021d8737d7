// `--gdb` and `--valgrind`: the command that runs a rank under a debugger.
#pragma once

#include <string>
#include <vector>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// The command that executes a rank: `words`, preceded by those of a tool if one is asked for. Uses DISPLAY and PATH of
/// the host it is called on.
std::vector<std::string> with_tools(const launch_options& options, int rank, std::vector<std::string> words);

/// Returns whether execvp() would find the program.
bool in_path(const std::string& name);

}  // namespace lci::launcher
