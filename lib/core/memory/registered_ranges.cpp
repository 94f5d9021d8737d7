#include "lib/core/memory/registered_ranges.hpp"

#include <algorithm>

namespace lci::core {

void registered_ranges::add(uint64_t rkey, uint64_t base, uint64_t size, bool read_only) {
  std::lock_guard guard(mutex_);
  const auto [at, is_new] = entries_.try_emplace(rkey, entry{base, size, 1, read_only});
  if (is_new) return;
  entry& e = at->second;
  const uint64_t end = std::max(e.base + e.size, base + size);
  e.base = std::min(e.base, base);
  e.size = end - e.base;
  e.users += 1;
  e.read_only = e.read_only && read_only;
}

void registered_ranges::remove(uint64_t rkey) {
  std::lock_guard guard(mutex_);
  const auto at = entries_.find(rkey);
  if (--at->second.users == 0) entries_.erase(at);
}

void* registered_ranges::find(uint64_t rkey, uint64_t addr, uint64_t size, bool writes) {
  std::lock_guard guard(mutex_);
  const auto at = entries_.find(rkey);
  if (at == entries_.end()) return nullptr;
  const entry& e = at->second;
  if (writes && e.read_only) return nullptr;
  if (addr < e.base || addr - e.base > e.size || size > e.size - (addr - e.base)) return nullptr;
  return reinterpret_cast<void*>(addr);
}

}  // namespace lci::core
