// The ring of a lane: slots of 32 bytes, two in a cache line, each with a word and 24 bytes of payload.
//
// A message of up to 24 bytes takes one slot, one of up to 56 bytes a whole line, one of up to 168 bytes two or three
// lines, because the cost of small messages is the number of lines that move from one core to the other. A slot is full
// when the low half of its word is the slot's number plus one; slots are numbered from the lane's first slot on. The
// further lines of a message begin with such a word, too. So all first words are rewritten on each lap: none of them is
// data of the previous lap.
//
// The second word of a line may contain data of a message of the previous lap. So a sender that fills the first slot
// with a short message clears the second word before it publishes the first slot; the receiver reads the second word
// only after it has found the first slot full, and short.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci::network::shm {

constexpr size_t slot_size = cache_line / 2;

/// The word of a full slot. High half: size and flags.
struct slot_word {
  // Payload bytes of a message in one slot, in a line, and in as many lines as one takes. In more lines, messages of
  // 200 bytes were slower than through the byte ring.
  static constexpr size_t narrow = slot_size - sizeof(uint64_t);
  static constexpr size_t wide = cache_line - sizeof(uint64_t);
  static constexpr size_t most_lines = 3;
  static constexpr size_t widest = most_lines * wide;

  static constexpr uint32_t in_ring = 1u << 31;     // a ring_reference: the message is in the byte ring
  static constexpr uint32_t immediate = 1u << 30;   // immediate data of a put
  static constexpr uint32_t takes_line = 1u << 29;  // a message of more than `narrow` bytes
  // There is no message in this slot: the sender has skipped it, as the next message needs whole lines, or the slot
  // begins the second or third line of a message. With takes_line, the sender has skipped the whole line.
  static constexpr uint32_t skipped = 1u << 28;
  static constexpr uint32_t size_mask = skipped - 1;

  static constexpr uint64_t pack(uint64_t number, uint32_t size_and_flags) {
    return uint64_t{size_and_flags} << 32 | static_cast<uint32_t>(number + 1);
  }
  static constexpr bool is_of(uint64_t word, uint64_t number) {
    return static_cast<uint32_t>(word) == static_cast<uint32_t>(number + 1);
  }
  static constexpr uint32_t flags(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
  /// Words of slots that are not full. First slots have even numbers, so their full words have an odd low half; second
  /// slots the other way round. So these words are never mistaken for full ones, even when numbers exceed 2^32.
  static constexpr uint64_t empty_first = 0, empty_second = 1;

  /// Returns whether the slot with this word begins a message that takes one or more whole lines.
  static constexpr bool is_long(uint64_t word) { return (flags(word) & ~size_mask) == takes_line; }
  /// The number of slots of a message that takes a line or more. A size that no sender writes counts as one of a line.
  static constexpr uint64_t slots_of_long(size_t size) {
    return size - 1 < widest ? 2 * ((size + wide - 1) / wide) : 2;
  }
  /// Returns whether it is a message in this one slot; such a word has no flags.
  static constexpr bool is_short(uint64_t word) { return flags(word) <= narrow; }
};

static_assert(!slot_word::is_of(slot_word::empty_second, 0xffffffff) &&
              !slot_word::is_of(slot_word::empty_first, 0xfffffffe));

/// The location of a slot. Its memory belongs to a slot_ring.
class slot_view {
 public:
  explicit slot_view(std::byte* slot) : slot_(slot) {}

  std::atomic<uint64_t>& word() const { return *reinterpret_cast<std::atomic<uint64_t>*>(slot_); }
  /// The word of the second slot in this slot's line.
  std::atomic<uint64_t>& second_word() const {
    return *reinterpret_cast<std::atomic<uint64_t>*>(reinterpret_cast<uintptr_t>(slot_) | slot_size);
  }
  std::byte* payload() const { return slot_ + sizeof(uint64_t); }
  slot_view next_line() const { return slot_view(slot_ + cache_line); }
  std::byte* begin() const { return slot_; }
  void prefetch() const { prefetch_for_write(slot_); }
  void prefetch_ahead(uint64_t n_slots) const { prefetch_for_write(slot_ + n_slots * slot_size); }

 private:
  std::byte* slot_;
};

/// Access to slots by number. Each line belongs to the sender until its slots are published, then to the receiver until
/// it gives them back.
class slot_ring {
 public:
  slot_ring(std::byte* memory, uint32_t n_slots) : memory_(memory), mask_(n_slots - 1) {}

  uint64_t n_slots() const { return mask_ + 1; }
  /// Number of slots from this one to the end of the memory, where the next one is the first again.
  uint64_t n_before_wrap(uint64_t number) const { return n_slots() - (number & mask_); }
  slot_view operator[](uint64_t number) const { return slot_view(memory_ + (number & mask_) * slot_size); }

 private:
  std::byte* memory_;  // aligned to a cache line
  uint64_t mask_;
};

/// The payload of a slot whose message is in the byte ring.
struct ring_reference {
  uint64_t offset;
  uint64_t end;  // the ring's read position after this message
};
static_assert(sizeof(ring_reference) <= slot_word::narrow);

}  // namespace lci::network::shm
