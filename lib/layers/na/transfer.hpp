// The pieces of a put or get, in both processes.
#pragma once

#include <vector>

#include "lci.hpp"

namespace na {

struct transfer {
  // One piece: `local`, and `remote`. Several: both lists, as the core takes them.
  bool contiguous = true;
  void* local = nullptr;
  lci::rmr_t rmr;
  size_t offset = 0;
  std::vector<lci::layout_segment_t> local_pieces;
  std::vector<lci::remote_segment_t> remote_pieces;
};

}  // namespace na
