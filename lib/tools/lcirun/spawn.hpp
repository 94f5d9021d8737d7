// Starts ranks: sets their environment, descriptors and processors, and makes them die with their parent.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "lib/tools/lcirun/binding.hpp"
#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// Process state at lcirun's start, which ranks get back.
struct original_state {
  sigset_t signal_mask;
  rlimit files;
};

/// How a rank's streams are connected.
struct rank_wiring {
  bool capture = false;      // through pipes that lcirun reads
  int out = -1, error = -1;  // descriptors for the streams, if not -1
  int input = -1;            // -1: rank 0 gets lcirun's stdin, others /dev/null
};

/// A new rank, and the launcher's ends of its descriptors.
struct started_rank {
  pid_t pid = -1;
  int pmi = -1;              // socket
  int out = -1, error = -1;  // pipes, if captured
};

class spawner {
 public:
  /// Throws std::runtime_error if the ranks can't be bound as asked.
  spawner(const launch_options& options, const host_share& share, const original_state& original, std::string job_id);

  /// Starts one rank. Throws std::system_error if the operating system refuses.
  started_rank start(int rank, const rank_wiring& wiring) const;
  /// The processors of a rank as text.
  std::string describe_binding(int rank) const;

 private:
  struct child_ends {
    int pmi, out, error, input;
    pid_t parent;
  };
  [[noreturn]] void become_rank(int rank, const child_ends& ends) const;
  void set_environment(int rank, int pmi) const;
  [[noreturn]] void execute(int rank) const;

  const launch_options& options_;
  const host_share share_;
  const original_state& original_;
  const std::string job_id_;
  std::vector<binding> bindings_;  // by local rank
};

}  // namespace lci::launcher
