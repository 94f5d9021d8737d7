// Registration of memory, and other ranks' registrations.
#include <memory>
#include <string>

#include "lib/base/check.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/memory/memory_region.hpp"

namespace lci::core {

bool has_device(const memory_region& region) {
  const device* d = region.device.p_impl;
  return objects::is_alive(d) && d->serial == region.device_serial;
}

mr_t register_memory(register_memory_args& a) {
  if (a.address == nullptr && a.size != 0) throw_invalid("register_memory", "address", "nullptr", "an address");
  if (a.size > ~reinterpret_cast<uintptr_t>(a.address) || !is_possible(a.size))
    throw_invalid("register_memory", "size", std::to_string(a.size), "within the address space");
  if (a.size > rmr_t::max_size)
    throw_invalid("register_memory", "size", std::to_string(a.size), "at most " + std::to_string(rmr_t::max_size),
                  "a process can address no more");
  device& d = *a.device.p_impl;
  auto region = std::make_unique<memory_region>();
  region->device = a.device;
  region->device_serial = d.serial;
  region->base = a.address;
  region->size = a.size;
  // Memory of the shared heap is not cached: the heap releases pages without notifying the cache.
  // Nor is memory that peers may only read, as registrations of the cache share keys.
  region->cached =
      d.registrations.cache() != nullptr && a.size > 0 && !a.read_only && !d.heap->contains(a.address, a.size);
  region->reg = region->cached
                    ? d.registrations.cache()->acquire(a.address, a.size)
                    : d.registrations.make_room_for([&] { return d.net->register_memory(a.address, a.size); });
  try {
    d.ranges.add(region->reg.rkey, reinterpret_cast<uint64_t>(a.address), a.size, a.read_only);
    if (a.read_only) d.net->make_read_only(region->reg);
  } catch (...) {
    region->cached ? d.registrations.cache()->release(region->reg) : d.net->deregister_memory(region->reg);
    throw;
  }
  d.regions.add(*region);
  return region.release();
}

void deregister_memory(deregister_memory_args& a) {
  if (a.mr == nullptr || !is_registered(*a.mr))
    throw_invalid("deregister_memory", "mr", "no registration", "from register_memory()");
  memory_region* region = a.mr->p_impl;
  if (region->owns_memory)
    throw_invalid("deregister_memory", "mr", "from alloc_shared()", "from register_memory()", "free_shared() ends it");
  if (has_device(*region)) {  // otherwise the device has ended the registration
    device& d = *region->device.p_impl;
    if (d.published.is_published(region))
      throw_invalid("deregister_memory", "mr", "published", "one that other ranks do not find",
                    "unpublish_memory() comes first");
    d.regions.remove(*region);
    d.ranges.remove(region->reg.rkey);
    region->cached ? d.registrations.cache()->release(region->reg) : d.net->deregister_memory(region->reg);
  }
  delete region;
  *a.mr = mr_t();
}

rmr_t get_rmr(get_rmr_args& a) {
  if (!is_registered(a.mr)) throw_invalid("get_rmr", "mr", "no registration", "from register_memory()");
  const memory_region& region = *a.mr.p_impl;
  if (!has_device(region))
    throw_invalid("get_rmr", "mr", "a registration whose device was freed", "one whose device is alive");
  const device& d = *region.device.p_impl;
  const uint64_t place = rmr_t::place_of(d.attr.uid, d.heap->contains(region.base, region.size));
  return {reinterpret_cast<uint64_t>(region.base), place << rmr_t::size_bits | region.size, region.reg.rkey};
}

bool is_mr_current(is_mr_current_args& a) {
  if (!is_registered(a.mr)) throw_invalid("is_mr_current", "mr", "no registration", "from register_memory()");
  const memory_region& region = *a.mr.p_impl;
  if (!has_device(region))
    throw_invalid("is_mr_current", "mr", "a registration whose device was freed", "one whose device is alive");
  const device& d = *region.device.p_impl;
  // Memory of the shared heap stays mapped until its device is freed.
  if (region.owns_memory || !d.limits.pins_memory || d.heap->contains(region.base, region.size)) return true;
  return region.cached && d.registrations.cache()->is_current(region.reg);
}

rmr_t find_rmr(find_rmr_args& a) {
  const device& d = *a.device.p_impl;
  if (static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_ranks))
    throw_invalid("find_rmr", "rank", std::to_string(a.rank), "0.." + std::to_string(d.n_ranks - 1));
  return d.published.find(a.rank, reinterpret_cast<uint64_t>(a.address), a.size);
}

reg_cache_stats_t get_reg_cache_stats(get_reg_cache_stats_args& a) {
  device& d = *a.device.p_impl;
  if (!d.attr.use_reg_cache)
    throw_invalid("get_reg_cache_stats", "device", "one without a registration cache",
                  "allocated with .use_reg_cache(true)", "or set LCI_ATTR_USE_REG_CACHE=1");
  return d.registrations.cache() == nullptr ? reg_cache_stats_t() : d.registrations.cache()->stats();
}

}  // namespace lci::core
