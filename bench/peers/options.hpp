// What the user asked a peer's program to measure: the options of lci_perf that apply to it, and some more.
#pragma once

#include <string>
#include <vector>

#include "bench/lci_perf/options.hpp"

namespace peers {

using lci_perf::metric_kind;
using lci_perf::op_kind;

/// Whether one rank alone does all, to the other one's memory.
inline bool is_one_sided(op_kind op) { return op != op_kind::am && op != op_kind::sendrecv; }

struct options : lci_perf::options {
  int ranks = 2;             ///< processes; a launcher's number counts more
  bool thread_safe = false;  ///< have the library protect itself although one thread alone calls it
  bool yield = false;        ///< MPI: test and yield instead of waiting inside of the library
  std::string provider;      ///< libfabric
};

/// A program of this folder.
struct program {
  const char* name;          ///< of the library, as it stands in the output
  const char* start;         ///< how two processes are started, for the help
  std::vector<op_kind> ops;  ///< what it can measure
  bool forks;                ///< makes its processes itself
};

/// Reads the command line. Prints help or what is wrong and ends the process, as lci_perf does.
options parse(int argc, char** argv, const program& who);

/// Whether the command line is `PROGRAM start`, which takes no options: memory that a parser of options
/// uses would be counted as the library's.
bool asks_for_start(int argc, char** argv);

}  // namespace peers
