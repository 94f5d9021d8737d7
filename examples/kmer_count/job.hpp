// The counting: traversals of the input by all threads, then gathering on rank 0.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "control.hpp"
#include "exchange.hpp"
#include "gathering.hpp"
#include "input.hpp"
#include "kmer_store.hpp"
#include "traversal.hpp"
#include "worker.hpp"

namespace kmer_count {

/// The result on rank 0.
struct job_result {
  histogram counts;
  rank_summary total;
  double traversal_seconds[max_traversals] = {};
  size_t ntraversals = 0;
};

/// Counts one input once. Thread-bound, except for the receiver's functions, which LCI's progress calls.
class job : private receiver {
 public:
  job(const program_options& options, exchange& net, const input_set& input, const input_options& input_settings);

  /// Runs the job. The result is complete on rank 0 only.
  job_result run();

 private:
  void on_batch(worker& w, size_t traversal, const char* kmers, size_t size) override;
  void on_control(const char* bytes, size_t size) override;

  void work(worker& w);
  void read_input(worker& w, size_t traversal);
  /// Handles messages of other ranks and batches of other threads. Returns true if there were any.
  bool look_around(worker& w);
  void deliver(worker& w, size_t traversal, int rank, batch* b);
  void process(worker& w, size_t traversal, const char* kmers, size_t n);
  void end_traversal(worker& w, size_t traversal);
  void tell_others(worker& w, control_kind kind, size_t traversal);
  void complete(histogram& counts, const tally& sum) const;
  void dump();

  const program_options& options_;
  exchange& net_;
  gathering gathering_;
  kmer_store store_;
  std::vector<std::unique_ptr<kmer_table::writer>> writers_;  // one per worker
  const size_t ntraversals_;
  std::vector<std::unique_ptr<input_share>> shares_;  // one per traversal
  std::vector<std::unique_ptr<traversal_end>> traversals_;
  std::atomic<uint64_t> repeated_{0};     // k-mers that the filter found to be repeated
  double ended_at_[max_traversals] = {};  // written by worker 0
};

}  // namespace kmer_count
