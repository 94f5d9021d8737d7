// A network context: one opened fabric of a runtime.
#pragma once

#include <atomic>
#include <memory>

#include "lci/operations.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/memory/shared_heap.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Immutable after allocation, but for what is atomic, and the heap, which is thread-safe. Owns the fabric's context;
/// devices made from it must go first.
class net_context : public object_memory<net_context, true> {
 public:
  net_context(runtime_t rt, const net_context_attr_t& a, std::unique_ptr<network::context> n,
              int rank, int n_ranks)
      : attr(a), runtime(rt), net(std::move(n)), heap(*net, rank, n_ranks) {}

  /// Which network leads to other hosts is agreed with the first device, or when the context is opened.
  void update_backend() {
    const attr_backend_t now = net->backend();
    if (now != attr_backend_t::none && now != attr.backend) attr.backend = now;
  }

  /// The least memory that a device has taken; 0: not known. Others allocate, too, while one is made.
  std::atomic<size_t> memory_of_device{0};
  net_context_attr_t attr;
  runtime_t runtime;
  std::unique_ptr<network::context> net;
  shared_heap heap;
};

}  // namespace lci::core
