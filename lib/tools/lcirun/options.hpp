// The command line of lcirun.
#pragma once

#include <optional>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// Reads the command line. A part's `path` stays empty; words[0] is the program as the user wrote it. Returns lcirun's
/// exit code if there is nothing to run (--help, or wrong usage, which has been reported), else nothing.
std::optional<int> parse_options(int argc, char** argv, launch_options& options);

}  // namespace lci::launcher
