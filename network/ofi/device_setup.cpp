// Construction and destruction of a device.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "network/ofi/bundle.hpp"
#include "network/ofi/device.hpp"

namespace lci::network::ofi {

namespace {

/// By then the liveness connection has reported that the peer's process has died, that its host does not answer, or
/// that it has freed its device.
constexpr std::chrono::seconds longest_suspicion{2};

constexpr uint64_t posts_and_polls = LCI_NET_TRYLOCK_SEND | LCI_NET_TRYLOCK_RECV | LCI_NET_TRYLOCK_POLL;

uint64_t calls_to_guard(const device_attr_t& attr, const provider& p) {
  if (p.one_call_at_a_time()) return posts_and_polls | LCI_NET_LOCK_MR;
  return attr.ofi_lock_mode | ((attr.ofi_lock_mode & LCI_NET_TRYLOCK_ENDPOINT) != 0 ? posts_and_polls : 0);
}

}  // namespace

device::device(context& c, const device_attr_t& attr, size_t eager_size)
    : remote_device(c, "ofi", longest_suspicion),
      context_(c),
      provider_(c.provider()),
      lock_mode_(calls_to_guard(attr, c.provider())),
      one_lock_(c.provider().one_call_at_a_time() || (attr.ofi_lock_mode & LCI_NET_TRYLOCK_ENDPOINT) != 0),
      attr_(attr),
      eager_size_(eager_size) {
  if (!provider_.carries_data()) trailer_ = trailer_size;
  open_endpoint(attr);
  peers_ = std::make_unique<peer[]>(static_cast<size_t>(c.size()));
  reserve_peers(static_cast<size_t>(c.size()));
  deferred_.reserve(unacknowledged_, static_cast<size_t>(c.size()));
  deferred_.reserve(unhandled_, spare_completions);
  bundles_.reserve(static_cast<size_t>(c.size()));
  addresses_of_all_ = c.exchange().offer(own_address());
  context_.flusher().add(*this);
}

device::~device() {
  context_.flusher().remove(*this);
  // First the endpoint: it still uses the core's buffers.
  endpoint_.reset();
  try {
    if (is_counted()) context_.peers().end_device(number_);
  } catch (const std::bad_alloc&) {
    // Peers that post to it get no answer before this context ends.
  }
  const auto deregister_copy = [&](const request& r) {
    if (r.copy_registration.handle != nullptr) registrar_->remove(r.copy_registration);
  };
  requests_.for_each(deregister_copy);
  copies_.for_each(deregister_copy);
}

void device::open_endpoint(const device_attr_t& attr) {
  // Providers allocate buffers for the maximum number of calls in flight: some 16 KiB each with ofi_rxm.
  info_.reset(library::get().dupinfo(&provider_.info()));
  if (info_ == nullptr) throw resource_error("ofi: fi_dupinfo: out of memory");
  fi_info& info = *info_;
  info.tx_attr->size = std::min(info.tx_attr->size, attr.net_max_sends);
  queue_size_ = static_cast<int64_t>(info.tx_attr->size);
  is_shared_ = context_.size() > 2;
  info.rx_attr->size = std::min(info.rx_attr->size, attr.net_max_recvs);
  const auto settings = library::settings();
  endpoint_parts parts =
      open_parts(context_.fabric(), info, std::min(attr.net_max_cqes, info.tx_attr->size + info.rx_attr->size),
                 static_cast<size_t>(context_.size()), " of " + provider_.name() + " on " + provider_.domain());
  domain_ = std::move(parts.domain);
  queue_ = std::move(parts.queue);
  addresses_ = std::move(parts.addresses);
  endpoint_ = std::move(parts.endpoint);
  wait_fd_ = parts.wait_fd;
  registrar_ = std::make_unique<registrar>(provider_, *domain_, *endpoint_);
}

void device::set_limits(const device_attr_t& attr, size_t longest) {
  const fi_info& info = *info_;
  const net_context_attr_t& context = context_.attr();
  const size_t largest = std::min(info.ep_attr->max_msg_size, longest);
  const size_t inject = std::min(
      {info.tx_attr->inject_size, largest, context.max_inject_size + sizeof(message_head) + trailer_, max_injected});
  if (largest <= trailer_)
    throw resource_error("ofi: messages of " + provider_.name() + " have at most " +
                         std::to_string(info.ep_attr->max_msg_size) + " bytes");
  limits_.max_inject = injected_end_ = inject < trailer_ ? 0 : inject - trailer_;
  limits_.max_send = largest - trailer_;
  // Providers that need their calls one at a time have crashed with bundles.
  if (!provider_.one_call_at_a_time()) bundle_size_ = std::min(attr.ofi_bundle_size, limits_.max_send);
  // Where each message costs a system call, larger ones are bundled as well, if at least two fit in a bundle.
  if (provider_.sends_by_system_calls() && bundle_size_ >= 2 * bundle::room_for(limits_.max_inject))
    limits_.max_inject = bundle_size_ / 2 - bundle::room_for(0);
  limits_.rma = provider_.rma();
  limits_.max_rma = limits_.rma ? std::min(info.ep_attr->max_msg_size, context.max_msg_size) : 0;
  limits_.put_imm = provider_.puts_carry_data();
  limits_.ordered = provider_.keeps_order(FI_ORDER_SAS);
  limits_.put_then_send_ordered = provider_.keeps_order(FI_ORDER_SAW);
  if (limits_.rma && provider_.keeps_order(FI_ORDER_WAW | FI_ORDER_SAW))
    limits_.max_ordered_put = std::min(limits_.max_rma, info.ep_attr->max_order_waw_size);
  limits_.local_registration = provider_.needs(FI_MR_LOCAL);
  limits_.pins_memory = provider_.needs(FI_MR_ALLOCATED);
  limits_.receive_buffers = info.rx_attr->size;
}

}  // namespace lci::network::ofi
