// The ring of a lane: slots of 32 bytes, two in a cache line, each a word and 24 bytes.
//
// A message of up to 24 bytes takes a slot, one of up to 56 a line: what a stream of small messages costs is
// the lines that it moves from one core to the other. A slot is full when the low half of its word is the
// slot's number plus one, counted from the lane's first slot on.
//
// The second word of a line may be another message's data, left there when the ring came by the last time. So
// whoever fills the first slot with a short message empties the second before it publishes the first; the
// receiver looks at the second only after it has found the first one full, and short. All first words are
// written each time that the ring comes by.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci::network::shm {

constexpr size_t slot_size = cache_line / 2;

/// What the word of a full slot says. High half: size and flags.
struct slot_word {
  static constexpr size_t narrow = slot_size - sizeof(uint64_t);  // bytes of a message in one slot
  static constexpr size_t wide = cache_line - sizeof(uint64_t);   // and in two
  static constexpr uint32_t in_ring = 1u << 31;      // a ring_reference: the message lies in the byte ring
  static constexpr uint32_t immediate = 1u << 30;    // of a put
  static constexpr uint32_t takes_line = 1u << 29;   // a message of more than `narrow` bytes
  static constexpr uint32_t skipped = 1u << 28;      // nothing: such a message begins with the next line
  static constexpr uint32_t size_mask = skipped - 1;

  static constexpr uint64_t pack(uint64_t number, uint32_t size_and_flags) {
    return uint64_t{size_and_flags} << 32 | static_cast<uint32_t>(number + 1);
  }
  static constexpr bool is_of(uint64_t word, uint64_t number) {
    return static_cast<uint32_t>(word) == static_cast<uint32_t>(number + 1);
  }
  static constexpr uint32_t flags(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
  /// Of slots that are not full. First slots have even numbers, their full words an odd low half; second ones
  /// the other way round: so also where numbers pass 2^32 neither is ever taken for a full one.
  static constexpr uint64_t empty_first = 0, empty_second = 1;

  /// Whether it is a message in this one slot: it has no flags then.
  static constexpr bool is_short(uint64_t word) { return flags(word) <= narrow; }
};

static_assert(!slot_word::is_of(slot_word::empty_second, 0xffffffff) &&
              !slot_word::is_of(slot_word::empty_first, 0xfffffffe));

/// Where a slot lies. The memory behind it belongs to a slot_ring.
class slot_view {
 public:
  explicit slot_view(std::byte* slot) : slot_(slot) {}

  std::atomic<uint64_t>& word() const { return *reinterpret_cast<std::atomic<uint64_t>*>(slot_); }
  /// Of the second slot in this one's line.
  std::atomic<uint64_t>& second_word() const {
    return *reinterpret_cast<std::atomic<uint64_t>*>(reinterpret_cast<uintptr_t>(slot_) | slot_size);
  }
  std::byte* payload() const { return slot_ + sizeof(uint64_t); }
  void prefetch() const { prefetch_for_write(slot_); }

 private:
  std::byte* slot_;
};

/// Slots by their numbers. Each line is the sender's until its slots are published, then the receiver's until
/// it has given their room back.
class slot_ring {
 public:
  slot_ring(std::byte* memory, uint32_t n_slots) : memory_(memory), mask_(n_slots - 1) {}

  uint64_t n_slots() const { return mask_ + 1; }
  slot_view operator[](uint64_t number) const {
    return slot_view(memory_ + (number & mask_) * slot_size);
  }

 private:
  std::byte* memory_;  // begins with a line
  uint64_t mask_;
};

/// What the slot of a message in the byte ring holds.
struct ring_reference {
  uint64_t offset;
  uint64_t end;  // the ring's read position after this message
};
static_assert(sizeof(ring_reference) <= slot_word::narrow);

}  // namespace lci::network::shm
