#include "lib/layers/ccs/keys.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ccs {

remote_key* key_cache::search(uintptr_t address) {
  const auto behind = keys_.upper_bound(address);
  if (behind == keys_.begin()) return nullptr;
  remote_key* k = std::prev(behind)->second.get();
  if (address >= k->end) return nullptr;
  last_ = k;
  return k;
}

bool key_cache::release(remote_key* k, uint64_t& region) {
  std::lock_guard guard(lock_);
  if (--k->users > 0 || !k->ending) return false;
  region = k->region;
  ending_.erase(std::find_if(ending_.begin(), ending_.end(), [=](const auto& e) { return e.get() == k; }));
  return true;
}

void key_cache::add(const remote_key& k) {
  auto made = std::make_unique<remote_key>(k);
  std::lock_guard guard(lock_);
  keys_.emplace(k.begin, std::move(made));  // no effect if another operation has requested and added the same key
}

bool key_cache::end(uint64_t region) {
  std::lock_guard guard(lock_);
  const auto at = std::find_if(keys_.begin(), keys_.end(), [=](const auto& e) { return e.second->region == region; });
  if (at == keys_.end()) return true;
  if (last_ == at->second.get()) last_ = nullptr;
  const bool free = at->second->users == 0;
  if (!free) {
    at->second->ending = true;
    ending_.push_back(std::move(at->second));
  }
  keys_.erase(at);
  return free;
}

}  // namespace ccs
