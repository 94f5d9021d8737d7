// Caches of shapes. A process that applies an operation to its own memory needs the shape of the origin's description;
// each shape is sent to each process once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/shape.hpp"
#include "lib/layers/ccs/wire.hpp"

namespace ccs {

class process;
class layout;

/// Which processes have which of this process's shapes. Owned by `process`. Thread-safe.
class known_shapes {
 public:
  bool has(uint64_t id, int node);
  /// Allocates the memory that add() needs. Throws std::bad_alloc.
  void prepare(uint64_t id, int n_nodes);
  /// Records that a shape was sent to a node. Call it after the send, since other threads then send messages that refer
  /// to the shape. prepare() must precede it.
  void add(uint64_t id, int node) noexcept;
  /// Removes a shape. Returns the nodes that have it. If it throws std::bad_alloc, nothing has changed.
  std::vector<int> remove(uint64_t id);

 private:
  lci::spinlock lock_;
  std::unordered_map<uint64_t, std::vector<bool>> known_;
};

/// The shapes that one other process has sent. Owned by `peer`. Not thread-safe: used by handlers of its messages.
class foreign_shapes {
 public:
  bool add(const std::byte* body, size_t size);
  void remove(uint64_t id) { shapes_.erase(id); }
  /// Sets `s` to the shape of a message's layout. Returns false if the shape was not sent, or the count is impossible.
  bool find(const wire::remote_layout& at, shape& s) const;

 private:
  struct entry {
    intptr_t extent = 0;
    shape s;
  };
  std::unordered_map<uint64_t, entry> shapes_;
};

/// Describes a layout for a message to a node. Sends the shape first if the node does not have it.
wire::remote_layout name_for(process& p, int node, const layout& l);
/// Removes the shape of a freed description at all nodes that have it.
void forget_shape(uint64_t id) noexcept;

}  // namespace ccs
