// Memory that peers of the same host access by load and store: allocation, and addresses of peers' memory.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>

#include "lib/base/check.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/net_context.hpp"
#include "lib/core/memory/memory_region.hpp"

namespace lci::core {

namespace {

/// A row of a matrix that crosses the end of a page is copied more slowly than one that begins with it: by 5 % for rows
/// of 4 KiB. So large blocks, of which this takes 6 % at most, begin with a page.
constexpr size_t least_at_page = 64 << 10, page = 4096;

size_t block_alignment(size_t wanted, size_t size) {
  return std::max(wanted, size >= least_at_page ? page : cache_line);
}

}  // namespace

mr_t alloc_shared(alloc_shared_args& a) {
  if (!std::has_single_bit(a.alignment) || a.alignment > size_t{1} << 30)
    throw_invalid("alloc_shared", "alignment", std::to_string(a.alignment), "a power of two up to 1 GiB");
  constexpr size_t largest = size_t{1} << 62;
  if (a.size > largest) throw_invalid("alloc_shared", "size", std::to_string(a.size), "0.." + std::to_string(largest));
  device& d = *a.device.p_impl;
  const size_t alignment = block_alignment(a.alignment, a.size), size = shared_heap::block_size(a.size);
  void* base = d.heap->allocate(size, alignment);
  // Without a shared heap of the network, private memory.
  if (base == nullptr) base = std::aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
  if (base == nullptr) throw resource_error("alloc_shared: no memory for size = " + std::to_string(a.size));
  try {
    const mr_t mr = register_memory_x(base, a.size).runtime(a.runtime).device(a.device)();
    mr.p_impl->owns_memory = true;
    return mr;
  } catch (...) {
    d.heap->free_block(base, a.size);
    throw;
  }
}

void free_shared(free_shared_args& a) {
  if (a.mr == nullptr || !is_registered(*a.mr) || !a.mr->p_impl->owns_memory)
    throw_invalid("free_shared", "mr",
                  a.mr == nullptr || !is_registered(*a.mr) ? "no registration" : "of the user's memory",
                  "from alloc_shared()", "deregister_memory() frees registrations of register_memory()");
  memory_region& region = *a.mr->p_impl;
  if (!has_device(region))
    throw_invalid("free_shared", "mr", "memory whose device was freed", "memory whose device is alive",
                  "free_shared() comes before free_device()");
  if (region.device.p_impl->published.is_published(&region))
    throw_invalid("free_shared", "mr", "published", "one that other ranks do not find",
                  "unpublish_memory() comes first");
  void* const base = region.base;
  const size_t size = region.size;
  shared_heap& heap = *region.device.p_impl->heap;
  region.owns_memory = false;
  deregister_memory_x(a.mr)();
  heap.free_block(base, size);
}

void* get_mr_base(get_mr_base_args& a) {
  if (!is_registered(a.mr))
    throw_invalid("get_mr_base", "mr", "no registration", "from alloc_shared() or register_memory()");
  return a.mr.p_impl->base;
}

void* get_shared_address(get_shared_address_args& a) {
  device& d = *a.device.p_impl;
  if (static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers))
    throw_invalid("get_shared_address", "rank", std::to_string(a.rank), "0.." + std::to_string(d.n_peers - 1));
  check_remote("get_shared_address", d, a.rmr, 0, a.rmr.size());
  d.failures.check(a.rank);
  return a.rmr.is_shared() ? d.heap->reach(a.rank, a.rmr.base, a.rmr.size()) : nullptr;
}

}  // namespace lci::core
