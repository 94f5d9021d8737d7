#include "network/launcher/options.hpp"

#include <CLI/CLI.hpp>

#include "lci/config.hpp"
#include "network/launcher/processes.hpp"

namespace lci::launcher {
namespace {

// A typing error in N shall not bring the machine down.
constexpr int most_ranks = 16384;

const char* const footer = R"(
Each rank gets PMI_RANK, PMI_SIZE, PMI_FD (PMI-1), PMI_JOBID, MPI_LOCALRANKID and
MPI_LOCALNRANKS; all else in the environment passes through. Rank 0 reads lcirun's
standard input, the others read nothing.

When a rank exits with another code than 0 or is killed, all are ended (SIGTERM, and
SIGKILL 2 s later), and lcirun exits with that first code, 128 + signal if it was a
signal. SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 are passed on to the
ranks; a second SIGINT kills all at once. Whatever ranks have started ends with the
job, also if lcirun is killed.

Exit codes of lcirun itself: 1 failure, 2 wrong usage, 124 --timeout, 126 program
cannot be executed, 127 program not found.)";

int usage_error(const std::string& text) {
  complain(text + "\nUsage: lcirun -n N [options] [--] program [arguments]   (lcirun --help)");
  return exit_usage;
}

}  // namespace

std::optional<int> parse_options(int argc, char** argv, launch_options& options) {
  std::string bind = "none";
  CLI::App app("Starts N ranks of a program on this machine.", "lcirun");
  app.add_option("-n,--ranks", options.ranks, "how many ranks to start")
      ->required()
      ->check(CLI::Range(1, most_ranks))
      ->type_name("N");
  app.add_option("--bind", bind, "core: rank i runs on the i-th allowed processor only")
      ->check(CLI::IsMember({"core", "none"}))
      ->type_name("core|none")
      ->capture_default_str();
  app.add_option("--timeout", options.timeout,
                 "end the job after this many seconds (exit code 124)")
      ->check(CLI::Range(1e-3, 1e9))
      ->type_name("S");
  app.add_flag("--label", options.label, "put [rank] in front of each line of output");
  app.add_flag("-q,--quiet", options.quiet, "say nothing about how ranks ended");
  app.set_version_flag("--version", "lcirun (LCI) " LCI_VERSION_STRING);
  app.footer(footer);
  app.prefix_command();  // the first word that is none of the above starts the program's part
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  }
  options.bind_core = bind == "core";
  options.words = app.remaining();
  if (!options.words.empty() && options.words[0] == "--") {
    options.words.erase(options.words.begin());
  } else if (!options.words.empty() && options.words[0].size() > 1 && options.words[0][0] == '-') {
    return usage_error("unknown option " + options.words[0]);
  }
  if (options.words.empty()) return usage_error("no program given");
  return std::nullopt;
}

}  // namespace lci::launcher
