// The options of lci_perf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lci_perf {

enum class op_kind {
  // messages: the target is notified of each
  am,
  orderedam,
  putsignal,
  getsignal,
  sendrecv,
  // complete with the call
  put,
  get,
  atomic,
  swap,
  cas,
  strided,
  stridedget,
  barrier,
  allreduce,
  // within one process or pair of forked processes
  floor,
  resource
};
enum class metric_kind {
  latency,
  rate,
  bandwidth,
  bidirectional,
  // floor
  handoff,
  ring64,
  cma,
  memcpy,
  strided,
  // floor and resource
  atomic,
  // resource
  cq,
  matching,
  packet,
  registration,
  ownatomic,
  lockedqueue,
  malloc
};
enum class comp_kind { handler, cq, sync, counter };
enum class bind_kind { pack, cross, none };

/// Returns whether the target is notified of each operation.
inline bool notifies_target(op_kind op) { return op <= op_kind::sendrecv; }
/// Returns whether it also puts into or gets from the other rank's memory.
inline bool has_memory(op_kind op) { return op == op_kind::putsignal || op == op_kind::getsignal; }
inline bool is_collective(op_kind op) { return op == op_kind::barrier || op == op_kind::allreduce; }
inline bool is_strided(op_kind op) { return op == op_kind::strided || op == op_kind::stridedget; }
inline bool is_atomic(op_kind op) { return op >= op_kind::atomic && op <= op_kind::cas; }

/// `strided`, `stridedget`: a block of a matrix of doubles.
constexpr size_t matrix_rows = 1024, block_rows = 512;
constexpr size_t block_bytes = block_rows * block_rows * sizeof(double);

struct options {
  op_kind op = op_kind::am;
  metric_kind metric = metric_kind::latency;
  std::vector<size_t> sizes;  ///< bytes; never empty after parse()
  int threads = 1;            ///< pairs of threads
  bool dedicated = false;     ///< a device for each pair instead of one for all
  comp_kind comp = comp_kind::handler;
  bool zero_copy = false;     ///< cq and sync: take active messages as packets
  int window = 64;            ///< messages in flight per pair
  int rounds = 7;             ///< measured rounds, after the warm-up
  uint64_t iterations = 0;    ///< messages per round and pair; 0: as many as fit into `seconds`
  double seconds = 0.1;       ///< length of a round when `iterations` is 0
  size_t slots = 64;          ///< floor ring64 only
  size_t offset = 0;          ///< bytes from the begin of a page to a buffer from which or to which messages go
  bool with_handoff = false;  ///< latencies: also measure a hand-off before each round, and report the ratio
  bind_kind bind = bind_kind::pack;
  bool percentiles = false;  ///< latencies: also time single round trips
  bool processes = false;    ///< pairs of processes instead of threads
  bool reg_cache = false;    ///< resource registration only
  bool json = false;
  bool csv = false;
};

const char* name_of(op_kind v);
const char* name_of(metric_kind v);
const char* name_of(comp_kind v);
const char* name_of(bind_kind v);

/// Reads the command line. For --help or a bad command line, prints the text and ends the process with exit code 0 or
/// 2.
options parse(int argc, char** argv);

/// Checks combinations of options. Returns what is wrong, or an empty text.
std::string contradiction(const options& o);

}  // namespace lci_perf
