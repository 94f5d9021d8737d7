// Access of other threads to a reused object: by its current handle, while its owner permits it.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci {

/// A member of the object that it guards. The owner has exclusive access until open(); then any thread that
/// knows the handle may enter() and is a visitor until it calls leave(). One of the visitors may close():
/// from then on enter() fails, and the last visitor to leave becomes the exclusive owner. So a
/// handle that is stale, or invented, or used twice at the same time, finds the gate closed or
/// under another handle, never an object in the middle of its reuse. Thread-safe.
///
/// `door` is one bit of 1..128, a mode of access: the owner opens one, a visitor passes the set of
/// those that it accepts.
///
/// All state is in one word: handle (32 bits), number of visitors (24), open door (8), so an
/// entry that succeeds has seen the right handle, an open door and its own count at one moment.
///
/// Memory orders. R1/A1: all that the owner wrote before open() is visible to visitors, and (A0) to the
/// conditions under which they enter. R2/A2: all that visitors did is visible to the last to leave;
/// leaves, entries and the closing in between are read-modify-writes, which don't break the chain
/// from a leave to a later one. close() needs no order of its own: its caller has yet to leave.
/// reuse() is a plain store because only the owner changes the word of a closed gate without visitors:
/// the exchange of an enter() that has read an older word fails. open() is
/// sequentially consistent for callers that must check afterwards whether they are too late
/// for an event that is announced before all gates are visited.
template <template <class> class Atom = std::atomic>
class handle_gate {
 public:
  // --- the owner ---

  explicit handle_gate(uint32_t handle = 0) : word_(uint64_t{handle} << 32) {}
  uint32_t handle() const {
    return static_cast<uint32_t>(word_.load(std::memory_order_relaxed) >> 32);
  }
  /// Changes the handle of a closed gate.
  void reuse(uint32_t handle) {
    word_.store(uint64_t{handle} << 32, std::memory_order_relaxed);
  }
  /// With `stay` the owner becomes the first visitor.
  void open(uint8_t door, bool stay = false) {
    const uint64_t word = (word_.load(std::memory_order_relaxed) & ~low_half) | door;
    word_.store(stay ? word + visitor : word, std::memory_order_seq_cst);  // R1
  }

  // --- visitors ---

  /// The open door if it is one of `doors` and `may(handle)` is true; else 0, without an entry.
  /// may() sees what the owner wrote before open(), but the object may be reused at any moment:
  /// besides the handle it may read atomics only. Its result holds for a visitor that has entered.
  template <class May>
  uint8_t enter(uint8_t doors, May may) {
    uint64_t word = word_.load(std::memory_order_seq_cst);  // A0: pairs with R1
    while ((word & doors) != 0 && may(static_cast<uint32_t>(word >> 32)))
      if (word_.compare_exchange_weak(word, word + visitor, std::memory_order_acquire,  // A1
                                      std::memory_order_acquire))                       // A0
        return static_cast<uint8_t>(word & doors);
    return 0;
  }
  /// True for the one visitor that closed the gate.
  bool close() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & all_doors) != 0)
      if (word_.compare_exchange_weak(word, word & ~all_doors, std::memory_order_relaxed,
                                      std::memory_order_relaxed))
        return true;
    return false;
  }
  bool is_closed() const { return (word_.load(std::memory_order_relaxed) & all_doors) == 0; }
  /// True if the gate is closed and no visitor is left: the caller is the owner now.
  bool leave() {
    const uint64_t word = word_.fetch_sub(visitor, std::memory_order_acq_rel);  // R2, A2
    return (word & low_half) == visitor;
  }

 private:
  static constexpr uint64_t all_doors = 0xff;
  static constexpr uint64_t visitor = 0x100;
  static constexpr uint64_t low_half = 0xffffffff;

  Atom<uint64_t> word_;
};

}  // namespace lci
