#include "lib/layers/armci/far_memory.hpp"

#include <mutex>

namespace armci_layer {

void far_memory::learn(int proc, const void* base, size_t size, lci::rmr_t key) {
  const std::unique_lock guard(mutex_);
  owners_[proc].insert_or_assign(reinterpret_cast<uint64_t>(base), known{size, key});
}

void far_memory::forget(int proc, const void* base) {
  const std::unique_lock guard(mutex_);
  owners_[proc].erase(reinterpret_cast<uint64_t>(base));
}

std::optional<far_memory::place> far_memory::find(int proc, uint64_t begin, uint64_t end) const {
  const std::shared_lock guard(mutex_);
  auto after = owners_[proc].upper_bound(begin);
  if (after == owners_[proc].begin()) return std::nullopt;
  --after;
  const uint64_t offset = begin - after->first;
  if (end < begin || end - after->first > after->second.size) return std::nullopt;
  return place{after->second.key, offset};
}

core_layout::core_layout(const layout& l) : contiguous_(l.is_contiguous()) {
  exists_ = !l.is_list() && static_cast<size_t>(l.levels) <= lci::layout_t::max_levels;
  for (int i = 0; i < l.levels && exists_; ++i) {
    exists_ = l.stride[i] >= 0;
    strides_[i] = static_cast<size_t>(l.stride[i]);
  }
  if (exists_ && !contiguous_) layout_ = lci::layout_t::strided(l.count, strides_, static_cast<size_t>(l.levels));
}

}  // namespace armci_layer
