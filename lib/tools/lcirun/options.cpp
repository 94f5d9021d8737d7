#include "lib/tools/lcirun/options.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>

#include "lci/config.hpp"
#include "lib/tools/lcirun/binding.hpp"
#include "lib/tools/lcirun/output_files.hpp"
#include "lib/tools/lcirun/processes.hpp"
#include "lib/tools/lcirun/ranks_and_hosts.hpp"

namespace lci::launcher {
namespace {

const char* const footer = R"(
Each rank gets PMI_RANK, PMI_SIZE, PMI_FD (PMI-1), PMI_JOBID, MPI_LOCALRANKID and
MPI_LOCALNRANKS; all else in the environment passes through (to other hosts, without HOME, USER,
SHELL, SSH_* and the like, which they have of their own). Rank 0 reads lcirun's standard input,
the others read nothing.

When a rank exits with another code than 0 or is killed, all are ended (SIGTERM, and
SIGKILL 2 s later), and lcirun exits with that first code, 128 + signal if it was a
signal. SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 are passed on to the
ranks; a second SIGINT kills all at once. Whatever ranks have started ends with the
job, also if lcirun is killed. The same is true of ranks on other hosts; when one of those is
lost, the job ends.

Exit codes of lcirun itself: 1 failure, 2 wrong usage, 124 --timeout, 126 program
cannot be executed, 127 program not found.)";

struct words_of_options {
  std::string bind = "none", gdb, gdb_mode = "auto", valgrind, hostfile;
  std::vector<std::string> hosts, env;
};

[[noreturn]] void refuse(const std::string& text) { throw std::invalid_argument(text); }

/// Returns `NAME=VALUE` unchanged; to a plain NAME adds its value in lcirun's environment.
std::string assignment(const std::string& word) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (name.empty()) refuse("--env " + word + ": no name; --env NAME=VALUE, or --env NAME");
  if (equals != std::string::npos) return word;
  const char* value = getenv(name.c_str());
  if (value == nullptr) refuse("--env " + word + ": it is not set here; --env NAME=VALUE sets it");
  return name + "=" + value;
}

void declare_part(CLI::App& app, program_part& part, words_of_options& words) {
  app.add_option("-n,--ranks", part.ranks, "how many ranks to start (with --hosts: all slots); -np N is the same")
      ->check(CLI::Range(1, most_ranks))
      ->type_name("N");
  app.add_option("--env", words.env, "set a variable for the ranks, or pass one on to other hosts")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.prefix_command();  // the first other word is the program
}

void declare_hosts(CLI::App& app, launch_options& options, words_of_options& words) {
  const auto hosts = app.add_option("--hosts", words.hosts, "run on these hosts: NAME or NAME:SLOTS, with commas")
                         ->type_name("LIST")
                         ->allow_extra_args(false);
  app.add_option("--hostfile", words.hostfile, "the same from a file, a host a line")
      ->type_name("FILE")
      ->excludes(hosts);
  app.add_option("--ssh", options.ssh, "the command that reaches a host; its name is appended")
      ->type_name("CMD")
      ->capture_default_str();
  app.add_option("--proxy", options.proxy, "lcirun on other hosts (default: where it is here)")->type_name("PATH");
  app.add_option("--host-timeout", options.host_timeout,
                 "a host that does not connect, or answer, for so many seconds is lost")
      ->check(CLI::Range(1.0, 1e5))
      ->type_name("S")
      ->capture_default_str();
  app.add_option("--wdir", options.folder, "the folder in which ranks start (default: this one)")->type_name("FOLDER");
}

