// Waiting for completion objects and fences: asleep, with progress unless another thread makes it.
#pragma once

#include <lci.h>

#include <cstdint>
#include <utility>

#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

/// Makes progress on a device (null: on all devices) while the calling thread waits, if no other thread does. For one
/// wait of one thread.
///
/// At most one waiting thread makes progress on a device; it sleeps in the core, which the network wakes, and each
/// delivery that it makes rings its bell. Others sleep on what they wait for. So does every waiting thread while some
/// thread calls LCI_progress(). A thread that has just become the only one notices that within a few milliseconds.
class waiter {
 public:
  waiter(world& w, LCI_device_t device);

  /// One round. `sleep(ns)` sleeps on what is waited for, at most that long.
  template <class Sleep>
  void pass_time(Sleep sleep) {
    if (others_poll() || !make_progress()) sleep(longest_sleep);
  }

 private:
  static constexpr int64_t longest_sleep = 2000000;  // nanoseconds

  bool others_poll();
  /// Returns false if another waiting thread makes progress.
  bool make_progress();

  world& world_;
  const LCI_device_t device_;
  const bool all_;  // progress on all devices
  uint64_t polls_;  // of device_, when last looked at
  double slice_;    // seconds
};

/// One round of progress on a device, and on postponed work.
void make_progress(world& w, lci::device_t device);
/// One round of progress on all devices but this one.
void progress_on_others(world& w, LCI_device_t device);
/// Throws if a rank is known to have failed.
void check_ranks(const world& w);

/// Calls f(), which makes progress, until it returns true. What f() throws for a message or a handler is printed: other
/// ranks wait for this one all the same. Throws the failure of a rank, and the last of many exceptions in a row, as no
/// progress is possible.
template <class F>
void persist(F f) {
  constexpr int most_errors = 100;
  for (int errors = 0;;) {
    try {
      if (f()) return;
      errors = 0;
    } catch (const lci::peer_failure_error&) {
      throw;
    } catch (...) {
      if (++errors == most_errors) throw;
      (void)fail_by_exception("LCI_progress");
    }
  }
}

/// Collective. Returns when all ranks have called it, with progress on all devices meanwhile: ranks that call it later
/// may still wait for messages that this rank has sent through any of them. Throws if any rank has failed.
void meet(world& w, LCI_device_t device);
/// The same for LCI_barrier(), in which programs expect progress on LCI_UR_DEVICE alone: on another device, only while
/// no thread calls LCI_progress() for it.
void meet_patiently(world& w);

/// Waits until ready() is true.
template <class Ready, class Sleep>
void wait_until(LCI_device_t device, Ready ready, Sleep sleep) {
  if (ready()) return;
  waiter w(the_world(), device);
  while (!ready()) w.pass_time(sleep);
}

}  // namespace v1
