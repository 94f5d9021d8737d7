#include "lib/core/observe/latencies.hpp"

namespace lci::core {

histogram_t latencies::read(post_kind kind, int size_class) const {
  histogram_t h;
  const row& r = rows_[static_cast<size_t>(kind)][static_cast<size_t>(size_class)];
  for (size_t i = 0; i < histogram_t::n_buckets; ++i)
    h.operations += h.counts[i] = r.counts[i].load(std::memory_order_relaxed);
  h.total_ns = r.ns.load(std::memory_order_relaxed);
  h.smallest = size_class == 0 ? 0 : largest_of(size_class - 1) + 1;
  h.largest = largest_of(size_class);
  return h;
}

}  // namespace lci::core
