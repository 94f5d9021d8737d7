// A rank's share of all k-mers: the filter and the table of counts.
#pragma once

#include <memory>
#include <string>

#include "histogram.hpp"
#include "kmer.hpp"
#include "kmer_table.hpp"
#include "repeat_filter.hpp"

namespace kmer_count {

/// The k-mers that a rank owns. Thread-safe, but for what says otherwise.
class kmer_store {
 public:
  /// With `use_filter` two traversals are needed: filter() all k-mers, prepare_counting(), count()
  /// all k-mers again. Without it one: count() all.
  kmer_store(bool use_filter, uint64_t expected_kmers, double filter_bits, size_t threads);

  bool has_filter() const { return filter_ != nullptr; }
  size_t filter_bytes() const { return filter_ ? filter_->bytes() : 0; }

  /// First traversal, for `n` k-mers as they lie in a message. Returns how many of them were found
  /// to be repeated for the first time.
  uint64_t filter(const char* kmers, size_t n);

  /// Between the traversals, by one thread while no other uses the store: room for `repeated`.
  void prepare_counting(uint64_t repeated);

  kmer_table& table() { return table_; }

  /// Second traversal: counts those k-mers that are repeated as far as the filter knows. `to`: the caller's way into
  /// the table.
  void count(kmer_table::writer& to, const char* kmers, size_t n);

  /// The counts, when all is counted and all writers are flushed. A k-mer which occurs once is in it only by a mistake of the
  /// filter, or if there is none. Not while others use the store.
  histogram counts();

  /// Writes "k-mer count" lines of all k-mers counted (`at_least` times or more) and returns how
  /// many. Throws std::runtime_error if the file can't be written. Not while others use the store.
  uint64_t dump(const std::string& path, int k, uint64_t at_least);

  size_t table_size() const { return table_.size(); }
  size_t table_bytes() const { return table_.bytes(); }

 private:
  std::unique_ptr<repeat_filter> filter_;
  kmer_table table_;
};

}  // namespace kmer_count
