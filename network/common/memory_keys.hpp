// Keys of registered memory.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci::network {

/// A key that no other device of this process has, as the core looks up ranges by key alone.
inline uint64_t next_memory_key() {
  static std::atomic<uint64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// The keys of networks may be 0, but an rkey is not.
inline uint64_t rkey_of(uint64_t key) { return key + 1; }
inline uint64_t key_of(uint64_t rkey) { return rkey - 1; }

/// Registers memory by `open(access)`, which returns null on failure: for all kinds of access, or only as a source if
/// `is_read_only()` finds that this was the reason.
template <class Access, class Open, class Reason>
auto open_memory(Access all, Access as_source, Open open, Reason is_read_only) {
  auto* const memory = open(all);
  return memory != nullptr || !is_read_only() ? memory : open(as_source);
}

}  // namespace lci::network
