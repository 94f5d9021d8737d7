#include "lib/layers/v1/comparison.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "lib/base/insist_on_memory.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

namespace {

const char* name_of(LCI_match_t match) { return match == LCI_MATCH_TAG ? "LCI_MATCH_TAG" : "LCI_MATCH_RANKTAG"; }

[[noreturn]] void throw_different(unsigned device, uint32_t number, LCI_match_t mine, int rank, LCI_match_t theirs) {
  throw lci::invalid_argument_error(
      "endpoint " + std::to_string(number) + " of device " + std::to_string(device) + " (in order of creation) has " +
      name_of(mine) + " at rank " + std::to_string(LCI_RANK) + ", but " + name_of(theirs) + " at rank " +
      std::to_string(rank) +
      ", so that their messages never match: create endpoints in the same order with the same match type at all ranks");
}

}  // namespace

void endpoint_comparison::open(lci::runtime_t runtime) {
  handle_ = lci::register_rcomp_x(lci::comp_t(&port_)).runtime(runtime)();
}

void endpoint_comparison::add(LCI_device_t device, LCI_match_t match) {
  created endpoint{device->number, 0, static_cast<uint32_t>(match)};
  created_by different{-1, {}};
  {
    std::lock_guard guard(mutex_);
    std::vector<LCI_match_t>& of_device = mine_[device->number];
    endpoint.number = static_cast<uint32_t>(of_device.size());
    of_device.push_back(match);
    std::erase_if(early_, [&](const created_by& e) {
      if (e.endpoint.device != endpoint.device || e.endpoint.number != endpoint.number) return false;
      if (e.endpoint.match != endpoint.match) different = e;
      return true;
    });
  }
  // The peers are not told, as they would report the difference once more.
  if (different.rank >= 0)
    throw_different(endpoint.device, endpoint.number, match, different.rank,
                    static_cast<LCI_match_t>(different.endpoint.match));
  for (int rank = 0; rank < LCI_NUM_PROCESSES; ++rank) {
    if (rank == LCI_RANK) continue;
    try {
      lci::post_am_x(rank, &endpoint, sizeof endpoint, lci::COMP_NULL, handle_).device(device->core)();
    } catch (const lci::peer_failure_error&) {
      // A rank that has died creates no endpoint.
    }
  }
}

void endpoint_comparison::forget(unsigned device) {
  std::lock_guard guard(mutex_);
  mine_[device].clear();
  std::erase_if(early_, [&](const created_by& e) { return e.endpoint.device == device; });
}

void endpoint_comparison::port::signal(lci::status_t s) {
  created theirs;
  if (s.size != sizeof theirs)
    throw lci::resource_error("a description of an endpoint of " + std::to_string(s.size) + " bytes from rank " +
                              std::to_string(s.rank) + ", whose program has another version of this library");
  std::memcpy(&theirs, s.buffer, sizeof theirs);
  // A rank whose program is not checked compares nothing.
  if (detail::checks && theirs.device < max_devices) all_.receive(s.rank, theirs);
}

void endpoint_comparison::receive(int rank, const created& theirs) {
  LCI_match_t mine;
  {
    std::lock_guard guard(mutex_);
    const std::vector<LCI_match_t>& of_device = mine_[theirs.device];
    if (theirs.number >= of_device.size()) return lci::insist_on_memory([&] { early_.push_back({rank, theirs}); });
    mine = of_device[theirs.number];
  }
  const auto match = static_cast<LCI_match_t>(theirs.match);
  if (match != mine) throw_different(theirs.device, theirs.number, mine, rank, match);
}

void require_idle_everywhere(world& w, LCI_device_t device) {
  LCI_endpoint_t busy = nullptr;
  int receives = 0;
  if (detail::checks) {
    std::lock_guard guard(w.mutex);
    for (LCI_endpoint_t endpoint : device->endpoints) {
      if (endpoint == nullptr) continue;
      receives = endpoint->checked_receives.load(std::memory_order_relaxed);
      if (receives == 0 && !endpoint->issued.has_any()) continue;
      busy = endpoint;
      break;
    }
  }
  const int mine = busy != nullptr ? LCI_RANK : -1;
  int any = -1;
  const auto larger = [](const void* left, const void* right, void* to, size_t n) {
    for (size_t i = 0; i < n; ++i)
      static_cast<int*>(to)[i] = std::max(static_cast<const int*>(left)[i], static_cast<const int*>(right)[i]);
  };
  lci::allreduce_x(&mine, &any, 1, sizeof mine, larger).runtime(w.runtime).device(device->core)();
  if (any < 0) return;
  if (busy == nullptr)
    throw lci::invalid_argument_error("rank " + std::to_string(any) +
                                      " has an endpoint of the device with communication that is not complete: no rank "
                                      "frees the device; wait for the completion first");
  char text[160];
  if (receives > 0)
    std::snprintf(text, sizeof text,
                  "endpoint = %p of the device has %d receives that no message has matched: wait for their completion "
                  "first",
                  static_cast<void*>(busy), receives);
  else
    std::snprintf(text, sizeof text,
                  "endpoint = %p of the device has communication that is not complete: call LCI_fence_wait() first",
                  static_cast<void*>(busy));
  throw lci::invalid_argument_error(text);
}

}  // namespace v1
