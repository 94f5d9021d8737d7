// What can be thrown. Shortage never is: that is a `retry` status.
#pragma once

#include <stdexcept>
#include <string>

#include "lci/config.hpp"

namespace lci {

/// A peer died or its connection broke. Thrown by progress() and by posts to that rank.
class LCI_API peer_failure_error : public std::runtime_error {
 public:
  peer_failure_error(int rank, const std::string& what) : std::runtime_error(what), rank_(rank) {}
  int failed_rank() const { return rank_; }

 private:
  int rank_;
};

/// The caller asked for something that can't be: a bad argument or a call at the wrong time.
/// Thrown before anything is posted. The text names the argument, its value, the limit, the remedy.
class LCI_API invalid_argument_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The program was compiled with headers of another version of the library than it runs with. Thrown when a
/// runtime is allocated. Remedy: compile it again.
class LCI_API version_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A variable of the environment, or an attribute, has a value that is not understood.
class LCI_API option_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The process could not learn its rank or reach its peers at start.
class LCI_API bootstrap_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The operating system refused a resource for good (memory, a file descriptor, a mapping), or access
/// to the memory of a rank that lives.
class LCI_API resource_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lci
