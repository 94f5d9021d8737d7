#include "lib/tools/lcirun/tools.hpp"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace lci::launcher {

namespace {

using word_list = std::vector<std::string>;

word_list joined(word_list first, const word_list& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

gdb_mode_t choose(gdb_mode_t mode) {
  if (mode != gdb_mode_t::automatic) return mode;
  const char* display = getenv("DISPLAY");
  const bool window = display != nullptr && *display != '\0' && in_path("xterm");
  return window ? gdb_mode_t::xterm : gdb_mode_t::batch;
}

word_list under_gdb(gdb_mode_t mode, int rank, const word_list& words) {
  const std::string number = std::to_string(rank);
  switch (choose(mode)) {
    case gdb_mode_t::xterm:
      return joined({"xterm", "-T", "rank " + number, "-e", "gdb", "--args"}, words);
    case gdb_mode_t::server:
      // On a free port, which gdbserver prints to stderr.
      return joined({"gdbserver", "--once", "localhost:0"}, words);
    default:
      break;
  }
  // Runs the program. If a signal stops it, prints all stacks. Exits with the program's code.
  return joined({"gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set confirm off", "-ex",
                 "handle SIGUSR1 SIGUSR2 nostop noprint pass", "-ex", "run", "-ex", "thread apply all backtrace", "-ex",
                 "quit $_isvoid($_exitcode) ? 128 + $_siginfo.si_signo : $_exitcode", "--args"},
                words);
}

}  // namespace

bool in_path(const std::string& name) {
  const char* list = getenv("PATH");
  std::istringstream folders(list != nullptr ? list : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access(((folder.empty() ? "." : folder) + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::vector<std::string> with_tools(const launch_options& options, int rank, std::vector<std::string> words) {
  if (options.valgrind.has(rank)) {
    words = joined({"valgrind", "--log-file=valgrind." + std::to_string(rank) + ".log"}, words);
  }
  if (options.gdb.has(rank)) words = under_gdb(options.gdb_mode, rank, words);
  return words;
}

}  // namespace lci::launcher
