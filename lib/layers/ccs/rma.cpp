// Puts and gets. A copy within the call if this process has mapped the memory; otherwise remote access of the network
// if the remote side is contiguous; otherwise messages with packed data.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/copy_large.hpp"
#include "lib/layers/ccs/misuse.hpp"
#include "lib/layers/ccs/process.hpp"
#include "lib/layers/ccs/remote_memory.hpp"
#include "lib/layers/ccs/walk.hpp"

namespace ccs {

void fail_unregistered(const char* function, int node, uint64_t address) {
  fail(function, "address 0x%llx of node %d is not registered there: that node must call CCS_register_mem() before",
       static_cast<unsigned long long>(address), node);
}

std::byte* mapped_here(process& p, const char* function, int node, uintptr_t begin, uintptr_t end) {
  if (node == p.rank) {
    if (LCI_UNLIKELY(!p.memory->covers(begin, end))) fail_unregistered(function, node, begin);
    return reinterpret_cast<std::byte*>(begin);
  }
  return p.peers[static_cast<size_t>(node)].keys.mapped(begin, end - begin);
}

void copy_between(const shape& from, uintptr_t from_base, const shape& to, uintptr_t to_base) {
  const auto at = [](uintptr_t base, const shape& s) { return reinterpret_cast<void*>(walking::add(base, s.at)); };
  if (from.is_empty()) return;
  if (from.is_contiguous() && to.is_contiguous())
    return (void)std::memmove(at(to_base, to), at(from_base, from), from.size);
  if (from.is_contiguous()) return unpack(to, reinterpret_cast<void*>(to_base), 0, to.size, at(from_base, from));
  if (to.is_contiguous()) return pack(from, reinterpret_cast<void*>(from_base), 0, from.size, at(to_base, to));
  alignas(16) std::byte some[8192];
  for (size_t done = 0; done < from.size;) {
    const size_t n = std::min(from.size - done, sizeof some);
    pack(from, reinterpret_cast<void*>(from_base), done, n, some);
    unpack(to, reinterpret_cast<void*>(to_base), done, n, some);
    done += n;
  }
}

span place_of(const layout& l) {
  const span s = span_of(l.whole());
  const auto base = static_cast<intptr_t>(l.base());
  return {base + s.begin, base + s.end};
}

namespace {

/// The arguments of a put or get, as a local and a remote side. An operation that needs a layout moves it away.
struct transfer {
  process& p;
  const char* function;
  bool is_put;
  int node;
  layout &local, &remote;
  CCS_callback_t callback;
  void* arg;
};

int transfer_by_network(const transfer& t) {
  auto op = std::make_unique<direct_operation>(t.p, t.node, t.function, t.callback, t.arg);
  op->is = t.is_put ? direct_operation::what::put : direct_operation::what::get;
  op->packs = !t.local.is_contiguous();
  if (op->packs)
    op->local = std::move(t.local);
  else
    op->here = t.local.begin();
  op->there = t.remote.begin();
  op->size = t.remote.size();
  op->count_as(operation::counted::outstanding);
  advance(op);
  return CCS_SUCCESS;
}

int transfer_in_packets(const transfer& t) {
  learn_key(t.p, t.node, static_cast<uintptr_t>(place_of(t.remote).begin));
  auto op = std::make_unique<operation>(t.p, t.node, t.function, t.callback, t.arg);
  op->count_as(operation::counted::outstanding);
  wire::data_head head{};
  head.at = name_for(t.p, t.node, t.remote);
  head.total = t.remote.size();
  head.combine = wire::data_head::plain;
  head.operation = op->give_number();
  // The message that refers to the number completes the operation: the target's answer, or the last data packet.
  if (t.is_put) {
    auto s = std::make_unique<sending>(t.p, t.node, std::move(t.local), head);
    s->remote = std::move(t.remote);
    t.p.sendings.begin(std::move(s));
  } else {
    op->local = std::move(t.local);
    t.p.send(t.p.bulk, t.node, wire::kind::data_request, head);
  }
  (void)op.release();
  return CCS_SUCCESS;
}

// Bytes of a transfer whose local side is packed into pieces for remote access: below, a message or two are faster.
constexpr size_t fewest_packed = 8192;
// All pieces are posted at once: this bounds their memory. Longer transfers are sent as the network takes them.
constexpr size_t most_packed = size_t{4} << 20;

int transfer_remotely(const transfer& t) {
  const size_t size = t.remote.size();
  const bool is_packed = size >= fewest_packed && size <= most_packed;
  if (t.remote.is_contiguous() && (t.local.is_contiguous() || is_packed)) return transfer_by_network(t);
  return transfer_in_packets(t);
}

int move(const char* function, bool is_put, CCS_node_t node, layout&& local, layout&& remote, CCS_callback_t callback,
         void* arg) {
  process* const p = current(function);
  if (p == nullptr || !is_node(*p, function, node) || !local.valid() || !remote.valid()) return CCS_FAILURE;
  if (LCI_UNLIKELY(local.size() != remote.size()))
    return refuse(function, "the source has %zu bytes and the destination %zu: both must have the same number",
                  is_put ? local.size() : remote.size(), is_put ? remote.size() : local.size());
  if (LCI_LIKELY(remote.size() > 0)) {
    const span at = place_of(remote);
    const auto begin = static_cast<uintptr_t>(at.begin);
    std::byte* const here = mapped_here(*p, function, static_cast<int>(node), begin, static_cast<uintptr_t>(at.end));
    if (here == nullptr)
      return transfer_remotely({*p, function, is_put, static_cast<int>(node), local, remote, callback, arg});
    immediate_callback at_end(p->due, callback, arg);
    const uintptr_t base = reinterpret_cast<uintptr_t>(here) + (remote.base() - begin);
    if (is_put)
      copy_between(local.whole(), local.base(), remote.whole(), base);
    else
      copy_between(remote.whole(), base, local.whole(), local.base());
    at_end.call();
    return CCS_SUCCESS;
  }
  immediate_callback(p->due, callback, arg).call();
  return CCS_SUCCESS;
}

/// Returns whether a description is builtin and not a marker. Its value is its size in bytes then, a power of two.
bool is_number_of_bytes(CCS_datadesc_t desc) {
  const auto n = static_cast<uint64_t>(desc);
  return n - 1 < static_cast<uint64_t>(CCS_DATA128) && (n & (n - 1)) == 0;
}

/// The arguments of one side of a put or get.
struct side {
  void* buf;
  size_t count;
  CCS_datadesc_t desc;
};

/// The most common put or get: of contiguous data, from or to memory that this process has mapped. Returns false, and
/// has done nothing, if the general case must handle it.
LCI_ALWAYS_INLINE inline bool copy_at_once(const char* function, bool is_put, CCS_node_t node, const side& local,
                                           const side& remote, CCS_callback_t callback, void* arg) {
  constexpr size_t most = size_t{1} << 40;  // elements, so that no product overflows
  const size_t size = local.count * static_cast<size_t>(local.desc);
  if (LCI_UNLIKELY(!is_number_of_bytes(local.desc) || !is_number_of_bytes(remote.desc) || local.count - 1 >= most ||
                   remote.count - 1 >= most || size != remote.count * static_cast<size_t>(remote.desc) ||
                   local.buf == nullptr || remote.buf == nullptr))
    return false;
  process* const p = the_process.load(std::memory_order_acquire);
  if (LCI_UNLIKELY(p == nullptr || node >= static_cast<CCS_node_t>(p->size))) return false;
  const auto begin = reinterpret_cast<uintptr_t>(remote.buf);
  std::byte* const there = mapped_here(*p, function, static_cast<int>(node), begin, begin + size);
  if (there == nullptr) return false;
  immediate_callback at_end(p->due, callback, arg);
  if (is_put)
    lci::large_copy::copy(there, local.buf, size);
  else
    lci::large_copy::copy(local.buf, there, size);
  at_end.call();
  return true;
}

}  // namespace

}  // namespace ccs

