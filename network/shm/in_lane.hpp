// The receiver's end of a lane. Memory orders: see out_lane.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/shm/layout.hpp"

namespace lci::network::shm {

/// Receiver's end. ready() and is_due() may be asked by any thread, the rest by the holder of `lock`.
class alignas(cache_line) in_lane {
 public:
  in_lane(const segment_view& segment, uint32_t index)
      : shared_(segment.lane(index)),
        slots_(slots_of(shared_), segment.header().n_slots),
        data_size_(segment.header().data_size),
        data_(data_of(shared_, segment.header().n_slots)),
        source_(shared_.source),
        index_(index) {}

  /// Whether a message waits. A hint: another thread may take it.
  bool ready() const { return is_full(head_.load(std::memory_order_relaxed)); }

  /// The same for a poll, which leaves a lane alone for a moment after a stream of larger messages was
  /// read up to its end: looking for the next one takes its slot from the sender again and again.
  bool is_due() {
    const uint64_t since = rests_since_.load(std::memory_order_relaxed);
    if (LCI_LIKELY(since == 0)) return ready();
    if (cpu_ticks() - since < rest) return false;  // also over where processors' counters differ
    rests_since_.store(0, std::memory_order_relaxed);
    return ready();
  }

  /// Whether a message was there at once, with no idle poll since the last one was taken: then more
  /// may wait. Where messages come one by one and are answered, looking for the next would only take
  /// its slot from the sender's cache, and the answer would wait for the transfer. Under lock.
  bool in_a_stream(uint32_t idle_polls) {
    const bool same = idle_polls == idle_polls_before_;
    idle_polls_before_ = idle_polls;
    return same;
  }

  /// Whether the receiver has sent something since it was asked last; `sent` counts that.
  /// Under lock.
  bool is_answered(uint64_t sent) {
    const bool answered = sent != answers_before_;
    answers_before_ = sent;
    return answered;
  }

  /// Takes up to `max` slots full of messages, or one message: on_message(source, bytes, size),
  /// on_immediate(source, imm). Returns how many messages. A message counts as taken even if its handler throws.
  template <class OnMessage, class OnImmediate>
  int drain(int max, OnMessage on_message, OnImmediate on_immediate);

  /// Negative: of nobody any more. Changed under lock, and under that of the device.
  int source() const { return source_; }
  uint32_t index() const { return index_; }
  lane_header& shared() { return shared_; }

  /// The lane's ends belong to somebody else from now on, who begins anew; or to nobody. Under lock.
  void begin(int source) {
    data_head_ = answers_before_ = 0;
    rests_since_.store(0, std::memory_order_relaxed);
    idle_polls_before_ = 0;
    source_ = source;
    head_.store(0, std::memory_order_relaxed);
  }
  void end() {
    source_ = -1;
    // No slot has that number, so nothing seems to wait here: another device may have the lane.
    head_.store(uint64_t{1} << 31, std::memory_order_relaxed);
  }

  spinlock lock;

 private:
  bool is_full(uint64_t number) const {
    return slot_word::is_of(slots_[number].word().load(std::memory_order_acquire),  // A1: pairs with R1 in publish()
                            number);
  }

  static inline const uint64_t rest = ticks_in(std::chrono::nanoseconds(150));

  // A line that the sender has written and we have read is in both caches. Before the sender can write it
  // again ours must be dropped, which takes it a round trip a line, one after the other: its stores leave in
  // order, and its prefetches find the line there and do nothing. Of a line that we have written last, the
  // sender has nothing left, and what it asks for comes several lines at a time. So we write to each line
  // before it is given back (docs/decisions/0023).

  /// All that was read of the byte ring, up to this position. A sender may have invented it.
  void give_bytes_back(uint64_t end) {
    const uint64_t size = std::min(end - data_head_, data_size_);
    for (uint64_t i = 0; i < size; i += cache_line) data_[(data_head_ + i) & (data_size_ - 1)] = std::byte{0};
  }
  /// Lines all of whose slots were read. Their first words are written again before they are looked at. Not
  /// where messages wait for us, or we are waited for: our stores take as long as the sender's.
  static void give_slots_back(const slot_ring& slots, uint64_t begin, uint64_t end) {
    for (uint64_t number = begin & ~uint64_t{1}; number + 2 <= end; number += 2)
      slots[number].word().store(slot_word::empty_first, std::memory_order_relaxed);
  }

