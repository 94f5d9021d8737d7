// Allocating and freeing contexts, devices and endpoints; waiting until a device is drained.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/memory_left.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/api/handle_checks.hpp"
#include "lib/core/device/close_device.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/direct_paths.hpp"
#include "lib/core/device/endpoint.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/net_context.hpp"
#include "lib/core/device/progress_backoff.hpp"
#include "network/open.hpp"

namespace lci::core {

// --- network context ---

net_context_t alloc_net_context(alloc_net_context_args& a) {
  runtime& rt = *a.runtime.p_impl;
  // If the context can't be made, the next one must not publish what this one has offered.
  struct offers {
    network::address_exchange& of;
    bool keep = false;
    ~offers() {
      if (!keep) of.withdraw();
    }
  } made{rt.exchange()};
  net_context_attr_t attr = a.attr;
  network::opened opened = network::open_network(rt.exchange(), attr, rt.external_peers != nullptr);
  auto context = insist_on_memory([&] {
    return std::make_unique<net_context>(a.runtime, std::move(attr), std::move(opened.net), rt.rank(), rt.n_peers());
  });
  if (rt.external_peers != nullptr) context->net->open_to_external_peers(*rt.external_peers);
  context->attr.backend = opened.backend;
  if (!rt.defers_address_exchange) {
    context->net->open();
    context->update_backend();
  }
  made.keep = true;
  return context.release();
}

void free_net_context(free_net_context_args& a) {
  check_allocated("free_net_context", "net_context", a.net_context);
  const runtime& rt = *a.net_context->p_impl->runtime.p_impl;
  refuse_default("free_net_context", "net_context", a.net_context, rt.default_net_context);
  for (size_t i = 0; i < rt.devices.size(); ++i)
    if (const device* d = rt.devices.get(i); d != nullptr && d->net_context == *a.net_context)
      throw_invalid("free_net_context", "net_context",
                    "one with a device (its uid is " + std::to_string(d->attr.uid) + ")", "one without devices",
                    "free them first");
  delete take("free_net_context", "net_context", a.net_context);
}

// --- device and endpoint ---

namespace {

/// Refuses a device of the context that would leave less memory than `reserve`, as the kernel would end processes
/// when memory runs out. The memory of a device is learned from those already allocated.
class memory_of_device {
 public:
  memory_of_device(net_context& context, size_t reserve) : context_(context) {
    const size_t needed = context_.memory_of_device.load(std::memory_order_relaxed);
    if (needed >= worth_a_look && reserve > 0) require(needed, reserve);
    before_ = get_resident_memory();
  }
  /// To be called after the device was allocated.
  void learn() noexcept {
    size_t now = 0;
    try {
      now = get_resident_memory();
    } catch (const std::exception&) {
      return;  // no memory to look: the device exists, and nothing may fail
    }
    const size_t taken = std::max<size_t>(now - std::min(now, before_), 1);
    size_t least = context_.memory_of_device.load(std::memory_order_relaxed);
    while ((least == 0 || taken < least) &&
           !context_.memory_of_device.compare_exchange_weak(least, taken, std::memory_order_relaxed)) {
    }
  }

 private:
  /// Smaller devices are not checked: other allocations of the program exhaust memory first.
  static constexpr size_t worth_a_look = size_t{1} << 20;

  void require(size_t needed, size_t reserve) const {
    const memory_left left = get_memory_left();
    if (left.bytes >= needed && left.bytes - needed >= reserve) return;
    throw resource_error("alloc_device: a device takes " + std::to_string(needed) + " bytes of memory, of which " +
                         std::to_string(left.bytes) + " are left (" + left.limit +
                         ") and memory_reserve = " + std::to_string(reserve) +
                         " must remain; free devices, let threads share one, give the job more memory, or lower "
                         "LCI_ATTR_MEMORY_RESERVE (0: no check)");
  }

