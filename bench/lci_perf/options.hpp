// What the user asked lci_perf to measure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lci_perf {

enum class op_kind { am, sendrecv, put, get, atomic, putsignal, strided, barrier, resource, floor };
enum class metric_kind {
  latency, rate, bandwidth,                        // of messages and one-sided operations
  handoff, ring64, cma, memcpy, atomic, strided,   // of floor
  queue, matching, packets                         // of resource
};
enum class comp_kind { handler, cq, sync };
enum class bind_kind { pack, cross, none };

/// Whether one rank alone does all, to the other one's memory or together with it.
inline bool is_one_sided(op_kind op) { return op >= op_kind::put && op <= op_kind::barrier; }

/// `strided`: a block of a matrix of doubles.
constexpr size_t matrix_rows = 1024, block_rows = 512;
constexpr size_t block_bytes = block_rows * block_rows * sizeof(double);

struct options {
  op_kind op = op_kind::am;
  metric_kind metric = metric_kind::latency;
  std::vector<size_t> sizes;  ///< bytes; never empty after parse()
  int threads = 1;            ///< pairs of threads
  bool dedicated = false;     ///< a device for each pair instead of one for all
  comp_kind comp = comp_kind::handler;
  bool zero_copy = false;   ///< cq and sync: take active messages as packets
  int window = 64;          ///< messages in flight, per pair
  int rounds = 7;           ///< measured rounds, after the warm-up
  uint64_t iterations = 0;  ///< messages a round and pair; 0: as many as fit into `seconds`
  double seconds = 0.1;     ///< length of a round when `iterations` is 0
  size_t slots = 64;        ///< floor ring64 only
  bool with_handoff = false;  ///< latencies: a hand-off before each round, and the ratio to it
  bind_kind bind = bind_kind::pack;
  bool json = false;
};

const char* name_of(op_kind v);
const char* name_of(metric_kind v);
const char* name_of(comp_kind v);
const char* name_of(bind_kind v);

/// Reads the command line. Prints help or what is wrong, and ends the process, where there is
/// nothing to run: exit code 0 for --help, 2 for a bad command line.
options parse(int argc, char** argv);

}  // namespace lci_perf
