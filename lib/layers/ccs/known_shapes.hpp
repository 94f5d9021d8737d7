// Shapes of descriptions that other processes need to access their own memory: each is sent once to each of them.
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

/// Which processes know which of this process's shapes. Thread-safe.
class known_shapes {
 public:
  bool has(uint64_t id, int node);
  /// Makes room for add(). Throws std::bad_alloc.
  void prepare(uint64_t id, int n_nodes);
  /// Notes that a shape was sent to a node: others may rely on that only afterwards. Follows prepare().
  void add(uint64_t id, int node) noexcept;
  /// The nodes that knew it, and now do not. If it throws std::bad_alloc, nothing has changed.
  std::vector<int> remove(uint64_t id);

 private:
  lci::spinlock lock_;
  std::unordered_map<uint64_t, std::vector<bool>> known_;
};

/// Shapes that one other process has sent.
class foreign_shapes {
 public:
  bool add(const std::byte* body, size_t size);
  void remove(uint64_t id) { shapes_.erase(id); }
  /// What the layout of a message means; false if it names a shape that was not sent, or no possible amount of it.
  bool find(const wire::remote_layout& at, shape& s) const;

 private:
  struct entry {
    intptr_t extent = 0;
    shape s;
  };
  std::unordered_map<uint64_t, entry> shapes_;
};

/// The layout as a message to a node names it. Sends the shape first if that does not know it.
wire::remote_layout name_for(process& p, int node, const layout& l);
/// A description is gone: those that know its shape need it no longer.
void forget_shape(uint64_t id) noexcept;

}  // namespace ccs
