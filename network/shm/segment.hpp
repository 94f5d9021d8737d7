// Creating the own segment, and mapping a peer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lci/errors.hpp"
#include "network/shm/layout.hpp"
#include "network/shm/memory_file.hpp"

namespace lci::network::shm {

/// A rank's address, as it is offered to the others. Without padding, as file_name.
struct address {
  uint64_t magic = segment_magic;
  int32_t pid = 0;
  uint32_t unused = 0;
  file_name segment;
  uint64_t start_time = 0;  // of the process: detects a reused pid
  uint64_t space = 0;       // where the pid is valid: see process_space()
  uint64_t probe = 0;       // address of a word that holds `magic`, to test cross-memory attach
};

/// This rank's segment. Peers open it through the owner's process.
class own_segment {
 public:
  own_segment(size_t size, size_t n_slots, size_t data_size);

  segment_view view() const { return {map_.base(), shape_}; }
  /// Sets the part of the address that identifies this segment.
  void describe(address& a) const { a.segment = file_.name(); }
  /// After this no process can map it any more.
  void close_file() { file_.close(); }

 private:
  memory_file file_;
  mapping map_;
  lane_shape shape_;
};

/// Reads the dimensions of another process's segment once. Empty if it is not a sound segment of this version of LCI.
std::optional<lane_shape> read_shape(const mapping& segment);

/// Another process's segment.
struct peer_segment {
  mapping map;
  lane_shape shape;
  segment_view view() const { return {map.base(), shape}; }
};

/// Maps the file `name` of the process that `a` describes. Throws peer_failure_error if the owner has ended,
/// shortage_error, or another resource_error with the reason and the remedy, for which it may name `attribute`. `wish`:
/// where to map it, if that is free.
mapping map_peer(const address& a, const file_name& name, int rank, const char* attribute, uint64_t wish = 0);
/// Maps the peer's segment and validates it.
peer_segment map_segment(const address& a, int rank);

/// Notifies the owner of the segment that `a` describes that rank `me` closes, without mapping the segment. No effect
/// if the owner has ended.
void send_close(const address& a, int me);

}  // namespace lci::network::shm
