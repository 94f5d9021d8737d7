// Making one's own segment, and mapping a peer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "lci/attributes.hpp"
#include "network/shm/layout.hpp"

namespace lci::network::shm {

/// A mapping that ends with the object.
class mapping {
 public:
  mapping() = default;
  mapping(int fd, size_t size);  // throws resource_error; fd remains the caller's
  ~mapping();
  mapping(mapping&& other) noexcept { *this = static_cast<mapping&&>(other); }
  mapping& operator=(mapping&& other) noexcept;

  segment_view view() const { return segment_view(base_); }
  size_t size() const { return size_; }

 private:
  void* base_ = nullptr;
  size_t size_ = 0;
};

/// What a rank tells the others of itself.
struct address {
  uint64_t magic = segment_magic;
  int32_t pid = 0;
  int32_t fd = -1;
  uint64_t size = 0;
  uint64_t file_system = 0;  // these two name the file, whatever the descriptor's number means later
  uint64_t file = 0;
  uint64_t start_time = 0;  // of the process: a pid that was used again is noticed
  uint64_t space = 0;       // where the pid means something: see process_space()
  uint64_t probe = 0;       // address of a word that holds `magic`, to try cross-memory attach on
};

/// This rank's segment: an anonymous file (memfd), so that nothing is left behind however the
/// process ends. Peers open it through /proc/<pid>/fd.
class own_segment {
 public:
  own_segment(size_t size, size_t n_slots, size_t data_size);
  ~own_segment() { close_file(); }
  own_segment(const own_segment&) = delete;
  own_segment& operator=(const own_segment&) = delete;

  segment_view view() const { return map_.view(); }
  /// Fills in what tells others of this segment.
  void describe(address& a) const;
  /// From now on nobody can map it any more.
  void close_file();

 private:
  int fd_ = -1;
  mapping map_;
};

/// Maps the segment that `a` describes. Throws peer_failure_error if its owner has left, or
/// resource_error with the reason and the remedy.
mapping map_peer(const address& a, int rank);

/// Tells the owner of the segment that `a` describes that rank `me` leaves, without mapping it.
/// Nothing happens if the owner has left before.
void say_goodbye(const address& a, int me);

}  // namespace lci::network::shm
