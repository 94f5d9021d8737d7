#include "lib/layers/armci/memory.hpp"

#include <algorithm>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include "lib/layers/armci/errors.hpp"

namespace armci_layer {

memory::memory(link& l) : link_(l), views_(std::make_unique<view[]>(static_cast<size_t>(l.size()))) {
  const auto in = [&](auto call) { return call.runtime(link_.runtime()).device(link_.device())(); };
  controls_ = in(lci::alloc_symmetric_x(control::size(link_.size())));
  control* const mine = static_cast<control*>(lci::get_mr_base_x(lci::get_symmetric_mr_x(controls_)())());
  mine->locks.prepare();
  new (&mine->waiting) std::atomic<uint32_t>(0);
  for (int r = 0; r < link_.size(); ++r) new (&mine->notified()[r]) std::atomic<uint32_t>(0);
  in(lci::barrier_x());  // all are prepared
  // Tests play several hosts on one.
  const auto per_host =
      static_cast<int>(lci::get_default_net_context_x().runtime(link_.runtime())().get_attr_ranks_per_host());
  bool same = true;
  for (int r = 0; r < link_.size(); ++r) {
    view& v = views_[r];
    v.key = lci::get_symmetric_rmr_x(controls_, r)();
    if (per_host == 0 || r / per_host == link_.me() / per_host)
      v.own = static_cast<control*>(lci::get_symmetric_address_x(controls_, r)());
    v.near = v.own != nullptr;
    if (v.near) {
      v.shift = reinterpret_cast<uint64_t>(v.own) - v.key.base;
      same &= v.shift == 0;
      v.low.store(v.key.base, std::memory_order_relaxed);
      v.span.store(control::size(link_.size()), std::memory_order_relaxed);
    } else {
      all_near_ = false;
    }
  }
  // Own memory need not be shared.
  views_[link_.me()].low.store(0, std::memory_order_relaxed);
  views_[link_.me()].span.store(~uint64_t{0}, std::memory_order_relaxed);
  int all = same ? 1 : 0;
  const int own = all;
  lci::allreduce_x(&own, &all, 1, sizeof all,
                   [](const void* a, const void* b, void* c, size_t n) {
                     for (size_t i = 0; i < n; ++i)
                       static_cast<int*>(c)[i] = static_cast<const int*>(a)[i] & static_cast<const int*>(b)[i];
                   })
      .runtime(link_.runtime())
      .device(link_.device())();
  same_addresses_ = all != 0;
}

memory::~memory() {
  try {
    for (auto& [address, b] : blocks_) lci::free_shared_x(&b.mr).runtime(link_.runtime())();
    lci::free_symmetric_x(&controls_).runtime(link_.runtime())();
  } catch (const std::exception& e) {
    say("ARMCI_Finalize", e.what());
  }
}

std::byte* memory::reach(int proc, const void* address, size_t bytes) {
  view& v = views_[proc];
  if (!v.near) throw error(internal_failure, "process " + std::to_string(proc) + " is on another host");
  lci::rmr_t key = v.key;
  key.base = reinterpret_cast<uint64_t>(address);
  key.size_and_device = (key.size_and_device & ~lci::rmr_t::max_size) | bytes;
  void* const here = bytes > lci::rmr_t::max_size
                         ? nullptr
                         : lci::get_shared_address_x(proc, key).runtime(link_.runtime()).device(link_.device())();
  if (here == nullptr) {
    char text[200];
    std::snprintf(text, sizeof text,
                  "%zu bytes at %p are no memory of process %d that others may access: pass addresses in memory of "
                  "ARMCI_Malloc",
                  bytes, address, proc);
    throw error(internal_failure, text);
  }
  const std::lock_guard guard(widening_);
  const uint64_t low = v.low.load(std::memory_order_relaxed), high = low + v.span.load(std::memory_order_relaxed);
  const uint64_t new_low = std::min(low, key.base), new_high = std::max(high, key.base + bytes);
  v.low.store(new_low, std::memory_order_relaxed);
  v.span.store(new_high - new_low, std::memory_order_release);  // R1: pairs with A1 in near()
  return static_cast<std::byte*>(here);
}

void* memory::allocate(size_t bytes) {
  block b{{}, bytes};
  b.mr = lci::alloc_shared_x(bytes).runtime(link_.runtime()).device(link_.device())();
  void* const base = lci::get_mr_base_x(b.mr).runtime(link_.runtime())();
  const std::unique_lock guard(mutex_);
  try {
    blocks_.emplace(reinterpret_cast<uint64_t>(base), b);
  } catch (...) {
    lci::free_shared_x(&b.mr).runtime(link_.runtime())();
    throw;
  }
  return base;
}

lci::rmr_t memory::key_of(const void* address) {
  const std::shared_lock guard(mutex_);
  const auto found = blocks_.find(reinterpret_cast<uint64_t>(address));
  return found == blocks_.end() ? lci::rmr_t{} : lci::get_rmr_x(found->second.mr).runtime(link_.runtime())();
}

bool memory::release(const void* address) {
  lci::mr_t mr;
  {
    const std::unique_lock guard(mutex_);
    const auto found = blocks_.find(reinterpret_cast<uint64_t>(address));
    if (found == blocks_.end()) return false;
    mr = found->second.mr;
    blocks_.erase(found);
  }
  lci::free_shared_x(&mr).runtime(link_.runtime())();
  return true;
}

bool memory::owns(uint64_t begin, uint64_t end) const {
  const std::shared_lock guard(mutex_);
  auto after = blocks_.upper_bound(begin);
  if (after == blocks_.begin()) return false;
  --after;
  return begin >= after->first && end >= begin && end - after->first <= after->second.size;
}

}  // namespace armci_layer
