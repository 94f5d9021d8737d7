// Devices, endpoints, progress.
#include <lci.h>

#include <memory>
#include <optional>
#include <string>

#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/direct.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/wait.hpp"
#include "lib/layers/v1/world.hpp"

using namespace v1;

namespace {

void free_resources(world& w, LCI_device_s& device) {
  lci::free_device_x(&device.core).runtime(w.runtime)();
  lci::free_comp(&device.bell);
}

/// Removes the device from the world.
void forget(world& w, LCI_device_s& device) {
  {
    std::lock_guard guard(w.mutex);
    w.devices[device.number] = nullptr;
    --LCI_NUM_DEVICES;
  }
  record_freed(&device);
}

}  // namespace

LCI_device_t v1::make_device(world& w) {
  // Other ranks may still wait for what this rank has sent, part of which may be in a backlog. While a rank waits for
  // the new device, it makes no progress on others.
  if (LCI_UR_DEVICE != nullptr) meet(w, LCI_UR_DEVICE);
  auto d = std::make_unique<LCI_device_s>();
  d->core = lci::alloc_device_x()
                .runtime(w.runtime)
                .use_reg_cache(LCI_USE_DREG != 0)
                .net_max_sends(static_cast<size_t>(LCI_SERVER_MAX_SENDS))
                .net_max_recvs(static_cast<size_t>(LCI_SERVER_MAX_RECVS))
                .net_max_cqes(static_cast<size_t>(LCI_SERVER_MAX_CQES))();
  d->bell = lci::alloc_counter_x().runtime(w.runtime)();
  unsigned n = max_devices;
  {
    std::lock_guard guard(w.mutex);
    // The same number at all ranks, since they create and free devices in the same order; numbers are reused late.
    for (unsigned i = 0; i < max_devices && n == max_devices; ++i)
      if (w.devices[(w.next_device + i) % max_devices] == nullptr) n = (w.next_device + i) % max_devices;
    if (n < max_devices) {
      d->number = n;
      w.next_device = n + 1;
      w.devices[n] = d.get();
      ++LCI_NUM_DEVICES;
    }
  }
  if (n == max_devices) {
    free_resources(w, *d);
    throw lci::resource_error("there are " + std::to_string(max_devices) +
                              " devices, more are not possible: free some, or let threads share one");
  }
  try {
    record_created(d.get());
    lci::barrier_x().runtime(w.runtime).device(d->core)();
  } catch (...) {  // for example, a peer has failed
    forget(w, *d);
    free_resources(w, *d);
    throw;
  }
  return d.release();
}

void v1::end_device(world& w, LCI_device_t device) {
  lci::barrier_x().runtime(w.runtime).device(device->core)();  // peers need nothing from it any more
  w.postponed.drop(device);
  {
    std::lock_guard guard(w.mutex);
    for (LCI_endpoint_t endpoint : device->endpoints) {
      if (endpoint == nullptr) continue;
      w.ports.remove(endpoint);
      endpoint->issued.end_deliveries();
      --w.n_endpoints;
      record_freed(endpoint);
      delete endpoint;
    }
  }
  w.comparison.forget(device->number);
  forget(w, *device);
  free_resources(w, *device);
  delete device;
}

