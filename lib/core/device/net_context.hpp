// A network context: one network of a runtime, opened.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "lci/operations.hpp"
#include "lib/base/insist_on_memory.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/memory/shared_heap.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Owns the network's context and the heap of the memory that peers of the host share. Devices made from it must be
/// freed before it. Thread-safe: immutable after allocation except the atomic members and the heap, which is
/// thread-safe.
class net_context : public object_memory<net_context, true> {
 public:
  /// The peers know the network already, so want of memory is waited for. Throws resource_error if that lasts, not
  /// std::bad_alloc, for which the caller would repeat it: `a` and `n` have been moved from then.
  net_context(runtime_t rt, net_context_attr_t&& a, std::unique_ptr<network::context>&& n, int rank, int n_ranks) try
      : attr(std::move(a)),
        runtime(rt),
        net(std::move(n)),
        heap(insist_on_memory([&] { return shared_heap(*net, rank, n_ranks); })) {
  } catch (const std::bad_alloc&) {
    lci::throw_no_memory("alloc_net_context");
  }

  /// Copies the network's backend to `attr`: which one connects hosts is agreed when the context is opened, or with the
  /// first device.
  void update_backend() {
    const attr_backend_t now = net->backend();
    if (now != attr_backend_t::none && now != attr.backend) attr.backend = now;
  }

  /// Bytes: the least that the process has grown by while a device was allocated, since other threads allocate
  /// meanwhile. 0: not known.
  std::atomic<size_t> memory_of_device{0};
  net_context_attr_t attr;
  runtime_t runtime;
  std::unique_ptr<network::context> net;
  shared_heap heap;
};

}  // namespace lci::core
