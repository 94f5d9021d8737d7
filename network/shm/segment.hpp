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
  mapping(int fd, size_t size);  // throws resource_error; closes fd in any case
  ~mapping();
  mapping(mapping&& other) noexcept { *this = static_cast<mapping&&>(other); }
  mapping& operator=(mapping&& other) noexcept;

  segment_view view() const { return segment_view(base_); }
  size_t size() const { return size_; }

 private:
  void* base_ = nullptr;
  size_t size_ = 0;
};

/// This rank's segment: an anonymous file (memfd), so that nothing is left behind however the
/// process ends. Peers open it through /proc/<pid>/fd.
class own_segment {
 public:
  own_segment(size_t size, size_t n_slots, size_t data_size);
  ~own_segment();
  own_segment(const own_segment&) = delete;
  own_segment& operator=(const own_segment&) = delete;

  segment_view view() const { return map_.view(); }
  int fd() const { return fd_; }
  size_t size() const { return map_.size(); }

 private:
  int fd_ = -1;
  mapping map_;
};

/// What a rank tells the others of itself.
struct address {
  uint64_t magic = segment_magic;
  int32_t pid = 0;
  int32_t fd = -1;
  uint64_t size = 0;
  uint64_t start_time = 0;  // of the process: a pid that was used again is noticed
  uint64_t probe = 0;       // address of a word that holds `magic`, to try cross-memory attach on
};

/// Maps the segment that `a` describes. Throws resource_error with the reason and the remedy.
mapping map_peer(const address& a, int rank);

/// Lane pool of a segment, usable by its owner and by its peers. ~0 if none is left.
uint32_t take_lane(const segment_view& segment);
void return_lane(const segment_view& segment, uint32_t lane);

/// In clock ticks since boot, 0 if there is no such process.
uint64_t process_start_time(int pid);

}  // namespace lci::network::shm
