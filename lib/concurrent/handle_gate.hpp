// Access of other threads to a reused object: by its current handle, while its owner permits it.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci {

/// Guards the object that it is a member of. The owner has exclusive access until open(). Then any thread that has the
/// handle may enter(), and is an accessor until it calls leave(). One of the accessors may close(): from then on
/// enter() fails, and the last accessor to leave becomes the exclusive owner. So a thread with a stale or invented
/// handle, or with one that is used twice at the same time, finds the gate closed or the handle changed, and never an
/// object that is being reused. Thread-safe.
///
/// `mode` is one bit of 1..128, a mode of access: the owner opens the gate in one mode, an accessor passes the set of
/// modes that it accepts.
///
/// All state is in one word: handle (32 bits), number of accessors (24), open mode (8). So an entry that succeeds has
/// read the handle and the mode and incremented the number in one atomic step.
///
/// Memory orders. R1/A1: all that the owner wrote before open() is visible to accessors, and (A0) to the conditions
/// under which they enter. R2/A2: all that accessors did is visible to the last to leave; leaves, entries and the
/// closing in between are read-modify-writes, so they continue the release sequence from a leave to a later one.
/// close() needs no order: its caller still has to leave. reuse() is a plain store because only the owner changes the
/// word of a closed gate without accessors: the exchange of an enter() that has read an older word fails. open() is
/// sequentially consistent for callers that must check afterwards whether they are too late for an event that is
/// announced before all gates are entered.
template <template <class> class Atom = std::atomic>
class handle_gate {
 public:
  // --- the owner ---

  explicit handle_gate(uint32_t handle = 0) : word_(uint64_t{handle} << 32) {}
  uint32_t handle() const { return static_cast<uint32_t>(word_.load(std::memory_order_relaxed) >> 32); }
  /// Changes the handle of a closed gate.
  void reuse(uint32_t handle) { word_.store(uint64_t{handle} << 32, std::memory_order_relaxed); }
  /// Adds 1 to the part of the handle above its lower `n` bits. Only for a gate that was not opened since the last
  /// reuse().
  void reuse_next(unsigned n) {
    word_.store(word_.load(std::memory_order_relaxed) + (uint64_t{1} << (32 + n)), std::memory_order_relaxed);
  }
  /// With `stay` the owner becomes the first accessor.
  void open(uint8_t mode, bool stay = false) {
    const uint64_t word = (word_.load(std::memory_order_relaxed) & ~low_half) | mode;
    word_.store(stay ? word + accessor : word, std::memory_order_seq_cst);  // R1
  }

  // --- accessors ---

  /// The open mode if it is one of `modes` and `may(handle)` is true; else 0, without an entry. may() sees what the
  /// owner wrote before open(), but the object may be reused at any time: besides the handle it may read atomics only.
  /// Its result holds for an accessor that has entered.
  template <class May>
  uint8_t enter(uint8_t modes, May may) {
    uint64_t word = word_.load(std::memory_order_seq_cst);  // A0: pairs with R1
    while ((word & modes) != 0 && may(static_cast<uint32_t>(word >> 32)))
      if (word_.compare_exchange_weak(word, word + accessor, std::memory_order_acquire,  // A1
                                      std::memory_order_acquire))                        // A0
        return static_cast<uint8_t>(word & modes);
    return 0;
  }
  /// Returns true for the one accessor that closed the gate.
  bool close() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & all_modes) != 0)
      if (word_.compare_exchange_weak(word, word & ~all_modes, std::memory_order_relaxed, std::memory_order_relaxed))
        return true;
    return false;
  }
  bool is_closed() const { return (word_.load(std::memory_order_relaxed) & all_modes) == 0; }
  /// Returns true if the gate is closed and no accessor is left: the caller is the owner now.
  bool leave() {
    const uint64_t word = word_.fetch_sub(accessor, std::memory_order_acq_rel);  // R2, A2
    return (word & low_half) == accessor;
  }

 private:
  static constexpr uint64_t all_modes = 0xff;
  static constexpr uint64_t accessor = 0x100;
  static constexpr uint64_t low_half = 0xffffffff;

  Atom<uint64_t> word_;
};

}  // namespace lci
