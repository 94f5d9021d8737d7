// Starts the ranks: environment, descriptors, processor, and the order to die with their parent.
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "network/launcher/launch_options.hpp"

namespace lci::launcher {

/// How lcirun found the process when it started; ranks get it back.
struct original_state {
  sigset_t signal_mask;
  rlimit files;
};

/// The ends of a new rank that stay with the launcher.
struct started_rank {
  pid_t pid = -1;
  int pmi = -1;              // socket
  int out = -1, error = -1;  // pipes, only with labels
};

class spawner {
 public:
  spawner(const launch_options& options, const original_state& original, std::string job_id);

  /// Starts one rank. Throws std::system_error if the operating system refuses.
  started_rank start(int rank) const;

 private:
  [[noreturn]] void become_rank(int rank, int pmi, int out, int error, pid_t parent) const;
  void set_environment(int rank, int pmi) const;

  const launch_options& options_;
  const original_state& original_;
  const std::string job_id_;
  std::vector<int> cpus_;  // allowed ones, only for binding
};

}  // namespace lci::launcher
