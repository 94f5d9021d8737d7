// The counting itself: traversals of the input by all threads, then the gathering on rank 0.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "exchange.hpp"
#include "input.hpp"
#include "kmer_store.hpp"
#include "traversal.hpp"
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

/// What rank 0 knows in the end.
struct job_result {
  histogram counts;
  rank_summary total;
  double traversal_seconds[max_traversals] = {};
  size_t ntraversals = 0;
};

/// One count of one input. Thread-bound but for what LCI calls.
class job : private receiver {
 public:
  job(const program_options& options, exchange& net, const input_set& input,
      const input_options& input_settings);

  /// Counts. The result is complete on rank 0 only.
  job_result run();

 private:
  void on_batch(worker& w, size_t traversal, const char* kmers, size_t size) override;
  void on_control(int from, const char* bytes, size_t size) override;

  void work(worker& w);
  void read_input(worker& w, size_t traversal);
  void deliver(worker& w, size_t traversal, int rank, batch* b);
  void process(worker& w, size_t traversal, const char* kmers, size_t n);
  void announce_totals(worker& w, size_t traversal);
  void end_traversal(worker& w, size_t traversal);
  void tell_others(worker& w, uint32_t kind, size_t traversal, uint64_t value);
  void gather(worker& w, job_result& result);
  void send_to_root(worker& w, const histogram& own, const rank_summary& summary);
  void complete(histogram& counts, const tally& sum) const;
  void dump();

  const program_options& options_;
  exchange& net_;
  kmer_store store_;
  const size_t ntraversals_;
  std::vector<std::unique_ptr<input_share>> shares_;  // one a traversal
  std::vector<std::unique_ptr<traversal_end>> traversals_;
  std::atomic<uint64_t> repeated_{0};     // k-mers which the filter found to be repeated
  double ended_at_[max_traversals] = {};  // by worker 0

  std::mutex gathered_lock_;  // of the two below, on rank 0
  histogram gathered_;
  rank_summary summaries_;
  std::atomic<uint64_t> reports_{0};         // of other ranks
  std::atomic<uint64_t> expected_parts_{0};  // of histograms, as their reports say
  std::atomic<uint64_t> parts_{0};
  std::atomic<uint64_t> goodbyes_{0};  // ranks which need nothing any more
};

}  // namespace kmer_count
