// lcirun: starts N ranks of a program, on this machine or on several.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "lib/tools/lcirun/guard.hpp"
#include "lib/tools/lcirun/job.hpp"
#include "lib/tools/lcirun/options.hpp"
#include "lib/tools/lcirun/processes.hpp"
#include "lib/tools/lcirun/proxy.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

namespace {

using lci::launcher::complain;
using lci::launcher::launch_options;

bool is_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// Opens the standard streams that lcirun was started without; otherwise its own sockets would get their numbers.
void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) (void)!open("/dev/null", O_RDWR);  // the lowest free number is this one
  }
}

/// Finds the program as a shell in `folder` does, where ranks start (empty: this folder). Returns 0, or the exit code
/// after printing the reason.
int look_up(const std::string& name, const std::string& folder, std::string& path) {
  bool seen = false;
  const auto from_here = [&](const std::string& candidate) {
    return folder.empty() || candidate[0] == '/' ? candidate : folder + "/" + candidate;
  };
  const auto usable = [&](const std::string& candidate) {
    if (!is_file(from_here(candidate))) return false;
    seen = true;
    path = candidate;
    return access(from_here(candidate).c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (usable(name)) return 0;
    seen = seen || access(from_here(name).c_str(), F_OK) == 0;
  } else if (!name.empty()) {
    const char* list = getenv("PATH");
    std::string rest = list != nullptr ? list : "/usr/local/bin:/usr/bin:/bin";
    rest += ":";
    for (size_t at = 0; at < rest.size();) {
      const size_t end = rest.find(':', at);
      const std::string entry = end == at ? "." : rest.substr(at, end - at);
      if (usable(entry + "/" + name)) return 0;
      at = end + 1;
    }
  }
  if (seen) {
    complain("cannot execute '" + name + "': it is not an executable file");
    return lci::launcher::exit_cannot_execute;
  }
  std::string where;
  if (name.find('/') == std::string::npos) {
    where = " in PATH; a program in this folder is ./" + name;
  } else if (from_here(name) != name) {
    where = " in the folder '" + folder + "' (--wdir), in which ranks start";
  }
  complain("cannot find program '" + name + "'" + where);
  return lci::launcher::exit_not_found;
}

int run(int argc, char** argv) {
  using namespace lci::launcher;
  // Internal, so not in --help: how lcirun starts itself on another host.
  if (argc == 2 && strcmp(argv[1], "--run-as-proxy") == 0) {
    // lcirun forwards no signal that its user ignores; settings of ssh and login shells must not change that.
    for (const int each : forwarded_signals) signal(each, SIG_DFL);
    return run_guarded(run_proxy);
  }
  launch_options options;
  if (const auto code = parse_options(argc, argv, options)) return *code;
  // On other hosts the program may be elsewhere, so it is looked up there.
  for (program_part& part : options.parts) {
    if (!options.hosts.empty()) break;
    if (const int code = look_up(part.words[0], options.folder, part.path)) return code;
  }
  return run_guarded(
      [&options](const original_state& original, int guard) { return job(options, original, guard).run(); });
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    complain(lci::launcher::text_of(error));
    return lci::launcher::exit_failure;
  }
}
