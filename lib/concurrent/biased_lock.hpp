// A lock for what one thread uses nearly always, although others may. That thread takes it without an atomic
// read-modify-write, which would cost more than what such locks protect.
//
// The lock is biased to a thread once this has taken it some times in a row. From then on the thread sets `busy_`
// (B1), then checks that the bias is still its own (B2). Another thread first takes the inner lock, under which it
// ends the bias (B3), then executes a barrier on all threads of the process (membarrier), then reads `busy_` (B4).
// Either the owner's B2 comes after its part of the barrier and sees B3; or B2 came before it, then so did B1, and B4
// sees it: the lock is not free. Only the compiler is kept from exchanging B1 and B2. What the holders have written is
// published by releases and acquires of `busy_` or of the inner lock, as by any lock.
//
// Each bias that ends makes the next one take twice as many turns, so that the barriers, which cost some microseconds,
// take no noticeable part of the time.
#pragma once

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// The barrier on all threads of this process.
class process_barrier {
 public:
  /// Whether execute() orders all threads. Registers the process at the first call.
  static bool is_possible() {
    static const bool is_registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    return is_registered;
  }
  static void execute() {
    // Fails only if system calls have been filtered since the registration. Processors empty their store buffers
    // within microseconds; no other barrier is left then.
    constexpr useconds_t longest_us = 1000;
    if (LCI_UNLIKELY(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)) usleep(longest_us);
  }
  /// Differs between threads, never 0.
  static uintptr_t this_thread() {
    static thread_local constinit char mark __attribute__((tls_model("initial-exec"))) = 0;
    return reinterpret_cast<uintptr_t>(&mark);
  }
};

/// Not recursive: try_lock() of the holder returns false. The thread that has locked unlocks. For memory of one process
/// only.
template <template <class> class Atom = std::atomic, class System = process_barrier>
class basic_biased_lock {
 public:
  /// May also fail if the previous holder is just unlocking.
  bool try_lock() {
    const uintptr_t me = System::this_thread();
    if (LCI_LIKELY(owner_.load(std::memory_order_relaxed) == me)) {
      // Acquire: an ended thread may have had the same mark.
      if (busy_.load(std::memory_order_acquire)) return false;
      busy_.store(true, std::memory_order_relaxed);  // B1
      compiler_barrier();
      if (LCI_LIKELY(owner_.load(std::memory_order_relaxed) == me)) {  // B2
        by_bias_ = true;
        return true;
      }
      busy_.store(false, std::memory_order_release);
    }
    return try_lock_shared(me);
  }
  void lock() {
    if (LCI_UNLIKELY(!try_lock())) wait();
  }
  void unlock() {
    if (LCI_LIKELY(by_bias_)) return busy_.store(false, std::memory_order_release);  // R1
    unlock_shared();
  }
  /// Only a hint.
  bool is_held() const { return busy_.load(std::memory_order_relaxed) || inner_.is_held(); }

 private:
  // Turns in a row after which a lock is biased, at first and at most.
  static constexpr uint32_t first_turns = 16, most_turns = 1 << 20;

  LCI_NOINLINE bool try_lock_shared(uintptr_t me) {
    if (!inner_.try_lock()) return false;
    if (owner_.load(std::memory_order_relaxed) != 0) end_bias();
    if (LCI_UNLIKELY(busy_.load(std::memory_order_acquire))) {  // B4; A1: pairs with R1
      inner_.unlock();
      return false;
    }
    by_bias_ = false;
    turns_ = last_ == me ? turns_ + 1 : 0;
    last_ = me;
    return true;
  }
  LCI_COLD void end_bias() {
    owner_.store(0, std::memory_order_relaxed);  // B3
    System::execute();
    needed_ = std::min(2 * needed_, most_turns);
    turns_ = 0;
  }
  LCI_NOINLINE void unlock_shared() {
    if (LCI_UNLIKELY(turns_ >= needed_) && System::is_possible()) owner_.store(last_, std::memory_order_relaxed);
    inner_.unlock();
  }
  // Yields: with more threads than processors the holder may need this one.
  LCI_COLD void wait() {
    for (int i = 1; !try_lock(); ++i) i % 256 ? cpu_pause() : (void)sched_yield();
  }

  Atom<uintptr_t> owner_{0};  // the thread to which the lock is biased, or 0; written under inner_
  Atom<bool> busy_{false};    // the owner holds the lock, or tries to
  bool by_bias_ = false;      // how it was locked last; written and read by the holder
  basic_spinlock<Atom> inner_;
  // Under inner_.
  uint32_t turns_ = 0;  // that last_ has had in a row
  uint32_t needed_ = first_turns;
  uintptr_t last_ = 0;
};
using biased_lock = basic_biased_lock<>;

}  // namespace lci
