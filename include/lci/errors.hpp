// The exceptions. A shortage of resources throws none: posts return a `retry` status.
#pragma once

#include <stdexcept>
#include <string>

#include "lci/config.hpp"

namespace lci {

/// A peer failed: its process died or the connection broke. Thrown by progress() and by posts to that rank.
class LCI_API peer_failure_error : public std::runtime_error {
 public:
  peer_failure_error(int rank, const std::string& what) : std::runtime_error(what), rank_(rank) {}
  int failed_rank() const { return rank_; }

 private:
  int rank_;
};

/// An invalid argument, or a call at the wrong time. Thrown before anything is posted. The text gives the argument,
/// its value, the limit, and a remedy.
class LCI_API invalid_argument_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The program was compiled with headers of another version of the library than it runs with. Thrown when a
/// runtime is allocated. Remedy: recompile the program.
class LCI_API version_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An environment variable or an attribute has an invalid value.
class LCI_API option_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// At start, the process could not determine its rank or reach its peers.
class LCI_API bootstrap_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The operating system permanently refused a resource (memory, a file descriptor, a mapping), or access
/// to the memory of a live rank.
class LCI_API resource_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lci
