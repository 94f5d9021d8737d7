// Layout of a context's connection area: a second file of shared memory, through which processes outside of the job
// connect to it. All processes of the user may write to it, and any may die at any moment, so nothing that is read here
// is trusted.
//
//   connection_area_header | connection_slot[capacity] | row[capacity]
//
// A connection has a slot (an index) in the connection areas of both sides, and on each side a connection number that
// is never reused there: so a late write of a former peer is not attributed to the current owner of the slot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lib/base/cpu.hpp"
#include "network/shm/layout.hpp"
#include "network/shm/memory_file.hpp"
#include "network/shm/segment.hpp"

namespace lci::network::shm {

constexpr uint64_t connection_area_magic = 0x4c43492d6c6f6231ull;  // "LCI-lob1"

/// The address of a context for processes outside of the job.
struct external_address {
  address where;
  file_name connection_area;
};
static_assert(std::has_unique_object_representations_v<external_address>);

/// Identifies a connection in a connection area: its slot (an index), and its number there.
struct slot_number {
  uint32_t slot = 0;
  uint32_t connection = 0;  // never 0
};

enum class refusal : uint32_t { none, not_accepted, full, unreachable, ring_too_small, no_attach };

/// A connection request. Written by the requesting process while `state` says so, else by the owner.
struct connection_request {
  enum phase : uint32_t { empty, writing, waiting, accepted, refused };
  std::atomic<uint64_t> state;  // low half: the phase; high half: the pid of the requester
  external_address from;
  slot_number there;  // the owner's slot in the requester's area
  slot_number here;   // `accepted`
  refusal why;        // `refused`

  static uint64_t pack(phase p, int pid) { return static_cast<uint64_t>(static_cast<uint32_t>(pid)) << 32 | p; }
  static phase phase_of(uint64_t state) { return static_cast<phase>(static_cast<uint32_t>(state)); }
  static int pid_of(uint64_t state) { return static_cast<int>(state >> 32); }
};

struct connection_area_header {
  static constexpr uint32_t n_requests = 64;  // at a time; further requests wait
  uint64_t magic;
  uint32_t capacity;
  /// Incremented whenever there is something to handle: a request, a lane, a close notification, an end.
  alignas(2 * cache_line) std::atomic<uint64_t> changes;
  alignas(2 * cache_line) connection_request requests[n_requests];
};

struct alignas(cache_line) connection_slot {
  std::atomic<uint32_t> left;  // the highest connection number that has sent a close notification
};
/// The lane that an external peer has opened to the device at a place: connection number, and lane + 1.
using lane_notice = std::atomic<uint64_t>;

class connection_area_view {
 public:
  connection_area_view() = default;
  /// `capacity` is not read from the header again, which other processes can write to.
  connection_area_view(std::byte* base, uint32_t capacity) : base_(base), capacity_(capacity) {}
  static size_t size_of(uint32_t capacity) {
    return rows_offset(capacity) + size_t{capacity} * max_devices * sizeof(lane_notice);
  }

  bool mapped() const { return base_ != nullptr; }
  uint32_t capacity() const { return capacity_; }
  connection_area_header& header() const { return *reinterpret_cast<connection_area_header*>(base_); }
  std::atomic<uint64_t>& changes() const { return header().changes; }

  /// Returns whether that connection, or a later one of the slot, has sent a close notification.
  bool has_left(slot_number s) const {
    return slot_of(s.slot).left.load(std::memory_order_acquire) >= s.connection;  // A1: R1
  }
  void send_close(slot_number s) const;

  /// Called by the external peer: false if the owner has ended the connection.
  bool announce_lane(slot_number s, uint32_t place, uint32_t lane) const;
  /// Called by the owner: lane + 1, or 0.
  uint32_t announced_lane(slot_number s, uint32_t place) const;
  /// Called by the owner: removes the lane, as another device will use the place.
  void unlist(slot_number s, uint32_t place) const;
  /// Called by the owner: permits no further announcements there. Returns lane + 1, or 0.
  uint32_t seal(slot_number s, uint32_t place) const;

 private:
  static size_t rows_offset(uint32_t capacity) {
    return (sizeof(connection_area_header) + capacity * sizeof(connection_slot) + 4095) / 4096 * 4096;
  }
  connection_slot& slot_of(uint32_t index) const {
    return reinterpret_cast<connection_slot*>(base_ + sizeof(connection_area_header))[index];
  }
  lane_notice& notice(uint32_t slot_index, uint32_t place) const {
    auto* const rows = reinterpret_cast<lane_notice*>(base_ + rows_offset(capacity_));
    return rows[size_t{slot_index} * max_devices + place];
  }

  std::byte* base_ = nullptr;
  uint32_t capacity_ = 0;
};

}  // namespace lci::network::shm
