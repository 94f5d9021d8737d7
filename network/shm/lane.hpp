// The two ends of a lane: the sender's and the receiver's private view of one ring.
//
// Memory orders. The sender writes a slot's payload (and bytes of the byte ring), then publishes
// them by a release store of the slot's word (R1); the receiver's acquire load of the word (A1) sees
// them. The receiver reads a message, then gives its room back by release stores of head and
// data_head (R2); the sender's acquire loads (A2) see that the reading is over before it overwrites.
// Each variable has one writer, so no locked instruction is needed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>

#include "lib/base/copy_small.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/fabric.hpp"
#include "network/shm/layout.hpp"

namespace lci::network::shm {

/// Sender's end. Used by one thread at a time: its own, or holders of `lock` where thread indices
/// ran out.
class alignas(cache_line) out_lane {
 public:
  out_lane(const segment_view& segment, uint32_t index, device_entry& entry, bool by_many)
      : shared_by_threads(by_many),
        shared_(&segment.lane(index)),
        slots_(slots_of(*shared_)),
        mask_(segment.header().n_slots - 1),
        data_size_(segment.header().data_size),
        data_(data_of(*shared_, segment.header().n_slots)),
        entry_(&entry),
        limit_(segment.header().n_slots),
        segment_(segment),
        index_(index) {}

  /// Makes it the end of another lane. Under `lock`.
  void lead_to(const segment_view& segment, uint32_t index, device_entry& entry) {
    shared_ = &segment.lane(index);
    slots_ = slots_of(*shared_);
    mask_ = segment.header().n_slots - 1;
    data_size_ = segment.header().data_size;
    data_ = data_of(*shared_, segment.header().n_slots);
    entry_ = &entry;
    tail_ = data_tail_ = data_head_ = 0;
    limit_ = segment.header().n_slots;
    segment_ = segment;
    index_ = index;
  }

  /// Without looking at what the receiver has given back meanwhile.
  bool has_room_now() const { return tail_ < limit_; }
  bool has_room() {
    if (LCI_LIKELY(has_room_now())) return true;
    limit_ = shared_->head.load(std::memory_order_acquire) + mask_ + 1;  // A2
    return tail_ < limit_;
  }

  /// The commonest message: a head, and 1 to max_behind_head bytes.
  static constexpr size_t max_behind_head = slot::capacity - sizeof(message_head);
  void push_head_and(message_head head, const void* rest, size_t rest_size) {
    slot& s = slots_[tail_ & mask_];
    // Word by word: as a whole it would go through the stack.
    const uint64_t first = head.words[0], second = head.words[1];
    std::memcpy(s.payload, &first, sizeof first);
    std::memcpy(s.payload + sizeof first, &second, sizeof second);
    copy_small(s.payload + sizeof head, rest, rest_size);
    publish(s, static_cast<uint32_t>(sizeof head + rest_size));
  }

  /// Message of two parts, at most slot::capacity bytes together. has_room() has said yes.
  void push_small(const void* a, size_t a_size, const void* b, size_t b_size) {
    slot& s = slots_[tail_ & mask_];
    copy_small(s.payload, a, a_size);
    if (b_size > 0) copy_small(s.payload + a_size, b, b_size);
    publish(s, static_cast<uint32_t>(a_size + b_size));
  }

  void push_immediate(uint32_t imm) {
    slot& s = slots_[tail_ & mask_];
    std::memcpy(s.payload, &imm, sizeof imm);
    publish(s, slot::immediate | static_cast<uint32_t>(sizeof imm));
  }

  /// Message through the byte ring. has_room() has said yes. False if the ring has no room.
  bool push_large(const void* a, size_t a_size, const void* b, size_t b_size) {
    const size_t size = a_size + b_size;
    const size_t room = (size + cache_line - 1) / cache_line * cache_line;
    size_t offset = data_tail_ & (data_size_ - 1);
    size_t skip = 0;
    if (offset + room > data_size_) {  // a message is contiguous
      skip = data_size_ - offset;
      offset = 0;
    }
    if (data_tail_ + skip + room > data_limit()) {
      data_head_ = shared_->data_head.load(std::memory_order_acquire);  // A2
      if (data_tail_ + skip + room > data_limit()) return false;
    }
    std::memcpy(data_ + offset, a, a_size);
    if (b_size > 0) std::memcpy(data_ + offset + a_size, b, b_size);
    data_tail_ += skip + room;
    slot& s = slots_[tail_ & mask_];
    const ring_reference where{offset, data_tail_};
    std::memcpy(s.payload, &where, sizeof where);
    publish(s, slot::in_ring | static_cast<uint32_t>(size));
    return true;
  }

  uint64_t sent() const { return tail_; }
  void prefetch_next() const { prefetch_for_write(&slots_[tail_ & mask_]); }

  device_entry& entry() { return *entry_; }
  lane_header& shared() { return *shared_; }
  const segment_view& segment() const { return segment_; }
  uint32_t index() const { return index_; }
  bool receiver_closed() const {
    return (shared_->closed.load(std::memory_order_acquire) & lane_header::receiver) != 0;
  }

  const bool shared_by_threads;  // then it is used under `lock`
  spinlock lock;

