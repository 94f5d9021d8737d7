// Counts the threads that use something which another thread wants to end. One thread enters nearly always: it counts
// without an atomic read-modify-write, which would take longer than what many of its uses do.
//
// A user enters (C1), then checks whether the end has begun (C2). The thread that ends stores that the end has begun
// (C3), executes a barrier on all threads of the process (C4), then waits until nobody is inside (C5). If a user's C2
// comes after its part of the barrier, it sees C3. If C2 came before, then so did C1, and C5 sees it. Only the compiler
// is kept from exchanging C1 and C2. The first thread that enters twice in a row becomes the owner, for ever. The
// others count by read-modify-writes, which need no barrier.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/biased_lock.hpp"

namespace lci {

/// Thread-safe. A thread may enter several times. Only for memory of one process.
template <template <class> class Atom = std::atomic, class System = process_barrier>
class basic_biased_count {
 public:
  /// Returns what the same thread passes to leave().
  [[nodiscard]] bool enter() {
    const bool owns = is_owner();
    if (LCI_LIKELY(owns)) {
      own_.store(own_.load(std::memory_order_acquire) + 1, std::memory_order_relaxed);  // C1
      compiler_barrier();
    } else {
      others_.fetch_add(1, std::memory_order_seq_cst);  // C1
    }
    return owns;
  }
  void leave(bool owned) {
    if (LCI_LIKELY(owned))
      own_.store(own_.load(std::memory_order_relaxed) - 1, std::memory_order_release);  // R1
    else
      others_.fetch_sub(1, std::memory_order_release);  // R1
  }
  /// Comes between the store that the end has begun, and is_zero().
  void order_end() {
    if (System::is_possible()) System::execute();  // C4
  }
  bool is_zero() const {
    return own_.load(std::memory_order_acquire) == 0 &&  // C5; A1: pairs with R1
           others_.load(std::memory_order_seq_cst) == 0;
  }

 private:
  bool is_owner() {
    const uintptr_t me = System::this_thread(), owner = owner_.load(std::memory_order_relaxed);
    return LCI_LIKELY(owner == me) || (owner == nobody && becomes_owner(me));
  }
  LCI_NOINLINE bool becomes_owner(uintptr_t me) {
    if (last_.exchange(me, std::memory_order_relaxed) != me || !System::is_possible()) return false;
    uintptr_t owner = nobody;
    return owner_.compare_exchange_strong(owner, me, std::memory_order_relaxed, std::memory_order_relaxed);
  }

  static constexpr uintptr_t nobody = 0;
  Atom<uintptr_t> owner_{nobody};  // its mark; written once
  Atom<uintptr_t> last_{nobody};   // before there is an owner: the thread that has entered last
  // Written by the owner. An ended thread may have had the same mark as the owner now: it left 0 here.
  Atom<uint32_t> own_{0};
  Atom<uint32_t> others_{0};
};
using biased_count = basic_biased_count<>;

}  // namespace lci
