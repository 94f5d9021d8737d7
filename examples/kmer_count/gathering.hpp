// The end of a job: gathers the results of all ranks on rank 0.
#pragma once

#include <atomic>
#include <mutex>

#include "control.hpp"
#include "exchange.hpp"
#include "histogram.hpp"
#include "worker.hpp"

namespace kmer_count {

/// What a rank reports to rank 0 in addition to its histogram; on rank 0, the sums of all ranks. Trivially copyable.
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

/// Used once per job, by one thread of each rank, after its other threads have ended. on_control() is called within
/// progress; on rank 0 also before collect().
class gathering {
 public:
  explicit gathering(exchange& net) : net_(net) {}

  void on_control(const control& message, const char* body, size_t size);

  /// Sends this rank's results to rank 0; rank 0 waits for those of all others and adds them.
  void collect(worker& w, histogram& counts, rank_summary& summary);

  /// Waits until no rank needs messages or progress of another one.
  void leave(worker& w);

 private:
  void send(worker& w, const histogram& counts, const rank_summary& summary);
  template <class Condition>
  void wait_for(worker& w, Condition condition);

  exchange& net_;
  std::mutex lock_;  // protects the two members below, on rank 0
  histogram counts_;
  rank_summary summary_;
  std::atomic<uint64_t> reports_{0};         // of other ranks
  std::atomic<uint64_t> expected_parts_{0};  // of histograms, according to the reports
  std::atomic<uint64_t> parts_{0};
  std::atomic<uint64_t> finished_{0};
};

}  // namespace kmer_count
