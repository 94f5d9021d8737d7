// The options of a peer's program: those of lci_perf that apply to it, and some more.
#pragma once

#include <string>
#include <vector>

#include "bench/lci_perf/options.hpp"

namespace peers {

using lci_perf::metric_kind;
using lci_perf::op_kind;

/// Returns whether one rank does all the work, on the other one's memory.
inline bool is_one_sided(op_kind op) { return op != op_kind::am && op != op_kind::sendrecv; }

struct options : lci_perf::options {
  int ranks = 2;             ///< processes; if there is a launcher, its number is used instead
  bool thread_safe = false;  ///< initialize the library for several threads although one calls it
  bool yield = false;        ///< MPI: test and yield instead of waiting inside of the library
  std::string provider;      ///< libfabric
};

/// One of the programs in this folder.
struct program {
  const char* name;          ///< the library's name in the output
  const char* start;         ///< how to start two processes, for --help
  std::vector<op_kind> ops;  ///< what it can measure
  bool forks;                ///< forks its second process itself
};

/// Reads the command line. For --help or a bad command line, prints the text and ends the process, as lci_perf does.
options parse(int argc, char** argv, const program& who);

/// Returns whether the command line is `PROGRAM start`, which takes no options: an option parser's memory would be
/// counted as the library's.
bool asks_for_start(int argc, char** argv);

}  // namespace peers
