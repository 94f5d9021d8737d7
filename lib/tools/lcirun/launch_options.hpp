// The parsed command line of lcirun.
#pragma once

#include <string>
#include <vector>

namespace lci::launcher {

/// One program of a job and its number of ranks; several programs are separated by `:` (MPMD).
struct program_part {
  int ranks = 0;
  std::string path;                // found in PATH; empty: to be looked up where it runs
  std::vector<std::string> words;  // its argv, its name first
  std::vector<std::string> env;    // NAME=VALUE, in addition to the environment
};

/// A host as the user names it, and the number of ranks it gets before the next host gets any.
struct host_slots {
  std::string name;
  int slots = 1;
};

enum class binding_t { none, core, socket };
enum class gdb_mode_t { automatic, xterm, server, batch };

/// The ranks that an option applies to.
struct rank_set {
  bool all = false;
  std::vector<int> ranks;  // sorted
  bool has(int rank) const;
  bool empty() const { return !all && ranks.empty(); }
};

struct launch_options {
  int ranks = 0;  // of all parts
  std::vector<program_part> parts;
  std::vector<host_slots> hosts;  // empty: this machine, without a proxy
  std::string ssh = "ssh";
  std::string proxy;         // path of lcirun on other hosts; empty: as here
  double host_timeout = 30;  // seconds: limit for connecting, and for later answers
  std::string folder;        // where ranks start; empty: where lcirun was started
  binding_t bind = binding_t::none;
  bool report_bindings = false;
  double timeout = 0;  // seconds; 0 = none
  bool label = false;
  std::string output, error;  // patterns of files
  rank_set gdb, valgrind;
  gdb_mode_t gdb_mode = gdb_mode_t::automatic;
  bool quiet = false, verbose = false;
};

/// Consecutive ranks that run on one host.
struct host_share {
  std::string host;  // empty: this machine
  int first = 0, count = 0;
  bool has(int rank) const { return rank >= first && rank < first + count; }
};

/// Index of the part that a rank belongs to.
int part_of(const launch_options& options, int rank);

/// Exit codes of lcirun itself, as in shells and timeout(1).
constexpr int exit_failure = 1;
constexpr int exit_usage = 2;
constexpr int exit_timeout = 124;
constexpr int exit_cannot_execute = 126;
constexpr int exit_not_found = 127;
constexpr int exit_signal_base = 128;

}  // namespace lci::launcher
