// Message contents that depend on a seed, buffers with guard bytes at both ends, sizes to test.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/conformance/harness.hpp"

namespace conf {

/// The byte at `i` of a message made with `seed`.
inline char pattern_byte(uint64_t seed, size_t i) {
  return static_cast<char>((seed * 131 + i + (i >> 7) * 3 + (i >> 15) * 7) & 0xff);
}
inline void fill(void* to, size_t size, uint64_t seed) {
  for (size_t i = 0; i < size; ++i) static_cast<char*>(to)[i] = pattern_byte(seed, i);
}
/// Returns whether `size` bytes are those at offset `skip` of a message made with `seed`.
inline bool matches(const void* at, size_t size, uint64_t seed, size_t skip = 0) {
  for (size_t i = 0; i < size; ++i)
    if (static_cast<const char*>(at)[i] != pattern_byte(seed, i + skip)) return false;
  return true;
}
inline std::vector<char> message(size_t size, uint64_t seed) {
  std::vector<char> m(size);
  fill(m.data(), size, seed);
  return m;
}

/// Fills `out` with the message made with `tag` and the rank, sends it to the right neighbour and receives `in` from
/// the left one. Both have `size` bytes and signal `sync`, a synchronizer with a threshold of two.
inline void exchange_around(rank_env& env, lci::device_t device, lci::comp_t sync, char* out, char* in, size_t size,
                            lci::tag_t tag) {
  fill(out, size, tag + static_cast<uint64_t>(env.rank));
  env.post(device, [&] {
    return lci::post_recv_x(env.left(), in, size, tag, sync).runtime(env.rt).device(device).allow_done(false)();
  });
  env.post(device, [&] {
    return lci::post_send_x(env.right(), out, size, tag, sync).runtime(env.rt).device(device).allow_done(false)();
  });
  lci::status_t both[2];
  env.until(device, "send and receive", [&] { return lci::sync_test_x(sync, both).runtime(env.rt)(); });
  EXPECT(both[0].is_done() && both[1].is_done());
  EXPECT(matches(in, size, tag + static_cast<uint64_t>(env.left())));
}

/// A buffer with guard bytes before and after it.
class guarded {
 public:
  explicit guarded(size_t size) : all_(size + 2 * guard, '\x5a'), size_(size) {}
  char* data() { return all_.data() + guard; }
  size_t size() const { return size_; }
  void clear() { all_.assign(all_.size(), '\x5a'); }
  /// Returns whether nothing was written outside of the buffer, nor after its first `used` bytes.
  bool intact(size_t used) const {
    for (size_t i = 0; i < guard; ++i)
      if (all_[i] != '\x5a') return false;
    for (size_t i = guard + used; i < all_.size(); ++i)
      if (all_[i] != '\x5a') return false;
    return true;
  }

 private:
  static constexpr size_t guard = 64;
  std::vector<char> all_;
  size_t size_;
};

constexpr size_t small_chunk = 64 << 10;
/// Makes rendezvous transfers of a few hundred KiB consist of several pieces.
inline void with_small_chunks(lci::global_attr_t& attr) { attr.rdv_chunk_size = small_chunk; }

/// Sizes at and around every threshold of the protocols: 0 bytes, one slot, inject, one packet, two and three of them
/// with their headers (which networks that copy at the post take at once), half a ring of shared memory, rendezvous,
/// rendezvous in several pieces (with_small_chunks).
inline std::vector<size_t> interesting_sizes(rank_env& env) {
  const size_t bcopy = lci::get_max_bcopy_size_x().runtime(env.rt)();
  const size_t inject = lci::get_default_net_context_x().runtime(env.rt)().get_attr_max_inject_size();
  std::vector<size_t> sizes{0, 1, 8, 40, 41, 64};
  for (size_t limit : {inject, bcopy})
    for (size_t s : {limit - 1, limit, limit + 1})
      if (s > 64 && s != sizes.back()) sizes.push_back(s);
  constexpr size_t header = 16;
  for (const size_t packets : {2, 3}) {
    const size_t limit = packets * (bcopy + header) - header;
    sizes.insert(sizes.end(), {limit, limit + 1});
  }
  sizes.push_back(5 * bcopy + 5);
  sizes.push_back(small_chunk + 1);
  constexpr size_t half_ring = 128 << 10;
  sizes.insert(sizes.end(), {half_ring - header, half_ring - header + 1, half_ring, half_ring + 1});
  sizes.push_back(3 * small_chunk + 1234);
  return sizes;
}

}  // namespace conf