  net_context& context_;
  size_t before_;
};

}  // namespace

device_t alloc_device(alloc_device_args& a) {
  runtime& rt = *a.runtime.p_impl;
  packet_pool& pool = a.packet_pool.is_empty() ? *rt.no_packets : *a.packet_pool.p_impl;
  // Endpoints are allocated first, since nothing may fail later: peers rely on a device that exists, as the k-th
  // one of this rank.
  std::unique_ptr<endpoint> usual, of_progress;
  if (a.attr.alloc_default_endpoint) usual = std::make_unique<endpoint>(device_t(), endpoint_attr_t());
  if (a.attr.alloc_progress_endpoint) of_progress = std::make_unique<endpoint>(device_t(), endpoint_attr_t());
  memory_of_device memory(*a.net_context.p_impl, a.attr.memory_reserve);
  auto d = std::make_unique<device>(rt, *a.net_context.p_impl, pool, a.attr);
  memory.learn();
  d->net_context.p_impl->attr.support_putimm = d->limits.put_imm;
  d->net_context.p_impl->update_backend();
  d->attr.ordered_puts = d->limits.max_ordered_put > 0;
  if (usual != nullptr) {
    usual->device = d.get();
    d->progress_endpoint = d->default_endpoint = usual.release();
  }
  if (of_progress != nullptr) {
    of_progress->device = d.get();
    d->progress_endpoint = of_progress.release();
  }
  open_direct_paths(*d);
  if (d->rt.service == nullptr) return d.release();
  try {
    insist_on_memory([&] { d->rt.service->add("alloc_device", *d); });
  } catch (...) {  // The system can't start a thread, or not on that processor.
    first_exception none;
    destroy_device(d.release(), none);
    throw;
  }
  return d.release();
}

void free_device(free_device_args& a) {
  check_allocated("free_device", "device", a.device);
  device* d = a.device->p_impl;
  if (tls_in_progress)
    throw_invalid("free_device", "caller", "a handler", "outside of progress()",
                  "the caller of the handler still uses the device");
  if (!d->published.empty())
    throw_invalid("free_device", "device", "one with published memory", "one without",
                  "unpublish_memory() comes first");
  refuse_default("free_device", "device", a.device, d->rt.default_device);
  struct ending {
    const device* of;
    explicit ending(const device* what) : of(watched_for(calls_are_checked) ? what : nullptr) {
      if (of != nullptr && !objects::begin_to_free(of))
        throw_invalid("free_device", "device", "one on which another thread makes progress",
                      "one that no other thread uses", "let those threads finish first");
    }
    ~ending() {
      if (of != nullptr) objects::end_to_free(of);
    }
  } const here(d);
  d->lifetime.stop_waits();
  if (progress_thread* service = d->service.load(std::memory_order_acquire)) service->remove(*d);
  // close_device() sends what waits for room in the network, and bounds the wait for answers of peers. Handlers run
  // meanwhile and may post, so the user's handle is emptied afterwards.
  first_exception thrown;
  close_device(*d, thrown);
  *a.device = device_t();
  destroy_device(d, thrown);
  thrown.rethrow();
}

endpoint_t alloc_endpoint(alloc_endpoint_args& a) { return new endpoint(a.device, a.attr); }

void free_endpoint(free_endpoint_args& a) { delete take("free_endpoint", "endpoint", a.endpoint); }

endpoint_t get_default_endpoint(get_default_endpoint_args& a) { return a.device.p_impl->default_endpoint; }

namespace {

/// Returns whether receives of the device wait for a message. Looks at each posted receive, since posts keep no count.
bool has_posted_receives(device& d) {
  bool any = false;
  const auto look = [&](void* entry) {
    any = any || static_cast<operation*>(entry)->owner() == &d;
    return false;  // none is removed
  };
  d.rt.engines.for_each(
      [&](matching_engine& engine) { engine.remove_if(matching_entry_type_t::recv, std::cref(look)); });
  return any;
}

bool is_drained(device& d, bool receives) { return d.drained() && !(receives && has_posted_receives(d)); }

}  // namespace

error_t test_drained(test_drained_args& a) {
  return is_drained(*a.device.p_impl, a.receives) ? errorcode_t::done : errorcode_t::retry;
}

void wait_drained(wait_drained_args& a) {
  device& d = *a.device.p_impl;
  if (tls_in_progress) throw_invalid("wait_drained", "caller", "a handler", "outside of progress()");
  for (progress_backoff rounds(d); !is_drained(d, a.receives);) rounds.next();
}

}  // namespace lci::core