using namespace ccs;

int CCS_put(CCS_node_t node, void* src_buf, size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf,
            size_t dest_count, CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg) {
  constexpr const char* me = "CCS_put";
  return or_code(me, [&] {
    if (LCI_LIKELY(copy_at_once(me, true, node, {src_buf, src_count, src_datadesc},
                                {dest_buf, dest_count, dest_datadesc}, callback, callback_arg)))
      return +CCS_SUCCESS;
    return move(me, true, node, layout(me, source_side, src_buf, src_count, src_datadesc),
                layout(me, dest_side, dest_buf, dest_count, dest_datadesc), callback, callback_arg);
  });
}

int CCS_get(CCS_node_t node, void* src_buf, size_t src_count, CCS_datadesc_t src_datadesc, void* dest_buf,
            size_t dest_count, CCS_datadesc_t dest_datadesc, CCS_callback_t callback, void* callback_arg) {
  constexpr const char* me = "CCS_get";
  return or_code(me, [&] {
    if (LCI_LIKELY(copy_at_once(me, false, node, {dest_buf, dest_count, dest_datadesc},
                                {src_buf, src_count, src_datadesc}, callback, callback_arg)))
      return +CCS_SUCCESS;
    return move(me, false, node, layout(me, dest_side, dest_buf, dest_count, dest_datadesc),
                layout(me, source_side, src_buf, src_count, src_datadesc), callback, callback_arg);
  });
}

namespace {

int fence(const char* function, CCS_node_t first, CCS_node_t last) {
  return or_code(function, [&] {
    process* const p = current(function);
    if (p == nullptr || !is_node(*p, function, first)) return +CCS_FAILURE;
    must_be_able_to_wait(function);
    p->wait_until([&] {
      for (CCS_node_t node = first; node < last; ++node)
        if (p->peers[node].outstanding.load(std::memory_order_acquire) > 0) return false;
      return true;
    });
    return +CCS_SUCCESS;
  });
}

}  // namespace

int CCS_fence(CCS_node_t node) { return fence("CCS_fence", node, node + 1); }

int CCS_allfence() {
  process* const p = current("CCS_allfence");
  return p == nullptr ? +CCS_FAILURE : fence("CCS_allfence", 0, static_cast<CCS_node_t>(p->size));
}
