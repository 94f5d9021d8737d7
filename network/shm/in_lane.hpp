// The receiver's end of a lane. Memory orders: see out_lane.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/concurrent/biased_lock.hpp"
#include "network/shm/layout.hpp"
#include "network/shm/line_count.hpp"
#include "network/shm/pause_choice.hpp"
#include "network/shm/write_choice.hpp"

namespace lci::network::shm {

/// The receiver's end. Any thread may call ready() and is_due(); the other methods need `lock`.
class alignas(cache_line) in_lane {
 public:
  in_lane(const segment_view& segment, uint32_t index, int receiver, attr_choice_t writes_lines,
          attr_choice_t pauses_long)
      : shared_(segment.lane(index)),
        slots_(slots_of(shared_), segment.shape().n_slots),
        data_size_(segment.shape().data_size),
        data_(data_of(shared_, segment.shape().n_slots)),
        choice_(writes_lines),
        pause_choice_(pauses_long),
        source_(shared_.source),
        index_(index),
        thread_(shared_.thread),
        own_(source() == receiver) {}

  /// Returns whether a message waits. Only a hint: another thread may take it.
  bool ready() const { return is_full(head_.load(std::memory_order_relaxed)); }

  /// Returns whether a poll is to drain the lane: a message waits, and the lane does not pause. After messages in the
  /// byte ring, polls do not read the next slot for a moment: each read would take the slot's cache line from the
  /// sender, which is about to write to it.
  bool is_due() {
    uint64_t until = pauses_until_.load(std::memory_order_relaxed);
    if (LCI_LIKELY(until == 0)) return ready();
    if (until == room_is_owed) return ready() || give_back_later();
    if (until - cpu_ticks() <= long_pause) return false;  // ends the pause also if the processors' counters differ
    (void)pauses_until_.compare_exchange_strong(until, 0, std::memory_order_relaxed, std::memory_order_relaxed);
    return ready();
  }

  /// Returns whether a message was found without an idle poll since the previous one: then more may wait. If messages
  /// come one by one and are answered, looking for the next would only take its slot from the sender's cache, and delay
  /// the answer by that transfer. Under lock.
  bool in_a_stream(uint32_t idle_polls) {
    const bool same = idle_polls == idle_polls_before_;
    idle_polls_before_ = idle_polls;
    return same;
  }

  /// Returns whether the bytes of the next message are in the byte ring. The message must have arrived, and the caller
  /// must hold `lock`.
  bool next_is_in_byte_ring() const {
    const uint64_t word = slots_[head_.load(std::memory_order_relaxed)].word().load(std::memory_order_relaxed);
    return (slot_word::flags(word) & slot_word::in_ring) != 0;
  }

  /// Returns whether the receiver has sent something since the last call; `sent` counts its messages. Under lock.
  bool is_answered(uint64_t sent) {
    const bool answered = sent != answers_before_;
    answers_before_ = sent;
    return answered;
  }

  /// Drains up to `max` slots of messages, or one message: calls on_message(source, bytes, size) or
  /// on_immediate(source, imm). Returns the number of messages. A message is consumed even if its handler throws.
  template <class OnMessage, class OnImmediate>
  int drain(int max, OnMessage on_message, OnImmediate on_immediate);

  /// Negative: not in use. Changed under lock and the device's lock; without them only a hint.
  int source() const { return source_.load(std::memory_order_relaxed); }
  uint32_t index() const { return index_; }
  /// Index of the thread that sends, which a peer may have invented.
  int thread() const { return thread_; }
  /// Returns whether the receiver itself sends through it.
  bool own() const { return own_; }
  /// Number of slots consumed. Only a hint without lock.
  uint64_t consumed() const { return head_.load(std::memory_order_relaxed); }
  lane_header& shared() { return shared_; }
  /// Returns how often and for how many bytes this end has written to lines of the byte ring.
  const line_count& written() const { return written_; }
  /// Returns how many long pauses this end has made, and how many bytes it had read before them.
  const line_count& long_pauses() const { return long_pauses_; }

  /// Assigns the lane to another sender, which starts with empty rings. Under lock.
  void begin(int source) {
    data_head_ = given_back_ = answers_before_ = 0;
    pauses_until_.store(0, std::memory_order_relaxed);
    idle_polls_before_ = 0;
    source_.store(source, std::memory_order_relaxed);
    head_.store(0, std::memory_order_relaxed);
  }
  void end() {
    source_.store(-1, std::memory_order_relaxed);
    pauses_until_.store(0, std::memory_order_relaxed);
    // No slot has that number, so no message seems to wait: another device may use the lane.
    head_.store(uint64_t{1} << 31, std::memory_order_relaxed);
  }

