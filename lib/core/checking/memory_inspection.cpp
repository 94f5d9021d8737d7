#include "lib/core/checking/memory_inspection.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/mapped.hpp"
#include "lib/base/range.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/memory/layout.hpp"
#include "lib/core/memory/memory_region.hpp"
#include "lib/core/memory/packet_pool.hpp"
#include "lib/core/post/post_layout.hpp"
#include "lib/core/transfer/atomics.hpp"

namespace lci::core {

namespace {

/// Largest number of pieces of a layout that is checked, which takes some milliseconds.
constexpr size_t most_pieces = size_t{1} << 16;

/// The memory arguments of any kind of post.
struct named_memory {
  const char* operation;
  const char* buffer_name;
  bool writes_here = false, writes_there = false;
  const device* d = nullptr;
  int rank = 0;
  const void* buffer = nullptr;
  size_t size = 0;
  const layout_t* layout = nullptr;
  const layout_t* remote_layout = nullptr;
  rmr_t rmr{};
  uint64_t disp = 0;
  mr_t mr{};
};

/// The device that the post will use; null if there is none, and then the post itself throws.
template <class Args>
const device* device_of(const Args& a) {
  if (!a.device.is_empty()) return a.device.p_impl;
  const runtime* rt = a.runtime.is_empty() ? g_default_runtime.load(std::memory_order_acquire) : a.runtime.p_impl;
  return rt == nullptr ? nullptr : rt->default_device.p_impl;
}

bool has_too_many_pieces(const layout_t& l) {
  if (l.counts() == nullptr) return l.n() > most_pieces;
  size_t blocks = 1;
  for (size_t i = 1; i <= l.n(); ++i)
    if (__builtin_mul_overflow(blocks, l.counts()[i], &blocks)) return true;
  return blocks > most_pieces;
}

/// The runs of bytes of a buffer; empty if there are too many to check.
std::vector<range> pieces_of(uintptr_t base, const layout_t* layout, size_t size) {
  if (!has_layout(layout)) return {{base, size}};
  if (has_too_many_pieces(*layout)) return {};
  std::vector<range> all;
  for (layout_cursor c(*layout, size); c.run() > 0; c.advance(c.run()))
    all.push_back({(c.rmr() != nullptr ? c.rmr()->base : base) + c.offset(), c.run()});
  return all;
}

/// Sorts the pieces, and throws if any overlap. For pieces that are written.
void require_apart(const named_memory& m, const char* layout, std::vector<range>& pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const range& a, const range& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < pieces.size(); ++i)
    if (pieces[i - 1].overlaps(pieces[i]))
      throw_invalid(m.operation, layout, "of pieces that overlap", "of disjoint pieces, since they are written");
}

/// Throws if the memory is a packet that nobody has. `remedy`: what the program may have done before.
void require_not_free(const char* operation, const char* argument, runtime& rt, const void* memory,
                      const char* remedy) {
  const packet_pool* const pool = rt.pool_of(memory);
  if (pool != nullptr && pool->is_free(packet::of(const_cast<void*>(memory))))
    throw_invalid(operation, argument, "a packet that is free", "one that the program has", remedy);
}

void inspect(const named_memory& m) {
  if (m.d == nullptr || m.size == 0 || !is_possible(m.size)) return;
  if (!has_layout(m.layout))
    require_not_free(m.operation, m.buffer_name, m.d->rt, m.buffer,
                     "put_upacket() returns it, and a message that was posted with it takes it over");
  if (is_registered(m.mr) && m.mr.p_impl->device_serial != m.d->serial) reject_registration(*m.d, *m.mr.p_impl);
  check_local_layout(m.operation, m.layout, m.size, m.buffer);
  const size_t extent = check_layout(m.operation, "remote_layout", m.remote_layout, m.size);
  std::vector<range> here = pieces_of(reinterpret_cast<uintptr_t>(m.buffer), m.layout, m.size);
  if (has_layout(m.layout))
    for (const range& r : here)
      if (!is_mapped(reinterpret_cast<const void*>(r.begin), r.size))
        throw_invalid(m.operation, "layout", "of memory that is not mapped", "of this process's memory");
  if (m.writes_here) require_apart(m, "layout", here);
  const bool segments = m.remote_layout != nullptr && m.remote_layout->remote_segments() != nullptr;
  // The post itself throws for an invalid remote range.
  if (!segments && (!m.d->takes(m.rmr) || m.disp > m.rmr.size() || extent > m.rmr.size() - m.disp)) return;
  std::vector<range> there = pieces_of(m.rmr.base + m.disp, m.remote_layout, m.size);
  if (m.writes_there) require_apart(m, "remote_layout", there);
  if (m.rank != m.d->rt.rank()) return;
  // Both buffers are in this process.
  std::vector<range>& written = m.writes_there ? there : here;
  const std::vector<range>& read = m.writes_there ? here : there;
  for (const range& r : read) {
    const auto behind = std::partition_point(written.begin(), written.end(),
                                             [&](const range& w) { return w.begin + w.size <= r.begin; });
    if (behind != written.end() && behind->overlaps(r))
      throw_invalid(m.operation, m.buffer_name, "overlapping the remote memory, which is this rank's own",
                    "memory that does not overlap it");
  }
}

template <class Args>
named_memory of_message(const char* operation, const Args& a) {
  named_memory m{operation, "local_buffer"};
  m.d = device_of(a);
  m.rank = a.rank;
  m.buffer = a.local_buffer;
  m.size = a.size;
  m.layout = a.layout;
  m.mr = a.mr;
  return m;
}

template <class Args>
named_memory of_access(const char* operation, const Args& a) {
  named_memory m = of_message(operation, a);
  m.remote_layout = a.remote_layout;
  m.rmr = a.rmr;
  m.disp = a.remote_disp;
  return m;
}

template <class Args>
named_memory of_raw_access(const char* operation, const Args& a) {
  named_memory m{operation, "buffer"};
  m.d = device_of(a);
  m.rank = a.rank;
  m.buffer = a.buffer;
  m.size = a.size;
  m.rmr = a.rmr;
  m.disp = a.offset;
  m.mr = a.mr;
  return m;
}

void inspect_written_here(named_memory m) {
  m.writes_here = true;
  inspect(m);
}
void inspect_written_there(named_memory m) {
  m.writes_there = true;
  inspect(m);
}

}  // namespace

