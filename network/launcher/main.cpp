// lcirun: starts N ranks of a program on this machine.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "network/launcher/guard.hpp"
#include "network/launcher/options.hpp"
#include "network/launcher/processes.hpp"

namespace {

using lci::launcher::complain;
using lci::launcher::launch_options;

bool is_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// Finds the program as a shell does. Returns 0, or the exit code after having said why.
int look_up(const std::string& name, std::string& path) {
  bool seen = false;
  const auto usable = [&](const std::string& candidate) {
    if (!is_file(candidate)) return false;
    seen = true;
    path = candidate;
    return access(candidate.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (usable(name)) return 0;
    seen = seen || access(name.c_str(), F_OK) == 0;
  } else if (!name.empty()) {
    const char* list = getenv("PATH");
    std::string rest = list != nullptr ? list : "/usr/local/bin:/usr/bin:/bin";
    rest += ":";
    for (size_t at = 0; at < rest.size();) {
      const size_t end = rest.find(':', at);
      const std::string folder = end == at ? "." : rest.substr(at, end - at);
      if (usable(folder + "/" + name)) return 0;
      at = end + 1;
    }
  }
  if (seen) {
    complain("cannot execute '" + name + "': it is not an executable file");
    return lci::launcher::exit_cannot_execute;
  }
  complain("cannot find program '" + name + "'" +
           (name.find('/') == std::string::npos ? " in PATH; a program in this folder is ./" + name
                                                : ""));
  return lci::launcher::exit_not_found;
}

int run(int argc, char** argv) {
  launch_options options;
  if (const auto code = lci::launcher::parse_options(argc, argv, options)) return *code;
  if (const int code = look_up(options.words[0], options.program)) return code;
  return lci::launcher::run_guarded(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    complain(error.what());
    return lci::launcher::exit_failure;
  }
}
