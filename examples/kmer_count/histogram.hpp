// How many k-mers occur how often.
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

  /// Occurrences of all k-mers in it.
  uint64_t occurrences() const {
    uint64_t n = 0;
    for (const auto& [count, number] : bins_) n += count * number;
    return n;
  }

  /// Different k-mers in it.
  uint64_t distinct() const {
    uint64_t n = 0;
    for (const auto& [count, number] : bins_) n += number;
    return n;
  }

  /// Sets the number of k-mers that occur once from the occurrences of all: what those with more
  /// occurrences leave. Exact, as the table holds all k-mers with two or more. False if the numbers
  /// contradict each other, which only a lost or doubled k-mer can cause.
  bool complete_singles(uint64_t total_occurrences) {
    const uint64_t found = at(1);
    bins_.erase(1);
    const uint64_t repeated = occurrences();
    if (total_occurrences < repeated || total_occurrences - repeated < found) return false;
    if (total_occurrences > repeated) bins_[1] = total_occurrences - repeated;
    return true;
  }

  /// Lines "count number" in ascending order, as `jellyfish histo` prints them: what occurs more
  /// than `high` times is added up in one last line (0: no such limit).
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
