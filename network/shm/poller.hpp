// What a device remembers of each of several threads that poll it: its counters, and the lanes that it keeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci::network::shm {

/// One for each thread that polls the device, which owns it. A poll visits the lanes that its poller keeps, so threads
/// that poll at the same time read and write no line in common. Lanes are given as bits: bit i is the lane at place i
/// of the device's array. See docs/decisions/0048.
///
/// Memory orders. All accesses but those of `next` are relaxed. They decide who looks for a message and when, but never
/// who may take it, which the lane's lock decides. A thread that sees an old value visits a lane twice, or too late; it
/// sees the new value within a finite time. Objects that pointers lead to live as long as the device. A thread finds
/// them where they were published: by the release store in mpmc_array, or, in `next`, see below.
struct alignas(cache_line) poller {
  // `next` is never null: the one before this one in the ring may lead a walk here before share_lanes_out() sets it.
  explicit poller(int thread_index) : next(this), thread(thread_index) {}

  // Written by the thread only. (Threads beyond max_thread_index, and those that had no memory for a poller, use the
  // same one; updates that they lose do no harm.)
  std::atomic<uint32_t> polls{0};  // other pollers see from it whether the thread still polls
  std::atomic<uint32_t> idle_polls{0};
  std::atomic<uint32_t> idle_before_event{0};  // idle polls up to the last poll that found messages
  std::atomic<uint32_t> turn{0};               // of the lanes that not every poll visits, the one to visit next
  std::atomic<uint32_t> polls_since_sort{0};   // of many lanes: see device::move_silent_back()
  std::atomic<uint32_t> reported{0};           // the device's count of empty polls when this thread last looked at it
  std::atomic<uint32_t> taken{0};              // lanes of pollers that have stopped, which polls visit as well
  std::atomic<uint64_t> round_since{0};        // ticks
  // The walk along the ring of pollers, in search of those that have stopped: see device::look_at_others().
  std::atomic<uint64_t> last_look{0};        // ticks
  std::atomic<poller*> looked_at{nullptr};   // null: the walk has not begun
  std::atomic<uint32_t> polls_seen{0};       // of the one looked at
  std::atomic<uint16_t> looks{0}, moves{0};  // at it, and those that have found another count
  std::atomic<uint32_t> gathered{0};         // lanes of those that this walk has found to have stopped
  /// The last polls were far apart: polls that find nothing in the poller's lanes visit others, too.
  std::atomic<bool> slow{true};

  /// The next poll that finds nothing visits all lanes: the thread has slept, or another one has found that it stopped.
  alignas(cache_line) std::atomic<bool> everywhere{false};
  // Written by other pollers that have found that the thread polls no longer.
  std::atomic<uint32_t> times_stopped{0};  // in a row
  // Written under the device's mutex.
  std::atomic<uint32_t> kept{0};    // lanes
  std::atomic<uint32_t> own{0};     // lanes to the own rank that the thread sends through
  std::atomic<poller*> next;        // in the ring of pollers; release and acquire: it may have just been made
  std::atomic<bool> absent{false};  // it has stopped for long: others keep its lanes, and it is not in the ring
  const int thread;
};

}  // namespace lci::network::shm