  biased_lock lock;
  /// What consumed() was when the device last looked for silent lanes. Under the device's lock.
  static constexpr uint64_t never_sorted = ~uint64_t{0};
  uint64_t consumed_at_sort = never_sorted;

 private:
  bool is_full(uint64_t number) const {
    return slot_word::is_of(slots_[number].word().load(std::memory_order_acquire),  // A1: pairs with R1 in publish()
                            number);
  }

  static inline const uint64_t short_pause = ticks_in(std::chrono::nanoseconds(150));
  static inline const uint64_t long_pause = ticks_in(std::chrono::nanoseconds(600));

  // A line that the sender wrote and the receiver read is in both caches. To write it again the sender must invalidate
  // the receiver's copy: one round trip for each line, one after the other, as its stores retire in order and its
  // prefetches find the line present and do nothing. A line that the receiver wrote last is not in the sender's cache,
  // so the sender's requests for several lines overlap. Therefore the receiver writes to each line before it gives it
  // back, unless choice_ has found that this takes longer (docs/decisions/0023).

  static constexpr uint64_t room_is_owed = 1;
  bool owes_room() const { return pauses_until_.load(std::memory_order_relaxed) == room_is_owed; }
  /// Writes to the lines of the byte ring up to `end`, a position that an erroneous sender may have invented.
  void write_lines(uint64_t end) {
    const uint64_t size = std::min(end - given_back_, data_size_);
    for (uint64_t i = 0; i < size; i += cache_line) data_[(given_back_ + i) & (data_size_ - 1)] = std::byte{0};
    given_back_ = end;
    written_.add(size);
  }
  /// Gives back some of the room of a message that was answered first. Returns false, as is_due() then.
  bool give_back_later();
  /// At the end of a drain: the slots up to `next`, and the byte ring up to `data_head`, are read.
  struct give_room_back {
    in_lane& lane;
    uint64_t begin;  // number of the slot at `first`
    std::byte* first;
    std::byte* next;
    uint64_t data_head;
    uint64_t head() const { return begin + n_slots(first, next); }
    ~give_room_back() {
      const uint64_t head = this->head();
      lane.head_.store(head, std::memory_order_relaxed);
      lane.data_head_ = data_head;
      if (!lane.owes_room()) lane.given_back_ = data_head;                        // also if a handler has thrown
      lane.shared_.data_head.store(lane.given_back_, std::memory_order_release);  // R2: pairs with A2
      lane.shared_.head.store(head, std::memory_order_release);                   // R2: pairs with A2
    }
  };
  static uint64_t n_slots(const std::byte* from, const std::byte* to) {
    return static_cast<uint64_t>(to - from) / slot_size;
  }
  /// Gives back lines whose slots were all read. The sender rewrites their first words before they are read again. Not
  /// done while messages wait, or while the sender waits for an answer: these stores take as long as the sender's.
  static void give_slots_back(const give_room_back& read) {
    std::byte* line = read.begin % 2 == 0 ? read.first : read.first - slot_size;
    for (; line + cache_line <= read.next; line += cache_line)
      slot_view(line).word().store(slot_word::empty_first, std::memory_order_relaxed);
  }
  static constexpr uint64_t most_given_back = 1024;  // bytes
  // Bytes of slots in a row without a message: the rest of a line, and lines at the end of the ring.
  static constexpr ptrdiff_t most_skipped = slot_size + (slot_word::most_lines - 1) * cache_line;
  template <class OnMessage>
  bool take_only_message(give_room_back& at, int source, int max, OnMessage& on_message);
  static std::byte* end_of_full_slots(const give_room_back& at, std::byte*& limit, std::byte* wrap);
  template <class OnMessage, class OnImmediate>
  void deliver(give_room_back& at, const std::byte* end, int source, int& left, OnMessage& on_message,
               OnImmediate& on_immediate);
  void end_drain(const give_room_back& at, bool slower, bool answers);
  void end_of_bytes(uint64_t data_head, bool slower, bool answers);

