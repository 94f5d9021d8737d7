// Collective operations of a group, by messages. All members call them in the same order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/layers/armci/groups.hpp"
#include "lib/layers/armci/inbox.hpp"
#include "lib/layers/armci/reduction.hpp"

namespace armci_layer {

/// Thread-safe as far as one thread of a process at a time calls them for a group. They throw `error`.
class collectives {
 public:
  explicit collectives(inbox& i) : inbox_(i) {}

  void barrier(const group& g);
  /// `root` is a rank in the group.
  void broadcast(const group& g, int root, void* bytes, size_t size);
  /// The result at rank 0, or at all. n elements, or records, of combine.size bytes.
  void reduce(const group& g, void* x, size_t n, const combination& combine, bool to_all);
  /// Gathers `size` bytes of each member, by rank, in `all`.
  void gather_all(const group& g, const void* mine, void* all, size_t size);

 private:
  // A lack of memory that lasts ends the job. `member`: a rank in the group.
  void send(const group& g, size_t member, uint64_t key, const void* bytes, size_t size);
  void receive(const group& g, size_t member, uint64_t key, void* bytes, size_t size);

  inbox& inbox_;
};

}  // namespace armci_layer