 private:
  uint64_t data_limit() const { return data_head_ + data_size_; }

  void publish(slot& s, uint32_t size_and_flags) {
    const uint64_t sent = tail_ + 1;  // read once: the stores below might alias it
    tail_ = sent;
    // The slots ahead are in the receiver's cache. Asking for them early lets these transfers
    // overlap; otherwise each would stall the few stores that the store buffer can hold.
    prefetch_for_write(&slots_[(sent + slots_ahead) & mask_]);
    s.word.store(uint64_t{size_and_flags} << 32 | static_cast<uint32_t>(sent),
                 std::memory_order_release);  // R1: pairs with A1 in in_lane
  }

  static constexpr uint64_t slots_ahead = 1;

  lane_header* shared_;
  slot* slots_;
  uint64_t mask_;  // number of slots - 1
  uint64_t data_size_;
  std::byte* data_;
  device_entry* entry_;
  uint64_t tail_ = 0;   // messages sent
  uint64_t limit_;      // tail_ may not pass this
  uint64_t data_tail_ = 0;
  uint64_t data_head_ = 0;
  segment_view segment_;
  uint32_t index_;
};

/// Receiver's end. ready() may be asked by any thread, the rest by the holder of `lock`.
class alignas(cache_line) in_lane {
 public:
  in_lane(const segment_view& segment, uint32_t index)
      : shared_(segment.lane(index)),
        slots_(slots_of(shared_)),
        mask_(segment.header().n_slots - 1),
        data_size_(segment.header().data_size),
        data_(data_of(shared_, segment.header().n_slots)),
        source_(shared_.source),
        index_(index) {}

  /// Whether a message waits. A hint: another thread may take it.
  bool ready() const { return is_full(head_.load(std::memory_order_relaxed)); }

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

  /// Takes up to `max` messages: on_message(source, bytes, size), on_immediate(source, imm).
  /// Returns how many. A message counts as taken even if its handler throws.
  template <class OnMessage, class OnImmediate>
  int drain(int max, OnMessage on_message, OnImmediate on_immediate);

  /// Negative: of nobody any more. Changed under lock, and under that of the device.
  int source() const { return source_; }
  uint32_t index() const { return index_; }
  lane_header& shared() { return shared_; }

  /// The lane's ends belong to somebody else from now on, who begins anew; or to nobody. Under lock.
  void begin(int source) {
    data_head_ = answers_before_ = 0;
    idle_polls_before_ = 0;
    source_ = source;
    head_.store(0, std::memory_order_relaxed);
  }
  void end() {
    source_ = -1;
    // No message has that number, so nothing seems to wait here: another device may have the lane.
    head_.store(uint64_t{1} << 31, std::memory_order_relaxed);
  }

  spinlock lock;

 private:
  bool is_full(uint64_t number) const {
    const uint64_t word = slots_[number & mask_].word.load(
        std::memory_order_acquire);  // A1: pairs with R1 in publish()
    return static_cast<uint32_t>(word) == static_cast<uint32_t>(number + 1);
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
  slot* slots_;
  uint64_t mask_;  // number of slots - 1
  uint64_t data_size_;
  std::byte* data_;
  std::atomic<uint64_t> head_{0};  // messages taken; written under lock
  uint64_t data_head_ = 0;         // under lock
  uint32_t idle_polls_before_ = 0;  // under lock
  uint64_t answers_before_ = 0;     // under lock
  int source_;
  uint32_t index_;
};

template <class OnMessage, class OnImmediate>
int in_lane::drain(int max, OnMessage on_message, OnImmediate on_immediate) {
  give_room_back at{*this, head_.load(std::memory_order_relaxed), data_head_};
  slot* const slots = slots_;  // read once: handlers might change the lane, for all the compiler knows
  const uint64_t mask = mask_;
  const int source = source_;
  // Looking at several slots at once lets their cache misses overlap: one after the other, with a
  // handler in between, each message would cost a whole transfer between two cores.
  int ready = 0;
  while (ready < max && is_full(at.head + static_cast<uint64_t>(ready))) ++ready;  // A1
  for (int i = 0; i < ready; ++i) {
    slot& s = slots[at.head & mask];
    ++at.head;
    const auto flags = static_cast<uint32_t>(s.word.load(std::memory_order_relaxed) >> 32);
    const uint32_t size = flags & slot::size_mask;
    if (LCI_LIKELY((flags & ~slot::size_mask) == 0)) {
      if (LCI_LIKELY(size <= slot::capacity)) on_message(source, s.payload, size);
      continue;
    }
    if ((flags & slot::immediate) != 0) {
      uint32_t imm;
      std::memcpy(&imm, s.payload, sizeof imm);
      on_immediate(source, imm);
      continue;
    }
    ring_reference where;
    std::memcpy(&where, s.payload, sizeof where);
    if (where.offset > data_size_ || size > data_size_ - where.offset) continue;  // not trusted
    // The room is given back only after the handler has returned.
    struct advance_after {
      uint64_t& position;
      uint64_t end;
      ~advance_after() { position = end; }
    } after{at.data_head, std::max(where.end, at.data_head)};
    on_message(source, data_ + where.offset, size);
  }
  return ready;
}

}  // namespace lci::network::shm
