// What lcirun was asked to do.
#pragma once

#include <string>
#include <vector>

namespace lci::launcher {

struct launch_options {
  int ranks = 0;
  bool bind_core = false;
  double timeout = 0;  // seconds; 0 = none
  bool label = false;
  bool quiet = false;
  std::string program;             // path, already looked up
  std::vector<std::string> words;  // the program's argv, its name first
};

/// Exit codes of lcirun itself, as shells and timeout(1) have them.
constexpr int exit_failure = 1;
constexpr int exit_usage = 2;
constexpr int exit_timeout = 124;
constexpr int exit_cannot_execute = 126;
constexpr int exit_not_found = 127;
constexpr int exit_signal_base = 128;

}  // namespace lci::launcher
