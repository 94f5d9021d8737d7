// Latencies of operations by kind and size class, of devices with counters.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "lci/counters.hpp"
#include "lib/core/observe/trace_event.hpp"

namespace lci::core {

/// Histograms of one device. Owned by the device's observer, and by receives that exist longer than the device.
/// Thread-safe; accesses are relaxed, since no other data is read because of a count.
class latencies {
 public:
  static constexpr int n_kinds = 6;
  static constexpr int n_classes = 8;
  static_assert(static_cast<int>(post_kind::atomic) + 1 == n_kinds);

  /// The upper bound of a class is eight times that of the class before; the last one has none.
  static constexpr size_t largest_of_first = 64;
  static constexpr int class_of(uint64_t size) {
    if (size <= largest_of_first) return 0;
    const int c = (std::bit_width((size - 1) / largest_of_first) + 2) / 3;
    return c < n_classes ? c : n_classes - 1;
  }
  static constexpr size_t largest_of(int size_class) {
    return size_class + 1 == n_classes ? ~size_t{0} : largest_of_first << (3 * size_class);
  }

  void add(post_kind kind, uint64_t size, uint64_t ns) {
    row& r = rows_[static_cast<size_t>(kind)][static_cast<size_t>(class_of(size))];
    const auto bucket = static_cast<size_t>(ns < 2 ? 0 : std::bit_width(ns) - 1);
    r.counts[bucket < histogram_t::n_buckets ? bucket : histogram_t::n_buckets - 1].fetch_add(
        1, std::memory_order_relaxed);
    r.ns.fetch_add(ns, std::memory_order_relaxed);
  }
  histogram_t read(post_kind kind, int size_class) const;

 private:
  struct row {
    std::array<std::atomic<uint64_t>, histogram_t::n_buckets> counts{};
    std::atomic<uint64_t> ns{0};
  };
  std::array<std::array<row, n_classes>, n_kinds> rows_;
};

}  // namespace lci::core
