// The command line of lcirun.
#pragma once

#include <optional>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// Reads the command line; a part's `path` stays empty, words[0] is the user's word for it. Returns
/// lcirun's exit code where nothing is to be run (--help, wrong usage, which it has explained),
/// else nothing.
std::optional<int> parse_options(int argc, char** argv, launch_options& options);

}  // namespace lci::launcher
