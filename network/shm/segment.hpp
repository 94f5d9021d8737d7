// Making one's own segment, and mapping a peer's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lci/errors.hpp"
#include "network/shm/layout.hpp"
#include "network/shm/memory_file.hpp"

namespace lci::network::shm {

/// What a rank tells the others of itself.
struct address {
  uint64_t magic = segment_magic;
  int32_t pid = 0;
  file_name segment;
  uint64_t start_time = 0;  // of the process: a pid that was used again is noticed
  uint64_t space = 0;       // where the pid means something: see process_space()
  uint64_t probe = 0;       // address of a word that holds `magic`, to try cross-memory attach on
};

/// This rank's segment. Peers open it through the process that owns it.
class own_segment {
 public:
  own_segment(size_t size, size_t n_slots, size_t data_size);

  segment_view view() const { return segment_view(map_.base()); }
  /// Fills in what tells others of this segment.
  void describe(address& a) const { a.segment = file_.name(); }
  /// From now on nobody can map it any more.
  void close_file() { file_.close(); }

 private:
  memory_file file_;
  mapping map_;
};

/// The system has no room to map a peer's memory just now.
class shortage_error final : public resource_error {
 public:
  using resource_error::resource_error;
};

/// Maps the file `name` of the process that `a` describes. Throws peer_failure_error if the owner has
/// left, shortage_error, or another resource_error with the reason and the remedy, which may be `attribute`.
mapping map_peer(const address& a, const file_name& name, int rank, const char* attribute);
/// The peer's segment, looked at.
mapping map_segment(const address& a, int rank);

/// Tells the owner of the segment that `a` describes that rank `me` leaves, without mapping it.
/// Nothing happens if the owner has left before.
void say_goodbye(const address& a, int me);

}  // namespace lci::network::shm
