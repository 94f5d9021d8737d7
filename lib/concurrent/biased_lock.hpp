// A lock for what one thread uses nearly always, although others may. That thread takes it without an atomic
// read-modify-write, which would cost more than what such locks protect.
//
// Once a thread has taken the lock several times in a row, the lock is biased to it. From then on it sets its `busy`
// (B1), then checks that the bias is still its own (B2). Another thread first takes the inner lock, under which it
// ends the bias (B3), then executes a barrier on all threads of the process (membarrier), then reads `busy` (B4).
// Either the owner's B2 comes after its part of the barrier and sees B3; or B2 came before it, then so did B1, and B4
// sees it: the lock is not free. Only the compiler is kept from exchanging B1 and B2. What the holders have written is
// published by releases and acquires of `busy` or of the inner lock, as by any lock.
//
// Each bias has a `busy` of its own. An owner may be interrupted before B1 for as long as others need to end its bias
// and to begin the next one: when it continues, it sets and clears a `busy` that nobody reads any more. Each bias takes
// twice as many turns as the one before, so that the barriers, which cost some microseconds, take no noticeable part of
// the time; after the last one the lock is an ordinary one.
#pragma once

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// The barrier on all threads of this process.
class process_barrier {
 public:
  /// Returns whether execute() orders all threads. Registers the process at the first call.
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
  /// Differs between threads, never 0, and a multiple of 8.
  static uintptr_t this_thread() {
    alignas(8) static thread_local constinit char mark __attribute__((tls_model("initial-exec"))) = 0;
    return reinterpret_cast<uintptr_t>(&mark);
  }
};

/// How often a thread takes a biased lock in a row before the first bias.
inline constexpr uint32_t turns_before_bias = 16;

/// Not recursive: try_lock() by the holder returns false. The thread that locked it unlocks it. Only for memory of one
/// process.
template <template <class> class Atom = std::atomic, class System = process_barrier,
          uint32_t first_turns = turns_before_bias>
class basic_biased_lock {
 public:
  /// May also fail if the previous holder is just unlocking.
  bool try_lock() {
    const uintptr_t me = System::this_thread();
    // Acquire: an ended thread may have had the same mark.
    const uintptr_t bias = owner_.load(std::memory_order_acquire);
    if (LCI_LIKELY((bias & ~number_of_bias) == me)) {
      Atom<bool>& busy = busy_[bias & number_of_bias];
      if (busy.load(std::memory_order_acquire)) return false;
      busy.store(true, std::memory_order_relaxed);  // B1
      compiler_barrier();
      if (LCI_LIKELY(owner_.load(std::memory_order_relaxed) == bias)) {  // B2
        held_by_ = static_cast<uint8_t>((bias & number_of_bias) + 1);
        return true;
      }
      busy.store(false, std::memory_order_release);
    }
    return try_lock_shared(me);
  }
  void lock() {
    if (LCI_UNLIKELY(!try_lock())) wait();
  }
  void unlock() {
    if (LCI_LIKELY(held_by_ != 0)) return busy_[held_by_ - 1].store(false, std::memory_order_release);  // R1
    unlock_shared();
  }

 private:
  // A bias is a thread's mark and, in its last bits, the number of the bias.
  static constexpr uint8_t most_biases = 8;
  static constexpr uintptr_t number_of_bias = most_biases - 1;

  LCI_NOINLINE bool try_lock_shared(uintptr_t me) {
    if (!inner_.try_lock()) return false;
    if (owner_.load(std::memory_order_relaxed) != 0) end_bias();
    if (LCI_UNLIKELY(biases_ > 0 && busy_[biases_ - 1].load(std::memory_order_acquire))) {  // B4; A1: pairs with R1
      inner_.unlock();
      return false;
    }
    held_by_ = 0;
    turns_ = last_ == me ? turns_ + 1 : 0;
    last_ = me;
    return true;
  }
  LCI_COLD void end_bias() {
    owner_.store(0, std::memory_order_relaxed);  // B3
    System::execute();
    turns_ = 0;
  }
  LCI_NOINLINE void unlock_shared() {
    if (LCI_UNLIKELY(turns_ >= (first_turns << biases_) && biases_ < most_biases) && System::is_possible())
      owner_.store(last_ | biases_++, std::memory_order_release);
    inner_.unlock();
  }
  // Yields: with more threads than processors the holder may need this one.
  LCI_COLD void wait() {
    for (int i = 1; !try_lock(); ++i) i % 256 ? cpu_pause() : (void)sched_yield();
  }

  Atom<uintptr_t> owner_{0};        // the current bias, or 0; written under inner_
  Atom<bool> busy_[most_biases]{};  // by number of the bias: its owner holds the lock, or tries to
  basic_spinlock<Atom> inner_;
  uint8_t held_by_ = 0;  // 0: inner_; else a bias, its number + 1. Written and read by the holder.
  // Under inner_.
  uint8_t biases_ = 0;  // how many there have been
  uint32_t turns_ = 0;  // that last_ has had in a row
  uintptr_t last_ = 0;
};
using biased_lock = basic_biased_lock<>;

}  // namespace lci
