// A histogram of how often k-mers occur.
#pragma once

#include <cstdint>
#include <map>
#include <ostream>

namespace kmer_count {

/// Number of k-mers by number of occurrences. Thread-bound.
class histogram {
 public:
  void add(uint64_t count, uint64_t number = 1) { bins_[count] += number; }

  const std::map<uint64_t, uint64_t>& bins() const { return bins_; }
  uint64_t at(uint64_t count) const {
    const auto it = bins_.find(count);
    return it == bins_.end() ? 0 : it->second;
  }

  /// Total occurrences of all its k-mers.
  uint64_t occurrences() const {
    uint64_t n = 0;
    for (const auto& [count, number] : bins_) n += count * number;
    return n;
  }

  /// Number of different k-mers.
  uint64_t distinct() const {
    uint64_t n = 0;
    for (const auto& [count, number] : bins_) n += number;
    return n;
  }

  /// Computes the number of k-mers that occur once: the total occurrences less those of the k-mers that occur more
  /// often. Exact, since the table contains all k-mers that occur twice or more. Returns false if the numbers are
  /// contradictory, which only a lost or duplicated k-mer can cause.
  bool complete_singles(uint64_t total_occurrences) {
    const uint64_t found = at(1);
    bins_.erase(1);
    const uint64_t repeated = occurrences();
    if (total_occurrences < repeated || total_occurrences - repeated < found) return false;
    if (total_occurrences > repeated) bins_[1] = total_occurrences - repeated;
    return true;
  }

  /// Prints lines "count number" in ascending order, as `jellyfish histo` does. Counts above `high` are added up in one
  /// last line (0: no limit).
  void print(std::ostream& out, uint64_t high) const {
    uint64_t above = 0;
    for (const auto& [count, number] : bins_) {
      if (high > 0 && count > high) {
        above += number;
      } else {
        out << count << ' ' << number << '\n';
      }
    }
    if (above > 0) out << high + 1 << ' ' << above << '\n';
  }

 private:
  std::map<uint64_t, uint64_t> bins_;
};

}  // namespace kmer_count
