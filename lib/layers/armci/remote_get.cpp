// Gets from other hosts. Small gets are requests, which the target answers with one or more messages. The target
// handles a request after all earlier puts, and copies the data at once, so later puts do not affect the result. Large
// gets and puts use RMA, if the key of the memory is known and no earlier put can be outstanding.
#include <algorithm>

#include "lib/layers/armci/errors.hpp"
#include "lib/layers/armci/remote.hpp"

namespace armci_layer {

namespace {
/// Bytes of a request: the target copies as many at once. And bytes under way from one process, so that what waits at
/// the target for a slow network stays bounded.
constexpr size_t at_once = size_t{64} << 10, under_way = size_t{8} << 20;
/// Least number of bytes of a get by RMA, and of each of its contiguous parts. Messages are faster for smaller ones.
constexpr size_t least_direct = size_t{64} << 10, least_direct_part = size_t{8} << 10;
/// Likewise for puts. Without order, a put by RMA waits for a round trip, so that later requests need not wait for it.
constexpr size_t least_direct_put = size_t{256} << 10;
}  // namespace

class remote::direct_end final : public lci::comp_impl_t {
 public:
  explicit direct_end(remote& r) : remote_(r) {}
  // Keys are removed before their memory is freed, so an operation fails only if its target has failed.
  void signal(lci::status_t s) override {
    remote_.calls_.finish(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(s.user_context)),
                          s.is_done() ? 0 : peer_failure);
    remote_.link_.something_happened();
  }

 private:
  remote& remote_;
};

remote::remote(link& l)
    : link_(l),
      procs_(std::make_unique<process[]>(static_cast<size_t>(l.size()))),
      known_(l.size()),
      direct_end_(std::make_unique<direct_end>(*this)) {}

remote::~remote() = default;

void remote::wait_for_direct_gets(int proc) {
  const request_state& state = procs_[proc].direct_gets;
  if (LCI_LIKELY(state.pending.load(std::memory_order_acquire) == 0)) return;          // A1
  link_.wait(-1, [&] { return state.pending.load(std::memory_order_acquire) == 0; });  // A1
}

std::optional<far_memory::place> remote::direct_place(const layout& far, const layout& here, int proc,
                                                      size_t least_size) {
  if (far.size() < least_size || far.is_list() || here.is_list()) return std::nullopt;
  if (std::min(far.count[0], here.count[0]) < least_direct_part) return std::nullopt;
  const process& p = procs_[proc];
  // The target may not have applied an earlier put or accumulate yet.
  if (p.unfenced.load(std::memory_order_acquire) || p.acknowledgements.pending.load(std::memory_order_acquire) != 0)
    return std::nullopt;
  const extent e = extent_of(far);
  return known_.find(proc, e.begin, e.end);
}

bool remote::get_directly(const layout& from, const layout& to, int proc, request_state* state) {
  const auto place = direct_place(from, to, proc, least_direct);
  if (!place) return false;
  const core_layout there(from), here(to);
  if (!there.exists() || !here.exists()) return false;
  process& p = procs_[proc];
  // Networks order puts, but not gets behind puts. A get as a message would not have to wait, but takes longer.
  if (p.direct_puts.pending.load(std::memory_order_acquire) != 0)                                // A1
    link_.wait(-1, [&] { return p.direct_puts.pending.load(std::memory_order_acquire) == 0; });  // A1
  const uint32_t token = calls_.begin(proc, {}, 0, {state, &p.gets, &all_gets_, &p.direct_gets});
  try {
    link_.get(proc, to.base, here.get(), from.size(), place->key, place->offset, there.get(),
              lci::comp_t(direct_end_.get()), reinterpret_cast<void*>(uintptr_t{token}));
  } catch (...) {
    calls_.drop(token);
    throw;
  }
  return true;
}

bool remote::may_return_early(size_t bytes) const {
  return bytes >= least_direct_put && link_.puts_directly(true) && link_.keeps_puts_in_order();
}

bool remote::put_directly(const layout& from, const layout& to, int proc, put_return when) {
  // The put must overtake neither unlocks and notifications, which have no acknowledgements, nor gets, whose requests
  // may not have arrived.
  process& p = procs_[proc];
  if (p.told.load(std::memory_order_relaxed) || p.gets.pending.load(std::memory_order_acquire) != 0) return false;
  const auto place = direct_place(to, from, proc, least_direct_put);
  if (!place) return false;
  const core_layout there(to), here(from);
  if (!there.exists() || !here.exists()) return false;
  const bool early = when.early && link_.keeps_puts_in_order();
  request_state own;
  const uint32_t token = calls_.begin(proc, {}, 0, {early ? when.state : &own, &p.direct_puts, &all_direct_puts_});
  try {
    link_.put(proc, from.base, here.get(), to.size(), place->key, place->offset, there.get(),
              lci::comp_t(direct_end_.get()), reinterpret_cast<void*>(uintptr_t{token}));
  } catch (...) {
    calls_.drop(token);
    throw;
  }
  if (!early) wait(own, proc);
  return true;
}

void remote::limit(int proc, size_t bytes) {
  process& p = procs_[proc];
  if (p.gets.pending.load(std::memory_order_acquire) == 0) p.requested.store(0, std::memory_order_relaxed);
  if (p.requested.fetch_add(bytes, std::memory_order_relaxed) + bytes <= under_way) return;
  link_.wait(-1, [&] { return p.gets.pending.load(std::memory_order_acquire) == 0; });
  p.requested.store(bytes, std::memory_order_relaxed);
}

void remote::get(const layout& from, const layout& to, int proc, request_state* state) {
  if (get_directly(from, to, proc, state)) return;
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
