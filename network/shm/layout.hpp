// Layout of a rank's segment of shared memory. The receiving rank owns the segment; its peers map it and write into
// their lanes. All references are offsets.
//
//   segment_header | device_entry[max_devices] | directories | close flags | lane, lane, lane, ...
//
// A lane carries messages from one thread of one rank to one device: a ring of slots (slots.hpp), each published by one
// store of its word, and a ring of bytes for what does not fit into a slot. Each ring has one writer and one reader,
// which gives the space back, so neither needs a locked instruction.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "network/shm/memory_file.hpp"
#include "network/shm/slots.hpp"

namespace lci::network::shm {

constexpr uint64_t segment_magic = 0x4c43492d73686d37ull;  // "LCI-shm7"
constexpr uint32_t max_devices = 1024;                     // open at a time, in one rank
constexpr uint32_t max_lanes_per_device = 16384;
constexpr uint32_t max_ranks = 1u << 22;  // more processes than a host can have

/// Reads a word that other processes can write to. The caller validates and uses the returned copy: a second read could
/// return another value.
template <class Word>
Word read_once(Word& shared) {
  return std::atomic_ref<Word>(shared).load(std::memory_order_relaxed);
}

/// The owner's shared heap, once it exists.
struct heap_place {
  std::atomic<uint32_t> made;
  file_name name;
  uint64_t base;  // address at the owner
};

struct segment_header {
  uint64_t magic;
  uint32_t n_slots;                    // of a lane; a power of two
  uint32_t n_lanes;                    // number of lanes that fit into the segment
  uint64_t data_size;                  // of a lane's byte ring; a power of two
  uint64_t lane_stride;                // bytes from one lane to the next
  std::atomic<uint32_t> devices_made;  // devices with lower numbers were made
  std::atomic<uint32_t> lanes_in_use;
  std::atomic<uint32_t> fresh_lanes;  // number of lanes that were ever taken
  /// Stack of returned lanes: low half index + 1, high half a counter against ABA.
  std::atomic<uint64_t> free_lanes;
  heap_place heap;
};

/// What the header says about the lanes. All processes that map the segment can write to its header, so each reads this
/// once, validates it if the segment is another process's (read_shape()), and never looks again.
struct lane_shape {
  uint32_t n_slots = 0;
  uint32_t n_lanes = 0;
  uint64_t data_size = 0;
  uint64_t stride = 0;
};

/// The device's state as its peers see it; see device_entries.hpp.
struct alignas(2 * cache_line) device_entry {
  enum state : uint32_t { absent = 0, open = 1, closed = 2, free = 3 };
  /// State of the device and number of lanes in its directory: in one word, so that no lane can be announced to a
  /// device that is being closed. High half: the device's number * 4 + state.
  std::atomic<uint64_t> announced;
  std::atomic<uint32_t> sleepers;  // threads in wait(): ring the bell after sending
  std::atomic<uint32_t> bell;      // futex
  /// Number of empty polls. On its own cache line: written constantly, rarely read.
  alignas(cache_line) std::atomic<uint32_t> idle_polls;
  /// Puts with an immediate, by which progress answers peers: how many have begun, and how many have ended.
  std::atomic<uint32_t> answers_begun, answers_ended;

  static uint32_t lanes_in(uint64_t word) { return static_cast<uint32_t>(word); }
  static uint32_t state_in(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
  static uint64_t pack(uint32_t state, uint32_t lanes) { return uint64_t{state} << 32 | lanes; }
};
using directory_entry = std::atomic<uint32_t>;  // lane + 1; 0: free
/// 1 once that rank has notified the segment's owner that it closes. Stored here, and not in the closing rank's
/// segment, so that it remains readable after that process and its segment are gone.
using close_flag = std::atomic<uint8_t>;
static_assert(sizeof(close_flag) == 1);

struct lane_header {
  enum closed_by : uint32_t { sender = 1, receiver = 2 };
  int32_t source;                // rank of the sender
  uint32_t next_free;            // in the stack of returned lanes: index + 1
  std::atomic<uint32_t> closed;  // bits of closed_by; the end that sets the second one returns the lane
  std::atomic<uint32_t> uses;    // how often it was reused
  int32_t thread;                // index of the thread that sends, or of the last one if several do. Only a hint
  // Written by the receiver only; the sender reads them when it runs out of space.
  alignas(cache_line) std::atomic<uint64_t> head;  // slots consumed
  std::atomic<uint64_t> data_head;                 // bytes consumed
};
static_assert(sizeof(lane_header) == 2 * cache_line);

constexpr size_t devices_offset() {
  return (sizeof(segment_header) + alignof(device_entry) - 1) / alignof(device_entry) * alignof(device_entry);
}
constexpr size_t directory_offset() { return devices_offset() + max_devices * sizeof(device_entry); }
constexpr size_t close_flag_offset(int rank) {
  return directory_offset() + sizeof(directory_entry) * max_devices * max_lanes_per_device + static_cast<size_t>(rank);
}
constexpr size_t lanes_offset() { return (close_flag_offset(0) + max_ranks + 4095) / 4096 * 4096; }

/// Typed access to a mapped segment.
class segment_view {
 public:
  segment_view() = default;
  segment_view(void* base, const lane_shape& shape) : base_(static_cast<std::byte*>(base)), shape_(shape) {}

  bool mapped() const { return base_ != nullptr; }
  std::byte* base() const { return base_; }
  const lane_shape& shape() const { return shape_; }
  /// For what changes. Its dimensions are in shape().
  segment_header& header() const { return *reinterpret_cast<segment_header*>(base_); }
  device_entry& device(uint32_t index) const {
    return reinterpret_cast<device_entry*>(base_ + devices_offset())[index];
  }
  directory_entry* directory(uint32_t device) const {
    return reinterpret_cast<directory_entry*>(base_ + directory_offset()) + size_t{device} * max_lanes_per_device;
  }
  close_flag& close_flag_of(int rank) const { return *reinterpret_cast<close_flag*>(base_ + close_flag_offset(rank)); }
  lane_header& lane(uint32_t index) const {
    return *reinterpret_cast<lane_header*>(base_ + lanes_offset() + index * shape_.stride);
  }

 private:
  std::byte* base_ = nullptr;
  lane_shape shape_;
};

inline std::byte* slots_of(lane_header& lane) { return reinterpret_cast<std::byte*>(&lane + 1); }
inline std::byte* data_of(lane_header& lane, uint32_t n_slots) { return slots_of(lane) + n_slots * slot_size; }

}  // namespace lci::network::shm