void declare_rest(CLI::App& app, launch_options& options, words_of_options& words) {
  app.add_option("--bind", words.bind, "each rank runs on the processors of one core, or socket")
      ->check(CLI::IsMember({"core", "socket", "none"}))
      ->type_name("core|socket|none")
      ->capture_default_str();
  app.add_flag("--report-bindings", options.report_bindings, "say where each rank may run");
  app.add_option("--timeout", options.timeout, "end the job after this many seconds (exit code 124)")
      ->check(CLI::Range(1e-3, 1e9))
      ->type_name("S");
  const auto label = app.add_flag("--label", options.label, "put [rank] in front of each line of output");
  app.add_option("--output", options.output, "write each rank's output to a file: %r rank, %h host, %j job, %% percent")
      ->type_name("PATTERN")
      ->excludes(label);
  app.add_option("--error", options.error, "write its standard error to another")
      ->type_name("PATTERN")
      ->excludes(label);
  app.add_option("--gdb", words.gdb, "run these ranks (0,2-5 or all) under gdb")->type_name("RANKS");
  app.add_option("--gdb-mode", words.gdb_mode,
                 "auto: xterm where there is a DISPLAY, else batch, which shows the stacks of a crash")
      ->check(CLI::IsMember({"auto", "xterm", "server", "batch"}))
      ->type_name("auto|xterm|server|batch")
      ->capture_default_str();
  app.add_option("--valgrind", words.valgrind, "run these under valgrind, with valgrind.RANK.log")->type_name("RANKS");
  const auto quiet = app.add_flag("-q,--quiet", options.quiet, "say nothing about how ranks ended");
  app.add_flag("-v,--verbose", options.verbose, "say which ranks run where")->excludes(quiet);
  app.set_version_flag("--version", "lcirun (LCI) " LCI_VERSION_STRING);
}

/// The remaining words are the program and its arguments.
void take_program(CLI::App& app, program_part& part) {
  part.words = app.remaining();
  if (!part.words.empty() && part.words[0] == "--") {
    part.words.erase(part.words.begin());
  } else if (!part.words.empty() && part.words[0].size() > 1 && part.words[0][0] == '-') {
    refuse("unknown option " + part.words[0]);
  }
  if (part.words.empty()) refuse("no program given");
}

void take_environment(program_part& part, words_of_options& words) {
  for (const std::string& word : words.env) part.env.push_back(assignment(word));
}

rank_set ranks_of(const char* option, const std::string& text, int ranks) {
  if (text.empty()) return {};
  rank_set set;
  try {
    set = parse_ranks(text);
  } catch (const std::invalid_argument& error) {
    refuse(std::string(option) + ": " + error.what());
  }
  if (!set.all && set.ranks.back() >= ranks) {
    refuse(std::string(option) + " " + text + ": ranks of this job are 0 to " + std::to_string(ranks - 1));
  }
  return set;
}

void take_hosts(launch_options& options, const words_of_options& words) {
  try {
    for (const std::string& list : words.hosts) add_hosts(options.hosts, list);
    if (!words.hostfile.empty()) read_hostfile(options.hosts, words.hostfile);
  } catch (const std::invalid_argument& error) {
    refuse((words.hostfile.empty() ? "--hosts: " : "--hostfile: ") + std::string(error.what()));
  }
  if (!options.hosts.empty() && options.ssh.find_first_not_of(' ') == std::string::npos) {
    refuse("--ssh: a command is needed, such as \"ssh -p 2222\"");
  }
}

void take_rest(launch_options& options, const words_of_options& words) {
  // The range checks do not refuse nan.
  if (std::isnan(options.timeout)) refuse("--timeout nan: a number of seconds is needed");
  if (std::isnan(options.host_timeout)) refuse("--host-timeout nan: a number of seconds is needed");
  for (const std::string* each : {&options.output, &options.error}) {
    expand_pattern(*each, 0, "", "");
  }
  options.bind = words.bind == "core" ? binding_t::core : words.bind == "socket" ? binding_t::socket : binding_t::none;
  // With hosts, each host's own lcirun_topology matters.
  if (options.bind != binding_t::none && options.hosts.empty() && topology_program().empty()) {
    refuse("--bind " + words.bind + ": this lcirun was built without hwloc (Debian: libhwloc-dev); leave --bind out");
  }
  options.gdb_mode = words.gdb_mode == "xterm"    ? gdb_mode_t::xterm
                     : words.gdb_mode == "server" ? gdb_mode_t::server
                     : words.gdb_mode == "batch"  ? gdb_mode_t::batch
                                                  : gdb_mode_t::automatic;
  options.gdb = ranks_of("--gdb", words.gdb, options.ranks);
  options.valgrind = ranks_of("--valgrind", words.valgrind, options.ranks);
  for (int rank = 0; rank < options.ranks; ++rank) {
    if (options.gdb.has(rank) && options.valgrind.has(rank)) {
      refuse("--gdb and --valgrind: rank " + std::to_string(rank) + " can only run under one");
    }
  }
}

