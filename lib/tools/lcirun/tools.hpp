// `--gdb` and `--valgrind`: the command that runs a rank under a debugger.
#pragma once

#include <string>
#include <vector>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// The words to execute for a rank whose program would be `words`: the same ones, or a tool's with
/// those behind. Looks at DISPLAY and PATH of the host that it is called on.
std::vector<std::string> with_tools(const launch_options& options, int rank,
                                    std::vector<std::string> words);

/// Whether a program can be found as execvp does.
bool in_path(const std::string& name);

}  // namespace lci::launcher
