// The sender's end of a lane: its private state for the rings that in_lane reads.
//
// Memory orders. The sender writes a slot's payload (and bytes of the byte ring), then publishes them by a release
// store of the slot's word (R1); the receiver's acquire load of the word (A1) sees them. The receiver reads a message,
// then gives its space back by release stores of head and data_head (R2); the sender's acquire loads (A2) ensure that
// reading is over before it overwrites. What the receiver writes to lines that it has read precedes R2, and so the
// sender's next use of them. Each variable has one writer at a time, so no locked instruction is needed.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/copy_small.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/concurrent/biased_lock.hpp"
#include "network/fabric.hpp"
#include "network/shm/fetch_choice.hpp"
#include "network/shm/layout.hpp"
#include "network/shm/line_count.hpp"

namespace lci::network::shm {

/// The sender's end. Used by one thread at a time: its own thread, or the holder of `lock` if thread indices ran out.
class alignas(cache_line) out_lane {
 public:
  out_lane(const segment_view& segment, uint32_t index, device_entry& entry, bool by_many, attr_choice_t prefetches)
      : shared_by_threads(by_many),
        shared_(&segment.lane(index)),
        slots_(slots_of(*shared_), segment.shape().n_slots),
        entry_(&entry),
        limit_(limit(0)),
        data_size_(segment.shape().data_size),
        data_(data_of(*shared_, segment.shape().n_slots)),
        fetch_choice_(prefetches),
        segment_(segment),
        index_(index) {}

  /// Attaches it to another lane. Under `lock`.
  void lead_to(const segment_view& segment, uint32_t index, device_entry& entry) {
    shared_ = &segment.lane(index);
    slots_ = slot_ring(slots_of(*shared_), segment.shape().n_slots);
    data_size_ = segment.shape().data_size;
    data_ = data_of(*shared_, segment.shape().n_slots);
    entry_ = &entry;
    tail_ = data_tail_ = data_head_ = 0;
    limit_ = limit(0);
    segment_ = segment;
    index_ = index;
  }

  /// Returns whether the lane is of one thread, and has room; ignores space that the receiver has given back meanwhile.
  bool has_room_alone() const { return !shared_by_threads && tail_ < limit_; }
  bool has_room() {
    if (LCI_LIKELY(tail_ < limit_)) return true;
    limit_ = limit(shared_->head.load(std::memory_order_acquire));  // A2
    return tail_ < limit_;
  }

  // Call each of these only after has_room() was true.

  /// The most frequent message: a head, and most_behind_head bytes.
  static constexpr size_t most_behind_head = slot_word::narrow - sizeof(message_head);
  void push_full_slot(message_head head, const void* rest) {
    const place at = next_slot();
    put_head(at, head);
    std::memcpy(at.slot.payload() + sizeof head, rest, most_behind_head);
    publish(at, static_cast<uint32_t>(sizeof head + most_behind_head));
  }
  void push_head(message_head head) {
    const place at = next_slot();
    put_head(at, head);
    publish(at, static_cast<uint32_t>(sizeof head));
  }
  /// A head, and 1 to most_behind_head bytes.
  void push_slot(message_head head, const void* rest, size_t rest_size) {
    const place at = next_slot();
    put_head(at, head);
    copy_small(at.slot.payload() + sizeof head, rest, rest_size);
    publish(at, static_cast<uint32_t>(sizeof head + rest_size));
  }

  /// A head, and more than most_behind_head bytes, but at most most_of_line.
  static constexpr size_t most_of_line = slot_word::wide - sizeof(message_head);
  void push_line(message_head head, const void* rest, size_t rest_size) {
    const place at = next_line();
    put_head(at, head);
    std::memcpy(at.slot.payload() + sizeof head, rest, most_behind_head);
    put_second_half(at.slot, static_cast<const std::byte*>(rest) + most_behind_head, rest_size - most_behind_head);
    publish(at, static_cast<uint32_t>(sizeof head + rest_size) | slot_word::takes_line);
  }

  /// A head, and more than most_of_line bytes, but at most most_of_lines.
  static constexpr size_t most_of_lines = slot_word::widest - sizeof(message_head);
  void push_lines(message_head head, const void* rest, size_t rest_size) {
    const place at = next_lines(sizeof head + rest_size);
    const auto* const from = static_cast<const std::byte*>(rest);
    put_head(at, head);
    std::memcpy(at.slot.payload() + sizeof head, from, most_behind_head);
    put_second_half(at.slot, from + most_behind_head, most_of_line - most_behind_head);
    put_other_lines(at, from + most_of_line, rest_size - most_of_line);
    publish(at, static_cast<uint32_t>(sizeof head + rest_size) | slot_word::takes_line);
  }