  struct give_room_back {
    in_lane& lane;
    uint64_t head;
    uint64_t data_head;
    ~give_room_back() {
      lane.head_.store(head, std::memory_order_relaxed);
      lane.data_head_ = data_head;
      lane.shared_.data_head.store(data_head, std::memory_order_release);  // R2: pairs with A2
      lane.shared_.head.store(head, std::memory_order_release);            // R2: pairs with A2
    }
  };

  lane_header& shared_;
  slot_ring slots_;
  uint64_t data_size_;
  std::byte* data_;
  std::atomic<uint64_t> head_{0};  // slots taken; written under lock
  uint64_t data_head_ = 0;         // under lock
  std::atomic<uint64_t> rests_since_{0};  // in ticks, if not 0: polls leave it alone for `rest`. A hint, as ready()
  uint32_t idle_polls_before_ = 0;  // under lock
  uint64_t answers_before_ = 0;     // under lock
  int source_;
  uint32_t index_;
};

template <class OnMessage, class OnImmediate>
int in_lane::drain(int max, OnMessage on_message, OnImmediate on_immediate) {
  give_room_back at{*this, head_.load(std::memory_order_relaxed), data_head_};
  const slot_ring slots = slots_;  // read once: handlers might change the lane, for all the compiler knows
  const int source = source_;
  // Looking at several slots at once lets their cache misses overlap: one after the other, with a
  // handler in between, each message would cost a whole transfer between two cores. For the same reason
  // how many slots a message takes is asked by a branch, which is foretold: were it computed, the next slot's
  // place would wait for this one's word.
  const uint64_t begin = at.head;
  uint64_t end = begin, limit = begin + static_cast<uint64_t>(max);
  while (end < limit) {
    const uint64_t word = slots[end].word().load(std::memory_order_acquire);  // A1
    if (!slot_word::is_of(word, end)) break;
    ++end;
    if (LCI_UNLIKELY(!slot_word::is_short(word))) {
      if ((slot_word::flags(word) & slot_word::takes_line) != 0) ++end;
      // The message behind it is what was asked for. (A sender that does nothing else gets nowhere.)
      if ((slot_word::flags(word) & slot_word::skipped) != 0 && limit - begin <= static_cast<uint64_t>(max)) ++limit;
    }
  }
  int messages = 0;
  while (at.head < end) {
    const slot_view slot = slots[at.head++];
    const uint64_t word = slot.word().load(std::memory_order_relaxed);
    ++messages;
    if (LCI_LIKELY(slot_word::is_short(word))) {
      on_message(source, slot.payload(), slot_word::flags(word));
      continue;
    }
    const uint32_t flags = slot_word::flags(word);
    const uint32_t size = flags & slot_word::size_mask;
    if ((flags & slot_word::takes_line) != 0) {
      ++at.head;
      if (LCI_LIKELY(size <= slot_word::wide)) on_message(source, slot.payload(), size);
      continue;
    }
    if ((flags & slot_word::immediate) != 0) {
      uint32_t imm;
      std::memcpy(&imm, slot.payload(), sizeof imm);
      on_immediate(source, imm);
      continue;
    }
    if ((flags & slot_word::in_ring) == 0) {
      --messages;
      continue;
    }
    ring_reference where;
    std::memcpy(&where, slot.payload(), sizeof where);
    if (where.offset > data_size_ || size > data_size_ - where.offset) continue;  // not trusted
    // The room is given back only after the handler has returned.
    struct advance_after {
      uint64_t& position;
      uint64_t end;
      ~advance_after() { position = end; }
    } after{at.data_head, std::max(where.end, at.data_head)};
    on_message(source, data_ + where.offset, size);
  }
  const bool read_bytes = at.data_head != data_head_;
  if (read_bytes) give_bytes_back(at.data_head);
  if (end < limit && max > 1) {  // faster than the sender, and it waits for no answer
    give_slots_back(slots, begin, end);
    if (read_bytes) rests_since_.store(std::max<uint64_t>(cpu_ticks(), 1), std::memory_order_relaxed);
  }
  return messages;
}

}  // namespace lci::network::shm