LCI_endpoint_t v1::make_endpoint(world& w, LCI_device_t device, const LCI_plist_s& properties) {
  auto e = std::make_unique<LCI_endpoint_s>();
  e->core = device->core;
  e->device = device;
  e->ports = &w.ports;
  e->in_place = w.ports.in_place;
  e->properties = properties;
  if (e->properties.default_comp == nullptr) e->properties.default_comp = LCI_UR_CQ;
  e->default_comp = &w.comps.find(properties.message == LCI_COMPLETION_NONE ? nullptr : e->properties.default_comp);
  if (e->default_comp->what == comp::kind::freed)
    throw lci::invalid_argument_error("plist has a default completion object that was freed, or is none");
  e->policy = properties.match == LCI_MATCH_TAG ? lci::matching_policy_t::tag_only : lci::matching_policy_t::rank_tag;
  {
    std::lock_guard guard(w.mutex);
    if (w.n_endpoints >= LCI_MAX_ENDPOINTS)
      throw lci::resource_error("there are LCI_MAX_ENDPOINTS = " + std::to_string(LCI_MAX_ENDPOINTS) +
                                " endpoints: free some, or set a larger number in the environment");
    std::vector<LCI_endpoint_t>& all = device->endpoints;
    all.resize(max_endpoints_of_device);
    unsigned n = max_endpoints_of_device;
    // As for devices; a number is reused late, since a message for it may still be waiting.
    for (unsigned i = 0; i < max_endpoints_of_device && n == max_endpoints_of_device; ++i)
      if (all[(device->next_endpoint + i) % max_endpoints_of_device] == nullptr)
        n = (device->next_endpoint + i) % max_endpoints_of_device;
    if (n == max_endpoints_of_device)
      throw lci::resource_error("the device has " + std::to_string(max_endpoints_of_device) +
                                " endpoints, more are not possible: free some, or use another device");
    device->next_endpoint = n + 1;
    all[n] = e.get();
    ++w.n_endpoints;
    e->id = device->number << endpoint_bits | n;
  }
  e->id_bits = tag_of_id(e->id);
  e->counts = counts_offset(e->id);
  e->counted_before = totals_of(e->id);
  e->direct_receives = direct_receives_of(*e);
  e->direct_sends = direct_sends_of(*e);
  record_created(e.get());
  w.ports.add(e.get());
  const LCI_endpoint_t made = e.release();  // the device owns it
  if (LCI_UNLIKELY(detail::checks)) w.comparison.add(device, properties.match);
  return made;
}

void v1::end_endpoint(world& w, LCI_endpoint_t endpoint) {
  w.ports.remove(endpoint);
  endpoint->issued.end_deliveries();
  record_freed(endpoint);
  std::lock_guard guard(w.mutex);
  endpoint->device->endpoints[endpoint->id % max_endpoints_of_device] = nullptr;
  --w.n_endpoints;
  delete endpoint;
}

LCI_error_t LCI_device_init(LCI_device_t* device) {
  return guarded("LCI_device_init", [&] {
    if (device == nullptr) return fail("LCI_device_init", "device is NULL, but must be the address of a handle");
    *device = make_device(the_world());
    return LCI_OK;
  });
}

LCI_error_t LCI_device_initx(LCI_device_t* device) { return LCI_device_init(device); }

LCI_error_t LCI_device_free(LCI_device_t* device) {
  return guarded("LCI_device_free", [&] {
    check_device_to_free(device);
    meet(the_world(), *device);
    require_idle_everywhere(the_world(), *device);
    end_device(the_world(), *device);
    *device = nullptr;
    return LCI_OK;
  });
}

LCI_error_t LCI_endpoint_init(LCI_endpoint_t* endpoint, LCI_device_t device, LCI_plist_t plist) {
  return guarded("LCI_endpoint_init", [&] {
    check_endpoint_to_make(endpoint, device, plist);
    *endpoint = make_endpoint(the_world(), device, plist != nullptr ? *plist : LCI_plist_s());
    return LCI_OK;
  });
}

LCI_error_t LCI_endpoint_free(LCI_endpoint_t* endpoint) {
  return guarded("LCI_endpoint_free", [&] {
    check_endpoint_to_free(endpoint);
    end_endpoint(the_world(), *endpoint);
    *endpoint = nullptr;
    return LCI_OK;
  });
}

namespace {

/// Makes progress, and counts the call.
LCI_ALWAYS_INLINE inline LCI_error_t make_progress(LCI_device_s& device) {
  if (device.core.p_impl == nullptr) __builtin_unreachable();
  device.polls.store(device.polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return LCI_LIKELY(lci::progress_x().device(device.core)().is_done()) ? LCI_OK : LCI_ERR_RETRY;
}

/// In the checking mode, and while work is postponed.
[[gnu::noinline]] LCI_error_t progress_with_more(LCI_device_t device) {
  return guarded("LCI_progress", [&] {
    world& w = the_world();
    std::optional<checked_progress> alone;
    if (detail::checks) alone.emplace(device);
    const LCI_error_t result = make_progress(*device);
    return w.postponed.go_on() ? LCI_OK : result;
  });
}

}  // namespace

LCI_error_t LCI_progress(LCI_device_t device) {
  if (LCI_UNLIKELY(!detail::polls_only.load(std::memory_order_relaxed))) return progress_with_more(device);
  try {
    return make_progress(*device);
  } catch (...) {
    return fail_by_exception("LCI_progress");
  }
}
