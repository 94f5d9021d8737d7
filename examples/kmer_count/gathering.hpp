// The end of a job: results of all ranks come together on rank 0.
#pragma once

#include <atomic>
#include <mutex>

#include "control.hpp"
#include "exchange.hpp"
#include "histogram.hpp"
#include "worker.hpp"

namespace kmer_count {

/// What a rank reports to rank 0 besides its histogram; sums of all ranks there. Plain bytes.
struct rank_summary {
  tally counters;
  uint64_t filter_bytes = 0;
  uint64_t table_bytes = 0;
  uint64_t table_entries = 0;

  rank_summary& operator+=(const rank_summary& s) {
    counters += s.counters;
    filter_bytes += s.filter_bytes;
    table_bytes += s.table_bytes;
    table_entries += s.table_entries;
    return *this;
  }
};

/// Once a job, by one thread of each rank when its other threads have ended; on_control() is called
/// within progress, on rank 0 also before collect().
class gathering {
 public:
  explicit gathering(exchange& net) : net_(net) {}

  void on_control(const control& message, const char* body, size_t size);

  /// Sends what this rank has to rank 0; there, waits for all others and adds theirs.
  void collect(worker& w, histogram& counts, rank_summary& summary);

  /// Waits until no rank needs another any more: nobody leaves while somebody may still need its
  /// progress.
  void leave(worker& w);

 private:
  void send(worker& w, const histogram& counts, const rank_summary& summary);
  template <class Condition>
  void wait_for(worker& w, Condition condition);

  exchange& net_;
  std::mutex lock_;  // of the two below, on rank 0
  histogram counts_;
  rank_summary summary_;
  std::atomic<uint64_t> reports_{0};         // of other ranks
  std::atomic<uint64_t> expected_parts_{0};  // of histograms, as their reports say
  std::atomic<uint64_t> parts_{0};
  std::atomic<uint64_t> goodbyes_{0};
};

}  // namespace kmer_count
