// Files as awkward as the formats allow, and the slow and simple way to count their k-mers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fastx_cases {

struct test_case {
  std::string name;
  std::string text;
  std::vector<std::string> sequences;  // of its records, line ends taken out
};

/// FASTA and FASTQ texts; the random ones depend on `seed` only.
std::vector<test_case> all(uint64_t seed);

/// Canonical k-mers as text, with their number of occurrences.
using counts = std::map<std::string, uint64_t>;
counts count_kmers(const std::vector<std::string>& sequences, size_t k);

/// A folder for files, removed with them at the end.
class scratch_folder {
 public:
  scratch_folder();
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  /// Writes a file, compressed in `members` pieces if that is not 0, and returns its path.
  std::string write(const std::string& name, const std::string& text, int members = 0) const;

 private:
  std::string path_;
};

}  // namespace fastx_cases