  /// A message of two parts, together at most slot_word::widest bytes.
  void push_small(const void* a, size_t a_size, const void* b, size_t b_size) {
    const size_t size = a_size + b_size;
    if (size <= slot_word::narrow) {
      const place at = next_slot();
      copy_small(at.slot.payload(), a, a_size);
      if (b_size > 0) copy_small(at.slot.payload() + a_size, b, b_size);
      publish(at, static_cast<uint32_t>(size));
    } else {
      std::byte whole[slot_word::widest];
      copy_small(whole, a, a_size);
      if (b_size > 0) copy_small(whole + a_size, b, b_size);
      const size_t in_line = std::min(size, slot_word::wide);
      const place at = size <= slot_word::wide ? next_line() : next_lines(size);
      std::memcpy(at.slot.payload(), whole, slot_word::narrow);
      put_second_half(at.slot, whole + slot_word::narrow, in_line - slot_word::narrow);
      if (size > in_line) put_other_lines(at, whole + in_line, size - in_line);
      publish(at, static_cast<uint32_t>(size) | slot_word::takes_line);
    }
  }

  void push_immediate(uint32_t imm) {
    const place at = next_slot();
    std::memcpy(at.slot.payload(), &imm, sizeof imm);
    publish(at, slot_word::immediate | sizeof imm);
  }

  /// Sends a message through the byte ring. Returns false if that has no space. `idle_polls`: how many polls of the
  /// sending device have found nothing so far.
  bool push_large(const void* a, size_t a_size, const void* b, size_t b_size, const std::atomic<uint32_t>& idle_polls) {
    const size_t size = a_size + b_size;
    const size_t room = (size + cache_line - 1) / cache_line * cache_line;
    if (LCI_UNLIKELY(room > data_size_)) return false;  // whatever the receiver says that it has given back
    size_t offset = data_tail_ & (data_size_ - 1);
    size_t skip = 0;
    if (offset + room > data_size_) {  // messages are contiguous
      skip = data_size_ - offset;
      offset = 0;
    }
    if (data_tail_ + skip + room > data_limit()) {
      data_head_ = shared_->data_head.load(std::memory_order_acquire);  // A2
      if (data_tail_ + skip + room > data_limit()) return false;
    }
    slots_[tail_].prefetch();  // while the message is copied
    copy_bytes(data_ + offset, a, a_size);
    if (b_size > 0) copy_bytes(data_ + offset + a_size, b, b_size);
    data_tail_ += skip + room;
    const place at = next_slot();
    const ring_reference where{offset, data_tail_};
    std::memcpy(at.slot.payload(), &where, sizeof where);
    publish(at, slot_word::in_ring | static_cast<uint32_t>(size));
    if (fetch_choice_.fetches(room, idle_polls.load(std::memory_order_relaxed))) fetch_room(room);
    return true;
  }

  uint64_t sent() const { return tail_; }  // changes with each message
  void prefetch_next() const { slots_[tail_].prefetch(); }

  /// See device::attention_of(). `ours`: number of empty polls of the asking device. A sender that fills the lane, and
  /// then finds no message, has had an empty poll, too.
  attention receivers_attention(uint32_t ours) {
    const uint64_t now = cpu_ticks();
    const bool busy = ours == our_idle_polls_;
    our_idle_polls_ = ours;
    uint32_t theirs = entry_->idle_polls.load(std::memory_order_relaxed);
    bool answers = receiver_answers();
    if (!answers && now - std::max(asked_at_, polled_at_) >= recent) {
      // Polls in the time since then say nothing about now: so observe the receiver a little longer.
      their_idle_polls_ = theirs;
      for (int i = 0; i < looks && theirs == their_idle_polls_ && !answers; ++i) {
        cpu_pause();
        theirs = entry_->idle_polls.load(std::memory_order_relaxed);
        answers = receiver_answers();
      }
    }
    asked_at_ = now;
    const bool idle = theirs != their_idle_polls_;
    their_idle_polls_ = theirs;
    if (idle || answers) polled_at_ = now;
    if (now - polled_at_ >= recent) return attention::unknown;
    return busy ? attention::streams : attention::polls;
  }

  device_entry& entry() { return *entry_; }
  lane_header& shared() { return *shared_; }
  const segment_view& segment() const { return segment_; }
  uint32_t index() const { return index_; }
  /// Returns how often and for how many bytes this end has prefetched lines of the byte ring.
  const line_count& fetched() const { return fetched_; }
  bool receiver_closed() const {
    return (shared_->closed.load(std::memory_order_acquire) & lane_header::receiver) != 0;
  }

  const bool shared_by_threads;  // if so, the lane is used under `lock`
  biased_lock lock;
  int target = -1;  // the rank of the job that it leads to; negative: an external peer. Set by the maker

 private:
  /// Fetches the lines of the byte ring that the next message of that size will be written to, as far as the receiver
  /// is known to have given them back. They are in the receiver's cache: the next message would wait for them. But they
  /// come while the receiver fetches this message, which may take longer then.
  void fetch_room(size_t size) {
    const size_t begin = data_tail_ & (data_size_ - 1);
    const size_t end = std::min({begin + size, begin + most_fetched, begin + (data_limit() - data_tail_), data_size_});
    for (size_t at = begin; at < end; at += cache_line) prefetch_for_write(data_ + at);
    fetched_.add(end - begin);
  }