  lane_header& shared_;
  slot_ring slots_;
  uint64_t data_size_;
  std::byte* data_;
  std::atomic<uint64_t> head_{0};  // slots consumed; written under lock
  uint64_t data_head_ = 0;         // under lock
  uint64_t given_back_ = 0;        // bytes whose room the sender may use; under lock
  // 0: polls look whether a message waits; room_is_owed: given_back_ is behind; else, in ticks, when they look at the
  // lane again. Changed to and from room_is_owed under lock; without it only a hint.
  std::atomic<uint64_t> pauses_until_{0};
  write_choice choice_;        // under lock
  pause_choice pause_choice_;  // under lock
  line_count written_;         // changed under lock, like long_pauses_
  line_count long_pauses_;
  uint32_t idle_polls_before_ = 0;  // under lock
  uint64_t answers_before_ = 0;     // under lock
  std::atomic<int> source_;
  uint32_t index_;
  int thread_;  // of a lane that is assigned to other senders, of the first one
  bool own_;    // never changes: only lanes of peers outside of the job are assigned to other senders
};

/// Copies a message of several lines, which hold a word each, to one piece of memory, and passes that to on_message().
/// Not inlined into drain(), whose stack frame would grow by that memory.
template <class OnMessage>
LCI_NOINLINE void deliver_lines(int source, slot_view slot, size_t size, OnMessage& on_message) {
  alignas(16) std::byte whole[slot_word::widest];
  for (size_t done = 0; done < size; done += slot_word::wide, slot = slot.next_line())
    std::memcpy(whole + done, slot.payload(), slot_word::wide);
  on_message(source, whole, size);
}

// The next three functions are parts of drain(), and are inlined into it.

/// If the next message is in slots, and is the only one to be handled now, passes it to on_message() and returns true:
/// where messages come one by one, that is usual.
template <class OnMessage>
LCI_ALWAYS_INLINE inline bool in_lane::take_only_message(give_room_back& at, int source, int max,
                                                         OnMessage& on_message) {
  const slot_view first(at.first);
  const uint64_t word = first.word().load(std::memory_order_acquire);  // A1
  const uint32_t size = slot_word::flags(word) & slot_word::size_mask;
  const uint64_t span = slot_word::is_short(word)                                         ? 1
                        : slot_word::is_long(word) && LCI_LIKELY(size <= slot_word::wide) ? 2
                                                                                          : 0;
  if (!slot_word::is_of(word, at.begin) || span == 0 || (max != 1 && is_full(at.begin + span))) return false;
  at.next += span * slot_size;
  on_message(source, first.payload(), size);
  if (max > 1) give_slots_back(at);
  return true;
}

/// Returns the end of the full slots from `at.first` on that are to be handled together: at most up to `limit`, which
/// is moved towards `wrap`, the end of the ring, for slots without a message.
///
/// Reading several words first lets their cache misses overlap: one after the other, with a handler in between, each
/// message would cost a full transfer between two cores. For the same reason a branch, which is predicted, decides how
/// many slots a message takes: if that were computed, the next slot's address would depend on this word.
LCI_ALWAYS_INLINE inline std::byte* in_lane::end_of_full_slots(const give_room_back& at, std::byte*& limit,
                                                               std::byte* wrap) {
  const std::byte* const first_limit = limit;
  std::byte* end = at.first;
  for (uint64_t number = at.begin; end < limit; ++number, end += slot_size) {
    const uint64_t word = slot_view(end).word().load(std::memory_order_acquire);  // A1
    if (!slot_word::is_of(word, number)) break;
    if (LCI_LIKELY(slot_word::is_short(word))) continue;
    const uint32_t flags = slot_word::flags(word);
    if ((flags & slot_word::skipped) != 0) {
      const uint64_t n = (flags & slot_word::takes_line) != 0 ? 2 : 1;
      // The sender skips slots only in front of a message, so they do not count as messages. At most `most_skipped`
      // bytes are passed over, as a faulty sender might skip slots without end.
      if (limit - first_limit < most_skipped) limit = std::min(limit + n * slot_size, wrap);
      number += n - 1;
      end += (n - 1) * slot_size;
    } else if ((flags & slot_word::takes_line) != 0) {
      const uint64_t others = slot_word::slots_of_long(flags & slot_word::size_mask) - 1;
      number += others;
      end += others * slot_size;
    }
  }
  return end;
}

/// Passes on the messages in the slots from `at.next` to `end`. Adds to `left` the slots that do not count as messages.
template <class OnMessage, class OnImmediate>
LCI_ALWAYS_INLINE inline void in_lane::deliver(give_room_back& at, const std::byte* end, int source, int& left,
                                               OnMessage& on_message, OnImmediate& on_immediate) {
  while (at.next < end) {
    const slot_view slot(at.next);
    at.next += slot_size;
    const uint64_t word = slot.word().load(std::memory_order_relaxed);
    const uint32_t flags = slot_word::flags(word);
    if (LCI_LIKELY(slot_word::is_short(word))) {
      on_message(source, slot.payload(), flags);
      continue;
    }
    const uint32_t size = flags & slot_word::size_mask;
    if ((flags & slot_word::takes_line) != 0) {
      const uint64_t n = slot_word::slots_of_long(size);
      at.next += (n - 1) * slot_size;
      left += static_cast<int>(n - 1);
      if (LCI_UNLIKELY((flags & slot_word::skipped) != 0))
        ++left;
      else if (size <= slot_word::wide)
        on_message(source, slot.payload(), size);
      else if (LCI_LIKELY(size <= slot_word::widest))
        deliver_lines(source, slot, size, on_message);
      continue;
    }
    if ((flags & slot_word::immediate) != 0) {
      uint32_t imm;
      std::memcpy(&imm, slot.payload(), sizeof imm);
      on_immediate(source, imm);
      continue;
    }
    if ((flags & slot_word::in_ring) == 0) {
      ++left;
      continue;
    }
    ring_reference where;
    std::memcpy(&where, slot.payload(), sizeof where);
    if (where.offset > data_size_ || size > data_size_ - where.offset) continue;  // not trusted
    // The space is given back only after the handler has returned.
    struct advance_after {
      uint64_t& position;
      uint64_t end;
      ~advance_after() { position = end; }
    } after{at.data_head, std::max(where.end, at.data_head)};
    on_message(source, data_ + where.offset, size);
  }
}

template <class OnMessage, class OnImmediate>
int in_lane::drain(int max, OnMessage on_message, OnImmediate on_immediate) {
  const slot_ring slots = slots_;  // copied, as the compiler must assume that handlers change the lane
  const int source = this->source();
  const uint64_t head = head_.load(std::memory_order_relaxed);
  const slot_view first = slots[head];
  give_room_back at{*this, head, first.begin(), first.begin(), data_head_};
  if (take_only_message(at, source, max, on_message)) return 1;
  int left = max;  // messages
  for (;;) {
    // Slots up to the end of the ring have consecutive addresses.
    const uint64_t n_most = slots.n_before_wrap(at.begin);
    std::byte* const wrap = at.first + n_most * slot_size;
    std::byte* limit = at.first + std::min(static_cast<uint64_t>(left), n_most) * slot_size;
    std::byte* const end = end_of_full_slots(at, limit, wrap);
    left -= static_cast<int>(n_slots(at.first, end));
    deliver(at, end, source, left, on_message, on_immediate);
    if (LCI_LIKELY(end != wrap) || left <= 0) {
      end_drain(at, end < limit && max > 1, max == 1);
      return max - left;
    }
    at.begin = at.head();
    at.first = at.next = slots[at.begin].begin();
  }
}

// `slower`: the sender is slower than this thread, and waits for no answer. `answers`: this thread is about to send the
// sender an answer, which would wait for what it stores here: so it gives the room back afterwards, in its next polls.
inline void in_lane::end_drain(const give_room_back& at, bool slower, bool answers) {
  if (LCI_UNLIKELY(at.data_head != given_back_)) end_of_bytes(at.data_head, slower, answers);
  if (slower) give_slots_back(at);
}

// Not inlined into drain(), as most messages are in slots.
LCI_NOINLINE inline void in_lane::end_of_bytes(uint64_t data_head, bool slower, bool answers) {
  const uint64_t size = data_head - data_head_;
  choice_.has_read(size, data_size_);
  if (choice_.writes()) {
    if (answers) return pauses_until_.store(room_is_owed, std::memory_order_relaxed);
    write_lines(data_head);
  }
  if (!answers) pause_choice_.has_read(size, !choice_.is_trial());
  uint64_t until = 0;
  if (slower) {
    const bool is_long = pause_choice_.is_long();
    until = std::max<uint64_t>(cpu_ticks() + (is_long ? long_pause : short_pause), room_is_owed + 1);
    if (is_long) long_pauses_.add(size);
  }
  pauses_until_.store(until, std::memory_order_relaxed);
}

LCI_NOINLINE inline bool in_lane::give_back_later() {
  if (!lock.try_lock()) return false;
  const std::lock_guard guard(lock, std::adopt_lock);
  if (!owes_room()) return false;
  given_back_ += data_head_ - given_back_ - std::min(data_head_ - given_back_, data_size_);  // as in write_lines()
  const uint64_t end = std::min(data_head_, given_back_ + most_given_back);
  write_lines(end);
  if (end == data_head_) {
    shared_.data_head.store(end, std::memory_order_release);  // R2: pairs with A2
    pauses_until_.store(0, std::memory_order_relaxed);
  }
  return false;
}

}  // namespace lci::network::shm
