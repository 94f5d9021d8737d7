// Starts the ranks: environment, descriptors, processors, and the order to die with their parent.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "lib/tools/lcirun/binding.hpp"
#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// How lcirun found the process when it started; ranks get it back.
struct original_state {
  sigset_t signal_mask;
  rlimit files;
};

/// Where a rank's streams lead.
struct rank_wiring {
  bool capture = false;      // to pipes of ours
  int out = -1, error = -1;  // to these, if not -1
  int input = -1;            // from there; -1: rank 0 reads lcirun's, others nothing
};

/// The ends of a new rank that stay with the launcher.
struct started_rank {
  pid_t pid = -1;
  int pmi = -1;              // socket
  int out = -1, error = -1;  // pipes, if captured
};

class spawner {
 public:
  /// Throws std::runtime_error if the ranks can't be bound as asked.
  spawner(const launch_options& options, const host_share& share, const original_state& original,
          std::string job_id);

  /// Starts one rank. Throws std::system_error if the operating system refuses.
  started_rank start(int rank, const rank_wiring& wiring) const;
  /// Where a rank runs, in words.
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
  std::vector<binding> bindings_;  // by place on this host
};

}  // namespace lci::launcher
