#include "network/tcp/regions.hpp"

#include <mutex>

#include "lib/base/call_watch.hpp"
#include "lib/base/mapped.hpp"
#include "network/common/memory_keys.hpp"

namespace lci::network::sockets {

uint64_t region_table::add(void* base, size_t size) {
  const uint64_t key = rkey_of(next_memory_key());
  add_as(key, base, size);
  return key;
}

void region_table::add_as(uint64_t key, void* base, size_t size) {
  std::lock_guard guard(lock_);
  ranges_.emplace(key, range{reinterpret_cast<uint64_t>(base), size});
}

void region_table::remove(uint64_t key) {
  std::lock_guard guard(lock_);
  ranges_.erase(key);
}

void region_table::make_read_only(uint64_t key) {
  std::lock_guard guard(lock_);
  if (const auto at = ranges_.find(key); at != ranges_.end()) at->second.read_only = true;
}

std::byte* region_table::find(uint64_t key, uint64_t address, uint64_t size, bool writes) {
  {
    std::lock_guard guard(lock_);
    const auto at = ranges_.find(key);
    if (at == ranges_.end()) return nullptr;
    const range& r = at->second;
    if (writes && r.read_only) return nullptr;
    if (address < r.base || address - r.base > r.size || size > r.size - (address - r.base)) return nullptr;
  }
  auto* const found = reinterpret_cast<std::byte*>(address);
  if (watched_for(calls_are_checked) && !is_mapped(found, size)) return nullptr;
  return found;
}

}  // namespace lci::network::sockets
