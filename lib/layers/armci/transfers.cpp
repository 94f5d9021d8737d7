// Transfers with checked arguments: by this process where it reaches the memory, else by messages.
#include <optional>

#include "lib/base/cpu.hpp"
#include "lib/layers/armci/api.hpp"

namespace armci_layer {

namespace {

/// Number of bytes that an accumulate prefetches ahead of the additions.
constexpr size_t most_ahead = 2048;

/// Where the blocks of `l`, of proc's memory, are here.
std::byte* here(context& c, int proc, const layout& l) {
  const extent e = extent_of(l);
  const std::byte* const first = c.mem.near_or_reach(proc, reinterpret_cast<void*>(e.begin), e.end - e.begin);
  return const_cast<std::byte*>(first) + (reinterpret_cast<uint64_t>(l.base) - e.begin);
}

}  // namespace

void put(context& c, const strided_arguments& a, addition what, put_return when) {
  const pair p = strided_pair(a.dst, a.dst_strides, a.src, a.src_strides, a.counts, a.levels);
  if (!c.mem.is_near(a.proc)) return c.far.put(p.from, p.to, a.proc, what, when);
  std::byte* const to = here(c, a.proc, p.to);
  if (!what.adds) return copy_blocks(p, to);
  const ptrdiff_t shift = p.to.base - to;  // to addresses at the owner
  const size_t bytes = p.to.count[0];
  // A locked instruction waits for all earlier stores, each of which may wait for a line of another processor's cache.
  // So lines of the next rows are prefetched. Lines behind the last row are not.
  const ptrdiff_t ahead =
      p.to.levels == 0 || bytes > most_ahead ? 0 : p.to.stride[0] * static_cast<ptrdiff_t>(most_ahead / bytes);
  accumulation sum(c.mem.locks_of(a.proc), what.type, what.scale);
  for_each_block(p, p.to.levels, to, p.from.base, [&](std::byte* t, const std::byte* f) {
    if (ahead != 0)
      for (size_t i = 0; i < bytes; i += lci::cache_line) lci::prefetch_for_write(t + ahead + i);
    sum.add(t, reinterpret_cast<uint64_t>(t + shift), f, bytes);
  });
}

void get(context& c, const strided_arguments& a, request_state* state) {
  pair p = strided_pair(a.dst, a.dst_strides, a.src, a.src_strides, a.counts, a.levels);
  if (!c.mem.is_near(a.proc)) return c.far.get(p.from, p.to, a.proc, state);
  p.from.base = here(c, a.proc, p.from);
  copy_blocks(p, p.to.base);
}

void put(context& c, const armci_giov_t* list, int n, int proc, addition what, put_return when) {
  for (int k = 0; k < n; ++k) {
    const armci_giov_t& v = list[k];
    const auto bytes = static_cast<size_t>(v.bytes), count = static_cast<size_t>(v.ptr_array_len);
    if (!c.mem.is_near(proc)) {
      c.far.put_list(v.src_ptr_array, v.dst_ptr_array, count, bytes, proc, what, when);
      continue;
    }
    std::optional<accumulation> sum;
    if (what.adds) sum.emplace(c.mem.locks_of(proc), what.type, what.scale);
    for (size_t i = 0; i < count; ++i) {
      std::byte* const to = c.mem.near_or_reach(proc, v.dst_ptr_array[i], bytes);
      if (!what.adds)
        std::memmove(to, v.src_ptr_array[i], bytes);
      else
        sum->add(to, reinterpret_cast<uint64_t>(v.dst_ptr_array[i]), static_cast<std::byte*>(v.src_ptr_array[i]),
                 bytes);
    }
  }
}

void get(context& c, const armci_giov_t* list, int n, int proc, request_state* state) {
  for (int k = 0; k < n; ++k) {
    const armci_giov_t& v = list[k];
    const auto bytes = static_cast<size_t>(v.bytes), count = static_cast<size_t>(v.ptr_array_len);
    if (!c.mem.is_near(proc)) {
      c.far.get_list(v.src_ptr_array, v.dst_ptr_array, count, bytes, proc, state);
      continue;
    }
    for (size_t i = 0; i < count; ++i)
      std::memmove(v.dst_ptr_array[i], c.mem.near_or_reach(proc, v.src_ptr_array[i], bytes), bytes);
  }
}

}  // namespace armci_layer
