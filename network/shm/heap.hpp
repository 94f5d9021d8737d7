// A rank's shared heap: one sparse file of memory that peers map as a whole.
#pragma once

#include "network/fabric.hpp"
#include "network/shm/memory_file.hpp"
#include "network/shm/segment.hpp"

namespace lci::network::shm {

/// Created on first use. Its methods are for one thread at a time; any thread may use its memory.
class own_heap {
 public:
  /// Creates a heap of `size` bytes, and stores its place in the own segment for the peers. If `size` is 0, the heap
  /// has the size of the host's memory, or what the limits of the process allow. Throws resource_error.
  own_heap(size_t size, int ranks_of_host, segment_view announce_in);

  heap_window window() const;
  void discard(std::byte* begin, size_t size) const;
  /// After this it can't be mapped any more.
  void close_file() { file_.close(); }

 private:
  memory_file file_;
  mapping map_;
};

/// A peer's heap, mapped here: at its owner's addresses, unless this process uses them for something else.
class peer_heap {
 public:
  /// Empty if that rank has not announced a heap. Throws as map_peer().
  peer_heap(const address& owner, segment_view segment, int rank);

  heap_window window() const { return window_; }

 private:
  mapping map_;
  heap_window window_;
};

}  // namespace lci::network::shm
