// The server side of PMI-1: the job's key-value store and its barrier. Protocol only, no I/O.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/bootstrap/pmi1_wire.hpp"

namespace lci::launcher {

/// The result of a request: what the job must do.
struct verdict {
  enum kind_t { go_on, abort, malformed } kind = go_on;
  int code = 0;      // abort: the exit code, 0..255
  std::string text;  // malformed: what is wrong
};

/// Ranks of each node, and of each part of an MPMD job, in the order of ranks. Empty: one node, one part.
struct job_layout {
  std::vector<int> ranks_of_nodes, ranks_of_parts;
};

/// Not thread-safe. Requests are untrusted: one that is well-formed but can't be served gets an error reply, any other
/// is reported as malformed.
class pmi_server {
 public:
  using send_t = std::function<void(int rank, const std::string& line)>;

  pmi_server(int size, std::string kvsname, send_t send, job_layout layout = {});

  verdict on_request(int rank, const std::string& line);

  /// Returns whether some ranks wait in the barrier.
  bool barrier_begun() const { return waiting_ > 0; }
  bool in_barrier(int rank) const { return ranks_[size_t(rank)].in_barrier; }

 private:
  struct rank_state {
    bool initialized = false;
    bool in_barrier = false;
  };
  using message = network::pmi1::message;

  void put(int rank, const message& request);
  void get(int rank, const message& request);
  void get_by_index(int rank, const message& request);
  void barrier(int rank);
  /// The ranks that have not entered the barrier, for a rank whose wait in it has timed out.
  std::string missing() const;
  int part_of(int rank) const;
  void store(const std::string& key, const std::string& value);

  const std::string kvsname_;
  const send_t send_;
  const job_layout layout_;
  std::vector<rank_state> ranks_;
  int waiting_ = 0;
  std::vector<std::pair<std::string, std::string>> entries_;
  std::unordered_map<std::string, size_t> index_;  // key -> place in entries_
  size_t bytes_ = 0;
};

}  // namespace lci::launcher
