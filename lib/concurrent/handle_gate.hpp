// How others get at an object that is used again and again: by its present handle, while its owner
// lets them.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci {

/// Lives in the object that it guards. The owner holds the object alone until open(); then whoever
/// knows the handle may enter() and is a visitor until it leaves. One of the visitors may close():
/// from then on nobody enters, and the last visitor to leave owns the object, alone again. So a
/// handle that is stale, or invented, or turns up twice at the same time, finds the gate closed or
/// under another handle, never an object in the middle of its reuse.
///
/// `door` is one bit of 1..128 that says what visitors may do; the owner opens one, a visitor names
/// those that it would take.
///
/// Everything happens in one word: handle (32 bits), number of visitors (24), open door (8), so an
/// entry that succeeds has seen the right handle, an open door and its own count at one moment.
///
/// Memory orders. R1/A1: all that the owner wrote before open() is seen by visitors, and (A0) by the
/// conditions under which they enter. R2/A2: all that visitors did is seen by the last to leave;
/// leaves, entries and the closing in between are read-modify-writes, which don't break the chain
/// from a leave to a later one. close() needs no order of its own: whoever closed has yet to leave.
/// reuse() is a plain store because nobody changes the word of a closed gate without visitors but
/// its owner: an enter() that has looked at an older word fails to exchange it. open() is
/// sequentially consistent for callers who have to find out, after it, whether they are too late
/// for something that is announced before all gates are visited.
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

  /// The open door if it is one of `doors` and `may(handle)` is true; else 0, and nothing happened.
  /// may() sees what the owner wrote before it opened, but the object may be reused at any moment:
  /// besides the handle it looks at atomics only. What it said holds for whoever has entered.
  template <class May>
  uint8_t enter(uint8_t doors, May may) {
    uint64_t word = word_.load(std::memory_order_seq_cst);  // A0: pairs with R1
    while ((word & doors) != 0 && may(static_cast<uint32_t>(word >> 32)))
      if (word_.compare_exchange_weak(word, word + visitor, std::memory_order_acquire,  // A1
                                      std::memory_order_acquire))                       // A0
        return static_cast<uint8_t>(word & doors);
    return 0;
  }
  /// True for the one visitor that closes.
  bool close() {
    uint64_t word = word_.load(std::memory_order_relaxed);
    while ((word & all_doors) != 0)
      if (word_.compare_exchange_weak(word, word & ~all_doors, std::memory_order_relaxed,
                                      std::memory_order_relaxed))
        return true;
    return false;
  }
  bool is_closed() const { return (word_.load(std::memory_order_relaxed) & all_doors) == 0; }
  /// True if the gate is closed and nobody is left inside: the caller is the owner now.
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
