// Gets from other hosts: requests that name bytes of the target, each answered by as many messages as its data fills. A
// request is handled after all earlier puts; its answers read the memory then, so later puts do not disturb it.
#include <algorithm>

#include "lib/layers/armci/errors.hpp"
#include "lib/layers/armci/remote.hpp"

namespace armci_layer {

namespace {
/// Bytes of a request: the target copies as many at once. And bytes under way from one process, so that what waits at
/// the target for a slow network stays bounded.
constexpr size_t at_once = size_t{64} << 10, under_way = size_t{8} << 20;
}  // namespace

void remote::limit(int proc, size_t bytes) {
  process& p = procs_[proc];
  if (p.gets.pending.load(std::memory_order_acquire) == 0) p.requested.store(0, std::memory_order_relaxed);
  if (p.requested.fetch_add(bytes, std::memory_order_relaxed) + bytes <= under_way) return;
  link_.wait(-1, [&] { return p.gets.pending.load(std::memory_order_acquire) == 0; });
  p.requested.store(bytes, std::memory_order_relaxed);
}

void remote::get(const layout& from, const layout& to, int proc, request_state* state) {
  const size_t size = from.size();
  for (size_t at = 0; at < size;) {
    const size_t some = std::min(size - at, under_way / 4);
    limit(proc, some);
    // The answers' positions count from the call's first byte, which a layout can't begin at: so all of `to`.
    const uint32_t token = calls_.begin(proc, to, some, {state, &procs_[proc].gets, &all_gets_});
    size_t asked = 0;
    try {
      for (; asked < some;) {
        const size_t n = std::min(some - asked, at_once);
        wire::request q{
            wire::kind::get, 0, static_cast<uint8_t>(from.levels), 0, token, reinterpret_cast<uint64_t>(from.base)};
        packet p = begin(q, {});
        if (from.levels > 0) wire::add_shape(p, from);
        p.add(wire::range{at + asked, n});
        post(std::move(p), proc);
        asked += n;
      }
    } catch (...) {
      calls_.drop(token);
      throw;
    }
    at += some;
  }
}

void remote::get_list(void* const* from, void* const* to, size_t n, size_t bytes, int proc, request_state* state) {
  const size_t header = sizeof(wire::request) + sizeof(wire::range) + sizeof(wire::list_group);
  const size_t most = (link_.packet_size() - header) / sizeof(uint64_t);
  if (bytes > at_once) {
    for (size_t i = 0; i < n; ++i) get(contiguous(from[i], bytes), contiguous(to[i], bytes), proc, state);
    return;
  }
  for (size_t done = 0; done < n;) {
    const size_t some = std::min({n - done, most, std::max<size_t>(1, at_once / bytes)});
    limit(proc, some * bytes);
    const uint32_t token =
        calls_.begin(proc, listed(to + done, some, bytes), some * bytes, {state, &procs_[proc].gets, &all_gets_});
    try {
      packet p = begin({wire::kind::list_get, 0, 0, 0, token, 0}, {});
      p.add(wire::list_group{static_cast<uint32_t>(some), static_cast<uint32_t>(bytes)});
      p.add(from + done, some * sizeof(uint64_t));
      post(std::move(p), proc);
    } catch (...) {
      calls_.drop(token);
      throw;
    }
    done += some;
  }
}

}  // namespace armci_layer
