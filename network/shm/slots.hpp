// The ring of a lane: slots of 32 bytes, two in a cache line, each with a word and 24 bytes of payload.
//
// A message of up to 24 bytes takes one slot, one of up to 56 bytes a whole line, because the cost of a stream of small
// messages is the number of lines that move from one core to the other. A slot is full when the low half of its word is
// the slot's number plus one; slots are numbered from the lane's first slot on.
//
// The second word of a line may contain data of a message of the previous lap. So a sender that fills the first slot
// with a short message clears the second word before it publishes the first slot; the receiver reads the second word
// only after it has found the first slot full, and short. All first words are rewritten on each lap.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci::network::shm {

constexpr size_t slot_size = cache_line / 2;

/// The word of a full slot. High half: size and flags.
struct slot_word {
  static constexpr size_t narrow = slot_size - sizeof(uint64_t);  // payload bytes of a message in one slot
  static constexpr size_t wide = cache_line - sizeof(uint64_t);   // and in two slots
  static constexpr uint32_t in_ring = 1u << 31;                   // a ring_reference: the message is in the byte ring
  static constexpr uint32_t immediate = 1u << 30;                 // immediate data of a put
  static constexpr uint32_t takes_line = 1u << 29;                // a message of more than `narrow` bytes
  static constexpr uint32_t skipped = 1u << 28;  // no message: a two-slot message begins in the next line
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

  /// Whether it is a message in this slot and the next one.
  static constexpr bool is_long(uint64_t word) { return (flags(word) & ~size_mask) == takes_line; }
  /// Whether it is a message in this one slot; such a word has no flags.
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
