#include "tests/app/fastx_cases.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

namespace fastx_cases {
namespace {

using random = std::mt19937_64;

std::string random_sequence(random& r, size_t size) {
  // Few different k-mers, so that many occur more than once; and what must break them.
  static const std::string unit = "ACGTTGCAACCGGTTAGCATCGATTTGACCA";
  std::string s;
  while (s.size() < size) {
    const size_t at = r() % unit.size();
    s += unit.substr(at, 1 + r() % 20);
    if (r() % 40 == 0) s += "NnRyxACGT-N*"[r() % 12];
  }
  s.resize(size);
  if (r() % 3 == 0) {
    for (auto& c : s) c = static_cast<char>(r() % 2 ? std::tolower(c) : c);
  }
  return s;
}

std::string wrapped(const std::string& s, size_t width, const char* line_end) {
  std::string text;
  for (size_t at = 0; at < s.size(); at += width) text += s.substr(at, width) + line_end;
  return text;
}

// Qualities made of what records begin with.
std::string nasty_quality(random& r, size_t size) {
  std::string q;
  for (size_t i = 0; i < size; ++i) q += "@+>I!~"[r() % 6];
  if (size > 0 && r() % 2) q[0] = '@';
  return q;
}

test_case fasta(random& r, const std::string& name, size_t records, size_t max_size, size_t width, const char* line_end,
                bool last_line_end = true) {
  test_case c{name, "", {}};
  for (size_t i = 0; i < records; ++i) {
    const std::string s = random_sequence(r, r() % (max_size + 1));
    c.text += ">read" + std::to_string(i) + " ACGTACGTACGTACGTACGT>ACGT" + line_end;
    c.text += wrapped(s, width, line_end);
    if (r() % 10 == 0) c.text += line_end;
    c.sequences.push_back(s);
  }
  if (!last_line_end) {
    while (!c.text.empty() && (c.text.back() == '\n' || c.text.back() == '\r')) c.text.pop_back();
  }
  return c;
}

test_case fastq(random& r, const std::string& name, size_t records, size_t max_size, size_t width, const char* line_end,
                bool last_line_end = true) {
  test_case c{name, "", {}};
  for (size_t i = 0; i < records; ++i) {
    const bool last = i + 1 == records;
    const std::string s = random_sequence(r, last ? 50 : r() % (max_size + 1));
    const std::string q = nasty_quality(r, s.size());
    const std::string head = "@read" + std::to_string(i) + " @+ACGTACGTACGTACGTACGT";
    c.text += head + line_end;
    c.text += s.empty() ? line_end : wrapped(s, width, line_end);
    c.text += (r() % 2 ? "+" + head.substr(1) : std::string("+")) + line_end;
    c.text += q.empty() ? line_end : wrapped(q, width, line_end);
    c.sequences.push_back(s);
  }
  if (!last_line_end) {
    while (!c.text.empty() && (c.text.back() == '\n' || c.text.back() == '\r')) c.text.pop_back();
  }
  return c;
}

std::string reverse_complement(const std::string& s) {
  std::string result(s.rbegin(), s.rend());
  for (auto& c : result) c = c == 'A' ? 'T' : c == 'C' ? 'G' : c == 'G' ? 'C' : 'A';
  return result;
}

}  // namespace

std::vector<test_case> all(uint64_t seed) {
  random r(seed);
  constexpr size_t one_line = 1 << 30;
  return {
      fasta(r, "FASTA, one line a record", 40, 200, one_line, "\n"),
      fasta(r, "FASTA, wrapped", 40, 300, 60, "\n"),
      fasta(r, "FASTA, one base a line", 8, 120, 1, "\n"),
      fasta(r, "FASTA, CRLF, wrapped", 30, 300, 17, "\r\n"),
      fasta(r, "FASTA, one long record in one line", 1, 9000, one_line, "\n"),
      fasta(r, "FASTA, one long record, wrapped, no last line end", 1, 9000, 70, "\n", false),
      fasta(r, "FASTA, records without bases", 60, 2, one_line, "\n"),
      {"FASTA, headers only", ">a\n>b\n>c", {"", "", ""}},
      {"FASTA, a long header", ">" + std::string(3000, 'A') + "\nACGTACGTACGTACGTACG\n", {"ACGTACGTACGTACGTACG"}},
      {"FASTA, '>' within a line", ">a\nACGTACGTAC>GTTGCAACCGGTT\n", {"ACGTACGTAC>GTTGCAACCGGTT"}},
      fastq(r, "FASTQ, four lines", 60, 150, one_line, "\n"),
      fastq(r, "FASTQ, CRLF", 60, 150, one_line, "\r\n"),
      fastq(r, "FASTQ, no last line end", 20, 100, one_line, "\n", false),
      fastq(r, "FASTQ, empty and short reads", 80, 6, one_line, "\n"),
      fastq(r, "FASTQ, long reads", 4, 4000, one_line, "\n"),
      fastq(r, "FASTQ, wrapped", 30, 300, 40, "\n"),
      {"nothing", "", {}},
      {"line ends only", "\n\r\n\n", {}},
  };
}

counts count_kmers(const std::vector<std::string>& sequences, size_t k) {
  counts result;
  for (std::string s : sequences) {
    for (auto& c : s) c = static_cast<char>(std::toupper(c));
    for (size_t i = 0; i + k <= s.size(); ++i) {
      const std::string m = s.substr(i, k);
      if (m.find_first_not_of("ACGT") != std::string::npos) continue;
      ++result[std::min(m, reverse_complement(m))];
    }
  }
  return result;
}

scratch_folder::scratch_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "kmer_count_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

scratch_folder::~scratch_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string scratch_folder::write(const std::string& name, const std::string& text, int members) const {
  const std::string path = path_ + "/" + name;
  if (members == 0) {
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::filesystem::remove(path);
  const size_t piece = text.size() / static_cast<size_t>(members) + 1;
  for (int i = 0; i < members; ++i) {
    gzFile f = gzopen(path.c_str(), "ab");
    const std::string part = text.substr(std::min(text.size(), static_cast<size_t>(i) * piece), piece);
    if (!part.empty()) gzwrite(f, part.data(), static_cast<unsigned>(part.size()));
    gzclose(f);
  }
  return path;
}

}  // namespace fastx_cases
