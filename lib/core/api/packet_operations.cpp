// Allocating, registering and freeing packet pools; getting and returning packets.
#include <memory>
#include <string>

#include "lib/base/check.hpp"
#include "lib/core/api/handle_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/sending.hpp"

namespace lci::core {

packet_pool_t alloc_packet_pool(alloc_packet_pool_args& a) {
  auto pool = std::make_unique<packet_pool>(a.attr);
  pool->runtime = a.runtime;
  a.runtime.p_impl->add_pool(pool.get());
  return pool.release();
}

namespace {

/// The network may still read a packet that is on its way, and the program may return one later. Packets of the default
/// pool, which ends with the runtime, may be in use.
void refuse_packets_in_use(const packet_pool& pool) {
  if (&pool == pool.runtime.p_impl->default_packet_pool.p_impl) return;
  const size_t free = pool.home();
  if (free < pool.attr.npackets)
    throw_invalid("free_packet_pool", "packet_pool", std::to_string(pool.attr.npackets - free) + " packets in use",
                  "none in use",
                  "call wait_drained() on the devices that send them, and put_upacket() for those received");
}

}  // namespace

void free_packet_pool(free_packet_pool_args& a) {
  check_allocated("free_packet_pool", "packet_pool", a.packet_pool);
  const int devices = a.packet_pool->p_impl->registrations.load(std::memory_order_relaxed);
  if (devices > 0)
    throw_invalid("free_packet_pool", "packet_pool", "registered " + std::to_string(devices) + "x",
                  "registered with no device",
                  "call deregister_packet_pool() first, and free the devices that were allocated "
                  "with it");
  refuse_default("free_packet_pool", "packet_pool", a.packet_pool,
                 a.packet_pool->p_impl->runtime.p_impl->default_packet_pool);
  refuse_packets_in_use(*a.packet_pool->p_impl);
  packet_pool* pool = take("free_packet_pool", "packet_pool", a.packet_pool);
  pool->runtime.p_impl->remove_pool(pool);
  delete pool;
}

void register_packet_pool(register_packet_pool_args& a) {
  device& d = *a.device.p_impl;
  d.supply.add(*a.packet_pool.p_impl, *d.net);
}

void deregister_packet_pool(deregister_packet_pool_args& a) {
  device& d = *a.device.p_impl;
  const packet_pool& pool = *a.packet_pool.p_impl;
  // The network reads their memory by the registration.
  if (d.supply.is_only_registration(pool) && is_sending(d, pool))
    throw_invalid("deregister_packet_pool", "packet_pool", "one with packets on their way", "one without",
                  "call wait_drained() on the device first");
  d.supply.remove(*a.packet_pool.p_impl);
}

namespace {

/// A packet of another pool than the default one; or memory of the allocator, as of a message that was too large for a
/// packet, or arrived while the pool was empty.
LCI_NOINLINE void put_elsewhere(put_upacket_args& a) {
  if (a.packet == nullptr) return;
  runtime& rt = *a.runtime.p_impl;
  if (packet_pool* const pool = rt.pool_of(a.packet))
    pool->put(packet::of(a.packet));
  else
    rt.deallocate(a.packet, nullptr);
}

}  // namespace

void* get_upacket(get_upacket_args& a) {
  packet* p = a.packet_pool.p_impl->get_inline();
  return p == nullptr ? nullptr : p->payload();
}

void put_upacket(put_upacket_args& a) {
  packet_pool* const pool = a.runtime.p_impl->default_packet_pool.p_impl;
  if (LCI_UNLIKELY(pool == nullptr) || LCI_UNLIKELY(!pool->owns(a.packet))) return put_elsewhere(a);
  pool->put_inline(packet::of(a.packet));
}

bool is_upacket(is_upacket_args& a) {
  runtime& rt = *a.runtime.p_impl;
  const packet_pool* pool = rt.default_packet_pool.p_impl;
  return (pool != nullptr && pool->owns(a.packet)) || rt.pool_of(a.packet) != nullptr;
}

size_t get_max_bcopy_size(get_max_bcopy_size_args& a) { return a.packet_pool.p_impl->payload_size(); }

}  // namespace lci::core
