// Two processes without a launcher: a fork, and shared memory for what they must agree on.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "bench/peers/session.hpp"

namespace peers {

/// Made before the library is started; the constructor returns in both processes (in this one alone if
/// there is to be only one). While it waits it calls `idle`, where the library can make progress.
class forked_job : public job {
 public:
  static forked_job make(int ranks, bool crowded);
  ~forked_job() override;  // rank 0: waits for the other, whose failure becomes its own

  void barrier() override;
  void broadcast(round& r) override;
  void set_idle(std::function<void()> idle) { idle_ = std::move(idle); }

  /// Tells `bytes` (an address, a key) under a number; look_up() after a barrier finds it.
  void publish(int number, const void* bytes, size_t size);
  std::vector<char> look_up(int number) const;

 private:
  struct shared;
  forked_job(int rank, int ranks, bool crowded, shared* memory, int child);

  const bool crowded_;
  shared* const shared_;
  const int child_;  // rank 0: the other's process, or 0
  std::function<void()> idle_;
};

}  // namespace peers