  /// Returns whether the receiver writes something that its peers have asked for, or has done so since the last call:
  /// between two such writes it polls.
  bool receiver_answers() {
    const uint32_t ended = entry_->answers_ended.load(std::memory_order_relaxed), before = their_answers_;
    their_answers_ = ended;
    return ended != before || entry_->answers_begun.load(std::memory_order_relaxed) != ended;
  }

  uint64_t data_limit() const { return data_head_ + data_size_; }

  /// The limit of tail_: leaves space for the largest message in slots, and for those that are skipped before it: the
  /// rest of a line, and lines at the end of the ring that are too few for the message.
  uint64_t limit(uint64_t head) const {
    constexpr uint64_t needed = 1 + 2 * (slot_word::most_lines - 1) + 2 * slot_word::most_lines;
    return head + slots_.n_slots() - (needed - 1);
  }

  struct place {
    slot_view slot;
    uint64_t number;
  };
  /// Allocates `span` slots for the next message.
  place take(uint64_t span) {
    const place at{slots_[tail_], tail_};
    tail_ += span;
    // The next lines are in the receiver's cache. Prefetching lets these transfers overlap; otherwise each would stall
    // the few stores that fit in the store buffer. (Behind the ring's last slot it prefetches in vain, once a lap.)
    at.slot.prefetch_ahead(span + slots_ahead);
    return at;
  }
  place next_slot() {
    const place at = take(1);
    // Clears the second word, which is left from the previous lap; R1 releases this store. If this is the second slot,
    // publish() overwrites it.
    at.slot.second_word().store(slot_word::empty_second, std::memory_order_relaxed);
    return at;
  }
  place next_line() {
    if (tail_ % 2 != 0) publish(take(1), slot_word::skipped);
    return take(2);
  }
  /// Lines for a message of that size, with consecutive addresses.
  place next_lines(size_t size) {
    const uint64_t span = slot_word::slots_of_long(size);
    if (tail_ % 2 != 0) publish(take(1), slot_word::skipped);
    while (LCI_UNLIKELY(slots_.n_before_wrap(tail_) < span))
      publish(take(2), slot_word::skipped | slot_word::takes_line);
    const place at = take(span);
    for (uint64_t more = 2; more < span; more += 2) at.slot.prefetch_ahead(span + slots_ahead + more);
    return at;
  }
  static void publish(place at, uint32_t size_and_flags) {
    at.slot.word().store(slot_word::pack(at.number, size_and_flags),
                         std::memory_order_release);  // R1: pairs with A1 in in_lane
  }
  /// Stores the part of a line's payload after its first 24 bytes: 1 to 32 bytes; at least 8 bytes precede `data`. It
  /// begins in the second slot's word. A late thread may still read that word (ready()), so it is stored at once.
  static void put_second_half(slot_view slot, const std::byte* data, size_t size) {
    constexpr size_t in_word = sizeof(uint64_t);
    uint64_t word;
    if (LCI_LIKELY(size >= in_word)) {
      std::memcpy(&word, data, in_word);
    } else {
      std::memcpy(&word, data + size - in_word, in_word);
      word >>= 8 * (in_word - size);
    }
    slot.second_word().store(word, std::memory_order_relaxed);
    if (size > in_word) copy_small(slot.payload() + slot_word::narrow + in_word, data + in_word, size - in_word);
  }
  /// Stores the part of a message after its first line.
  static void put_other_lines(place at, const std::byte* data, size_t size) {
    slot_view line = at.slot;
    for (uint64_t number = at.number + 2;; number += 2) {
      line = line.next_line();
      const size_t in_line = std::min(size, slot_word::wide);
      copy_small(line.payload(), data, std::min(in_line, slot_word::narrow));
      if (in_line > slot_word::narrow) put_second_half(line, data + slot_word::narrow, in_line - slot_word::narrow);
      line.word().store(slot_word::pack(number, slot_word::skipped), std::memory_order_relaxed);
      size -= in_line;
      if (size == 0) return;
      data += in_line;
    }
  }
  static void put_head(place at, message_head head) {
    // Word by word: a copy of the whole would go through the stack.
    const uint64_t first = head.words[0], second = head.words[1];
    std::memcpy(at.slot.payload(), &first, sizeof first);
    std::memcpy(at.slot.payload() + sizeof first, &second, sizeof second);
  }

  static constexpr uint64_t slots_ahead = 2;
  static constexpr size_t most_fetched = 16384;  // bytes
  static inline const uint64_t recent = ticks_in(std::chrono::microseconds(16));
  static constexpr int looks = 24;  // each takes some 15 ns

  lane_header* shared_;
  slot_ring slots_;
  device_entry* entry_;
  uint64_t tail_ = 0;  // slots written
  uint64_t limit_;     // upper bound of tail_
  uint64_t data_size_;
  std::byte* data_;
  uint64_t data_tail_ = 0;
  uint64_t data_head_ = 0;
  uint64_t asked_at_ = 0, polled_at_ = 0;  // for receivers_attention(), like the next two
  uint32_t their_idle_polls_ = 0, our_idle_polls_ = 0, their_answers_ = 0;
  fetch_choice fetch_choice_;
  line_count fetched_;
  segment_view segment_;
  uint32_t index_;
};

}  // namespace lci::network::shm
