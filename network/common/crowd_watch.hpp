// Yields the processor where more threads poll than there are processors.
#pragma once

#include <sys/resource.h>

#include <atomic>
#include <cstdint>

#include "lib/concurrent/measured_yield.hpp"

namespace lci::network {

/// The peer for whose message a thread polls may itself wait for a processor. The system would let each thread that
/// polls run for some milliseconds before the next one, so polls without a result yield from time to time. Where each
/// thread has a processor, they don't: a watch measures whether its threads lose their processors to others.
///
/// `usual`: polls between two looks where nobody waits for a processor; `measured`: between two measurements. Powers of
/// two. Thread-safe. Where several threads poll, one that was not preempted may stop the yields of all until the next
/// measurement.
template <uint32_t usual, uint32_t measured>
class crowd_watch {
 public:
  static constexpr uint32_t crowded = 64;

  /// Returns whether the caller must call look() after its poll number `polls` of those without a result.
  bool is_due(uint32_t polls) const { return (polls & mask_.load(std::memory_order_relaxed)) == 0; }
  /// `in_a_row`: how many of the last polls were without a result. After fewer than `crowded` the thread does not
  /// yield: it may be in the middle of an exchange of messages with a thread that has a processor.
  void look(uint32_t polls, uint32_t in_a_row) {
    if (mask_.load(std::memory_order_relaxed) == crowded - 1 && in_a_row >= crowded) measured_yield::yield();
    if (polls % measured == 0) mask_.store((was_preempted() ? crowded : usual) - 1, std::memory_order_relaxed);
  }

 private:
  static_assert((usual & (usual - 1)) == 0 && measured % usual == 0 && usual % crowded == 0);

  /// Returns whether the system has given the calling thread's processor to another thread since this thread asked
  /// last, though it could have run. A system call of about 1 us.
  static bool was_preempted() {
    static constinit thread_local long before = 0;
    rusage used;
    if (getrusage(RUSAGE_THREAD, &used) != 0) return false;
    const bool since = used.ru_nivcsw != before;
    before = used.ru_nivcsw;
    return since;
  }

  std::atomic<uint32_t> mask_{usual - 1};  // relaxed: a hint
};

}  // namespace lci::network
