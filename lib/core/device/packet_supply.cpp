#include "lib/core/device/packet_supply.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

namespace {

packet_pool_attr_t reserve_attr(const packet_pool_attr_t& of, size_t n) {
  packet_pool_attr_t attr = of;
  attr.name = "reserve";
  attr.npackets = n;
  return attr;
}

}  // namespace

void packet_supply::open(network::device& net, const network::limits& limits, size_t eager_limit) {
  need_keys_ = limits.local_registration;
  if (!own_.is_hollow()) insist_on_memory([&] { add(own_, net); });
  if (own_.is_hollow() || limits.receive_buffers > 0 || limits.max_inject < sizeof(wire::header) + eager_limit) {
    reserve_ = insist_on_memory([&] { return std::make_unique<packet_pool>(reserve_attr(own_.attr, reserve_size)); });
    insist_on_memory([&] { add(*reserve_, net); });
  }
  if (limits.receive_buffers == 0) return;
  promised_ = own_.promise(limits.receive_buffers);
  receives_ = insist_on_memory([&] {
    return std::make_unique<receive_buffers>(std::min<size_t>(limits.receive_buffers, promised_ + reserve_size / 2));
  });
}

void packet_supply::take_back() {
  if (receives_ != nullptr) receives_->take_back();
  own_.take_back_promise(promised_);
}

packet* packet_supply::packet_to_receive() {
  if (packet* p = own_.get()) return p;
  if (reserved_receives_.fetch_add(1, std::memory_order_relaxed) < reserve_size / 2)
    if (packet* p = reserve_->get()) return p;
  reserved_receives_.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

void packet_supply::refill(network::device& net) {
  while (receives_->reserve()) {
    packet* p = packet_to_receive();
    if (p == nullptr) return receives_->cancel();
    const network::segment buffer{&p->head, sizeof(wire::header) + own_.payload_size(), lkey_of(*p->pool)};
    receives_->add(p);  // before the network has it: a message may come at once
    struct offered {    // the network may throw
      packet_supply& of;
      packet* p;
      bool taken = false;
      ~offered() {
        if (LCI_LIKELY(taken)) return;
        of.take_received(p);
        p->pool->put(p);
      }
    } it{*this, p};
    it.taken = error_t(net.post_recv(buffer, p)).is_done();
    if (!it.taken) return;
  }
}

void packet_supply::add(packet_pool& pool, network::device& net) {
  pools_.add(registrations_.make_room_for([&] { return pool_registration(pool, need_keys_ ? &net : nullptr); }));
}

void packet_supply::remove(packet_pool& pool) {
  const bool own = &pool == &own_;
  if (pools_.remove(pool, own ? 1 : 0)) return;
  if (own)
    throw_invalid("deregister_packet_pool", "packet_pool", "the device's own", "another pool",
                  "it is deregistered when the device is freed");
  throw_invalid("deregister_packet_pool", "packet_pool", pool.attr.name, "registered with the device");
}

uint64_t packet_supply::find_lkey(const packet_pool& pool) const {
  uint64_t lkey;
  if (pools_.find_lkey(pool, lkey)) return lkey;
  throw_invalid("post", "packet_pool", pool.attr.name, "registered with the device",
                "call register_packet_pool(pool, device)");
}

}  // namespace lci::core
