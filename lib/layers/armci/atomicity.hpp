// Accumulates and read-modify-writes: who does them, and how they agree. All processes that reach a memory directly,
// and its owner for those that don't, use what is here, so there is one domain of atomicity.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "armci/armci_types.h"

namespace armci_layer {

/// A lock for memory of an owner, as a part of that owner's shared memory. Robust: the kernel releases the lock of a
/// thread that ends while it holds it.
struct alignas(64) stripe {
  pthread_mutex_t mutex;
  /// Says whether a read-modify-write has touched this stripe's memory. Set under the mutex, never reset. From then on
  /// integer accumulates use atomic instructions, since a read-modify-write takes no lock.
  std::atomic<uint32_t> counted;
};

/// The locks of one owner. A stripe guards all 32 KiB blocks whose number, by the address at the owner, is the same
/// modulo the number of stripes. A thread locks one stripe at a time, or several in ascending order.
class stripes {
 public:
  static constexpr size_t n = 256, block = 32768;

  /// By the owner, before others know of them.
  void prepare();
  stripe& of(uint64_t owner_address) { return all_[owner_address / block % n]; }
  stripe& at(size_t i) { return all_[i]; }

 private:
  std::array<stripe, n> all_;
};

class stripe_guard {
 public:
  explicit stripe_guard(stripe& s);
  ~stripe_guard() { pthread_mutex_unlock(&stripe_.mutex); }
  stripe_guard(const stripe_guard&) = delete;
  stripe_guard& operator=(const stripe_guard&) = delete;
  bool counted() const { return stripe_.counted.load(std::memory_order_relaxed) != 0; }

 private:
  stripe& stripe_;
};
/// Locks the mutex of a stripe. (Apart, for armci_lockmem.)
void lock_stripe(stripe& s);

/// Bytes of an element of an accumulate; 0 if the type is none.
inline size_t element_size(int type) {
  constexpr unsigned char sizes[] = {sizeof(int), sizeof(long), 4, 8, 8, 16};
  return static_cast<unsigned>(type) < std::size(sizes) ? sizes[type] : 0;
}

/// One accumulate, of any number of pieces: to[i] += scale * from[i] for elements of `type`. A lock that the next piece
/// needs, too, is kept: rows of an array that are close to each other share one. Thread-bound.
class accumulation {
 public:
  accumulation(stripes& locks, int type, const void* scale) : locks_(locks), type_(type), scale_(scale) {}
  /// `to` is memory here that has `owner_address` at its owner; `bytes` is a multiple of the element's size. Other
  /// memory than `to` may have any alignment.
  void add(std::byte* to, uint64_t owner_address, const std::byte* from, size_t bytes);

 private:
  stripes& locks_;
  const int type_;
  const void* const scale_;
  std::optional<stripe_guard> guard_;
  const stripe* held_ = nullptr;
  size_t left_ = 0;  ///< bytes until others get the lock
};

/// Returns whether `op` is one of ARMCI_Rmw's; and whether its numbers are long.
inline bool is_rmw(int op) { return static_cast<unsigned>(op) <= ARMCI_SWAP_LONG; }
inline bool is_long(int op) { return op == ARMCI_FETCH_AND_ADD_LONG || op == ARMCI_SWAP_LONG; }
inline bool is_swap(int op) { return op == ARMCI_SWAP || op == ARMCI_SWAP_LONG; }

/// Adds the operand, or swaps it in; returns the value before. Of an int, the lower half counts.
inline long read_modify_write(stripes& locks, int op, void* at, uint64_t owner_address, long operand) {
  stripe& s = locks.of(owner_address);
  if (s.counted.load(std::memory_order_acquire) == 0) {  // A1: pairs with R1
    const stripe_guard guard(s);
    s.counted.store(1, std::memory_order_release);  // R1
  }
  // Sequentially consistent: counters guard other memory.
  switch (op) {
    case ARMCI_FETCH_AND_ADD:
      return __atomic_fetch_add(static_cast<int*>(at), static_cast<int>(operand), __ATOMIC_SEQ_CST);
    case ARMCI_FETCH_AND_ADD_LONG:
      return __atomic_fetch_add(static_cast<long*>(at), operand, __ATOMIC_SEQ_CST);
    case ARMCI_SWAP:
      return __atomic_exchange_n(static_cast<int*>(at), static_cast<int>(operand), __ATOMIC_SEQ_CST);
    default:
      return __atomic_exchange_n(static_cast<long*>(at), operand, __ATOMIC_SEQ_CST);
  }
}

}  // namespace armci_layer
