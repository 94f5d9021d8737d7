// Two processes without a launcher: created by fork(), coordinated through shared memory.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "bench/peers/session.hpp"

namespace peers {

/// Must be created before the library is initialized; make() returns in both processes (with one rank, in this one
/// only). While it waits it calls `idle`, in which the library can make progress.
class forked_job : public job {
 public:
  static forked_job make(int ranks, bool crowded);
  ~forked_job() override;  // rank 0: waits for the other process, and exits with its failure

  void barrier() override;
  void broadcast(round& r) override;
  void set_idle(std::function<void()> idle) { idle_ = std::move(idle); }

  /// Publishes `bytes` (an address, a key) under a number; after a barrier, look_up() returns them.
  void publish(int number, const void* bytes, size_t size);
  std::vector<char> look_up(int number) const;

 private:
  struct shared;
  forked_job(int rank, int ranks, bool crowded, shared* memory, int child);

  const bool crowded_;
  shared* const shared_;
  const int child_;  // rank 0: process number of rank 1, or 0
  std::function<void()> idle_;
};

}  // namespace peers