void inspect_memory(const post_comm_args& a) {
  named_memory m = of_access("post_comm", a);
  m.writes_here = a.direction == direction_t::IN;
  m.writes_there = !m.writes_here && (!a.rmr.is_empty() || a.remote_layout != nullptr);
  inspect(m);
}
void inspect_memory(const post_am_args& a) { inspect(of_message("post_am", a)); }
void inspect_memory(const post_send_args& a) { inspect(of_message("post_send", a)); }
void inspect_memory(const post_recv_args& a) { inspect_written_here(of_message("post_recv", a)); }
void inspect_memory(const post_put_args& a) { inspect_written_there(of_access("post_put", a)); }
void inspect_memory(const post_get_args& a) { inspect_written_here(of_access("post_get", a)); }
void inspect_memory(const net_post_put_args& a) { inspect_written_there(of_raw_access("net_post_put", a)); }
void inspect_memory(const net_post_putImm_args& a) { inspect_written_there(of_raw_access("net_post_putImm", a)); }
void inspect_memory(const net_post_get_args& a) { inspect_written_here(of_raw_access("net_post_get", a)); }

void inspect_memory(const put_upacket_args& a) {
  runtime* const rt = a.runtime.is_empty() ? g_default_runtime.load(std::memory_order_acquire) : a.runtime.p_impl;
  if (rt == nullptr || a.packet == nullptr) return;
  require_not_free("put_upacket", "packet", *rt, a.packet,
                   "it was returned before, or a message that was posted with it has taken it over");
}

void inspect_memory(const post_atomic_args& a) {
  const device* d = device_of(a);
  if (d == nullptr || a.result == nullptr || a.rank != d->rt.rank() || !is_supported(a.op, a.type) || a.rmr.is_empty())
    return;
  const range value{a.rmr.base + a.remote_disp, size_of(a.type)};
  if (value.overlaps({reinterpret_cast<uintptr_t>(a.result), value.size}))
    throw_invalid("post_atomic", "result", "overlapping the remote value, which is this rank's own",
                  "memory that does not overlap it");
}

}  // namespace lci::core
