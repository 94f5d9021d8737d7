// The pieces of a put or get: local and remote ranges.
#pragma once

#include <vector>

#include "lci.hpp"

namespace na {

struct transfer {
  // A transfer of one piece uses `local` and `remote`; one of several pieces uses both lists, in the core's format.
  bool contiguous = true;
  void* local = nullptr;
  lci::rmr_t rmr;
  size_t offset = 0;
  std::vector<lci::layout_segment_t> local_pieces;
  std::vector<lci::remote_segment_t> remote_pieces;

  /// Makes it empty for reuse; false if it has too much memory for that.
  bool may_be_kept() {
    constexpr size_t most = 4096;  // pieces: 160 KiB
    local_pieces.clear();
    remote_pieces.clear();
    return local_pieces.capacity() <= most && remote_pieces.capacity() <= most;
  }
};

}  // namespace na
