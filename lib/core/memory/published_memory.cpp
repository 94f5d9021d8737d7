#include "lib/core/memory/published_memory.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace lci::core {

published_memory::prepared::prepared(size_t n_ranks) {
  publication_map one;
  std::vector<std::unique_ptr<entry>>& entries = one[0].entries;
  entries.resize(n_ranks);
  for (size_t r = 0; r < n_ranks; ++r) {
    entries[r] = std::make_unique<entry>();
    entries[r]->rank = r;
  }
  found_ = one.extract(one.begin());
}

void published_memory::make_room(size_t n_ranks) {
  std::lock_guard guard(mutex_);
  by_rank_.resize(std::max(by_rank_.size(), n_ranks));
}

uint64_t published_memory::add(prepared made, const memory_region* own) noexcept {
  publication& p = made.found_.mapped();
  p.own = own;
  std::erase_if(p.entries, [](const auto& e) { return e->rmr.is_empty() || e->rmr.size() == 0; });
  for (const auto& e : p.entries) {
    e->begin = e->rmr.base;
    e->end = e->rmr.base + e->rmr.size();
  }
  std::lock_guard guard(mutex_);
  for (const auto& e : p.entries) by_rank_[e->rank].insert(*e);
  made.found_.key() = ++last_;
  publications_.insert(std::move(made.found_));
  return last_;
}

void published_memory::remove(uint64_t number) {
  std::lock_guard guard(mutex_);
  const auto at = publications_.find(number);
  if (at == publications_.end()) return;
  for (const auto& e : at->second.entries) by_rank_[e->rank].remove(*e);
  publications_.erase(at);
}

rmr_t published_memory::find(int rank, uint64_t address, uint64_t size) const {
  uint64_t end;
  if (__builtin_add_overflow(address, std::max<uint64_t>(size, 1), &end)) return RMR_NULL;
  std::shared_lock guard(mutex_);
  if (static_cast<size_t>(rank) >= by_rank_.size()) return RMR_NULL;
  const interval* found = by_rank_[static_cast<size_t>(rank)].covering(address, end);
  if (found == nullptr) return RMR_NULL;
  rmr_t rmr = static_cast<const entry*>(found)->rmr;
  rmr.size_and_device -= address - rmr.base;  // reduces the size, which is in the lower bits
  rmr.base = address;
  return rmr;
}

bool published_memory::is_published(const memory_region* own) const {
  std::shared_lock guard(mutex_);
  return std::any_of(publications_.begin(), publications_.end(), [own](const auto& p) { return p.second.own == own; });
}

bool published_memory::empty() const {
  std::shared_lock guard(mutex_);
  return publications_.empty();
}

}  // namespace lci::core
