// A rank's share of all k-mers: the filter and the table of counts.
#pragma once

#include <memory>
#include <string>

#include "histogram.hpp"
#include "kmer.hpp"
#include "kmer_table.hpp"
#include "repeat_filter.hpp"

namespace kmer_count {

/// The k-mers that a rank owns. Thread-safe, except where stated.
class kmer_store {
 public:
  /// With `use_filter`, two traversals are needed: filter() all k-mers, prepare_counting(), count() all k-mers again.
  /// Without it, one: count() all k-mers.
  kmer_store(bool use_filter, uint64_t expected_kmers, double filter_bits, size_t threads);

  bool has_filter() const { return filter_ != nullptr; }
  size_t filter_bytes() const { return filter_ ? filter_->bytes() : 0; }

  /// First traversal: filters `n` k-mers in the form of a message. Returns how many of them were found to be repeated
  /// for the first time.
  uint64_t filter(const char* kmers, size_t n);

  /// Reserves room for `repeated` k-mers. Called between the traversals, while no other thread uses the store.
  void prepare_counting(uint64_t repeated);

  kmer_table& table() { return table_; }

  /// Second traversal: counts those k-mers that the filter considers repeated. `to`: the calling thread's writer.
  void count(kmer_table::writer& to, const char* kmers, size_t n);

  /// The counts, after all k-mers are counted and all writers are flushed. With a filter, a k-mer that occurs once is
  /// included only if it is a false positive. Not while others use the store.
  histogram counts();

  /// Writes lines "k-mer count" for all k-mers counted at least `at_least` times and returns their number. Throws
  /// std::runtime_error if the file can't be written. Not while others use the store.
  uint64_t dump(const std::string& path, int k, uint64_t at_least);

  size_t table_size() const { return table_.size(); }
  size_t table_bytes() const { return table_.bytes(); }

 private:
  std::unique_ptr<repeat_filter> filter_;
  kmer_table table_;
};

}  // namespace kmer_count