/// The words in the order that CLI11 expects: last first.
std::vector<std::string> reversed(const std::vector<std::string>& words) { return {words.rbegin(), words.rend()}; }

/// Replaces `-np`, as launchers of MPI call the option, by `-n`. Only where options without a value precede it: behind
/// others the word `-np` may be an option's value, or an argument of the program.
void accept_np(std::vector<std::string>& words) {
  for (std::string& word : words) {
    if (word == "-np") word = "-n";
    if (word.rfind('-', 0) != 0 || word == "-n") return;
  }
}

/// The parts of an MPMD job. A lone `:` is a separator only if `-n` follows: else it is a program's argument.
std::vector<std::vector<std::string>> parts_of(int argc, char** argv) {
  std::vector<std::vector<std::string>> parts(1);
  for (int i = 1; i < argc; ++i) {
    const std::string next = i + 1 < argc ? argv[i + 1] : "";
    if (std::string(argv[i]) == ":" &&
        (next.rfind("-n", 0) == 0 || next == "--ranks" || next.rfind("--ranks=", 0) == 0)) {
      parts.emplace_back();
    } else {
      parts.back().emplace_back(argv[i]);
    }
  }
  for (std::vector<std::string>& part : parts) accept_np(part);
  return parts;
}

void take_all(CLI::App& app, launch_options& options, words_of_options& words,
              const std::vector<std::vector<std::string>>& parts) {
  app.parse(reversed(parts[0]));
  take_hosts(options, words);
  program_part& first = options.parts[0];
  take_program(app, first);
  take_environment(first, words);
  if (first.ranks == 0 && (options.hosts.empty() || parts.size() > 1)) {
    refuse("-n is needed: how many ranks");
  }
  if (first.ranks == 0) first.ranks = total_slots(options.hosts);
  for (size_t i = 1; i < parts.size(); ++i) {
    words_of_options more;
    CLI::App other("", "lcirun");
    declare_part(other, options.parts[i], more);
    other.parse(reversed(parts[i]));
    take_program(other, options.parts[i]);
    take_environment(options.parts[i], more);
  }
  for (const program_part& part : options.parts) {
    options.ranks += part.ranks;
    if (options.ranks > most_ranks) {
      refuse("more than " + std::to_string(most_ranks) + " ranks in all parts");
    }
  }
  take_rest(options, words);
}

int usage_error(const std::string& text) {
  complain(text + "\nUsage: lcirun -n N [options] [--] program [arguments]   (lcirun --help)");
  return exit_usage;
}

}  // namespace

std::optional<int> parse_options(int argc, char** argv, launch_options& options) {
  CLI::App app(
      "Starts N ranks of a program, on this machine or on several.\n"
      "lcirun -n N [options] [--] program [arguments] [: -n N program [arguments]]...",
      "lcirun");
  words_of_options words;
  const auto parts = parts_of(argc, argv);
  options.parts.resize(parts.size());
  declare_part(app, options.parts[0], words);
  declare_hosts(app, options, words);
  declare_rest(app, options, words);
  app.footer(footer);
  try {
    take_all(app, options, words, parts);
  } catch (const CLI::Success& asked) {  // --help, --version
    const int code = app.exit(asked);
    return std::cout.flush() ? code : exit_failure;
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  } catch (const std::invalid_argument& error) {
    return usage_error(error.what());
  }
  return std::nullopt;
}

}  // namespace lci::launcher
