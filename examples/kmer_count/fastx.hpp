// The rules of FASTA and FASTQ: where a record starts and ends, and which k-mers of a piece of a
// file belong to that piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "kmer.hpp"

namespace kmer_count {

enum class file_format { fasta, fastq };

/// A file is not what it should be. The text names the file, the place and the remedy.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A piece of a file. FASTQ: whole records, all its own. FASTA: its own text is the first
/// `own_size` characters; what follows is there so that k-mers which begin in its own part can be
/// completed. So every k-mer belongs to exactly one piece, however the file is cut.
struct text_block {
  file_format format = file_format::fasta;
  std::string_view text;
  size_t own_size = 0;
  bool at_line_start = true;  // false: FASTA text which begins within a line of bases
  const char* file_name = "";
  uint64_t offset = 0;  // of the text in the (decompressed) file
};

constexpr size_t npos = std::string_view::npos;

/// The first position after the line end at or after `pos`; text.size() if there is none.
inline size_t next_line(std::string_view text, size_t pos) {
  if (pos >= text.size()) return text.size();
  const void* end = std::memchr(text.data() + pos, '\n', text.size() - pos);
  return end == nullptr ? text.size()
                        : static_cast<size_t>(static_cast<const char*>(end) - text.data()) + 1;
}

/// A FASTQ record, as offsets in its text. Sequence and quality may span several lines.
struct fastq_record {
  size_t sequence = 0;      // first character of the sequence
  size_t sequence_end = 0;  // first character of the '+' line
  size_t end = 0;           // where the next record may begin
  bool one_line = false;    // sequence and quality take one line each
};

enum class fastq_result { record, incomplete, malformed };

/// Reads the record at `pos` (which holds its '@'). `incomplete`: the text ends within the record;
/// `at_eof` says that no more follows, so a last line needs no line end. `malformed`: `why` says
/// why.
fastq_result read_fastq_record(std::string_view text, size_t pos, bool at_eof, fastq_record& record,
                               const char*& why);

/// The first record start at or after `pos` in a FASTQ file whose records have four lines; the size
/// of the text if there is none. A quality line may begin with '@' and with '+': a record start is
/// a line with '@' two lines before a line with '+', which no quality line is, as a line of bases
/// follows it at that distance. Depends only on the text, so neighbours agree on a boundary.
size_t find_fastq_record(std::string_view text, size_t pos);

/// Is the character at `pos` within a FASTA header line (after its '>')?
bool within_fasta_header(std::string_view text, size_t pos);

/// Skips empty lines.
inline size_t skip_blank(std::string_view text, size_t pos) {
  while (pos < text.size() && (text[pos] == '\n' || text[pos] == '\r')) ++pos;
  return pos;
}

/// How many characters, from `pos` (`at_line_start` or not), a piece must see to complete k-mers
/// which begin before `pos`: the end of k-1 bases, or of the record. npos: the text is too short
/// to tell.
size_t fasta_lookahead_end(std::string_view text, size_t pos, bool at_line_start, int k);

[[noreturn]] void throw_malformed(const text_block& block, size_t pos, const char* why);

/// Counts of what a piece held.
struct text_counts {
  uint64_t records = 0;
};

template <class Scanner>
void scan_fastq(const text_block& block, Scanner& scanner, text_counts& counts) {
  const std::string_view text = block.text;
  size_t pos = skip_blank(text, 0);
  while (pos < text.size()) {
    fastq_record record;
    const char* why = nullptr;
    switch (read_fastq_record(text, pos, true, record, why)) {
      case fastq_result::record:
        break;
      case fastq_result::incomplete:
        throw_malformed(block, pos, "the record is cut off");
      case fastq_result::malformed:
        throw_malformed(block, pos, why);
    }
    scanner.reset();
    scanner.feed(text.data() + record.sequence, record.sequence_end - record.sequence);
    ++counts.records;
    pos = skip_blank(text, record.end);
  }
}

template <class Scanner>
void scan_fasta(const text_block& block, int k, Scanner& scanner, text_counts& counts) {
  const std::string_view text = block.text;
  const std::string_view own = text.substr(0, block.own_size);
  scanner.reset();
  size_t pos = 0;
  bool at_line_start = block.at_line_start;
  while (pos < own.size()) {
    if (at_line_start && own[pos] == '>') {
      scanner.reset();
      ++counts.records;
      pos = next_line(text, pos);
      continue;
    }
    const size_t end = next_line(own, pos);
    scanner.feed(own.data() + pos, end - pos);
    at_line_start = own[end - 1] == '\n';
    pos = end;
  }
  // k-1 more bases complete what began here; k-mers that begin later belong to the next piece.
  for (int left = k - 1; left > 0 && pos < text.size(); ++pos) {
    if (at_line_start && text[pos] == '>') break;
    at_line_start = text[pos] == '\n';
    scanner.feed(text[pos]);
    if (bases.code[static_cast<unsigned char>(text[pos])] != base_skip) --left;
  }
}

/// Hands every k-mer that belongs to the piece to `emit(kmer)`.
template <class Emit>
void for_each_kmer(const text_block& block, int k, bool canonical, text_counts& counts,
                   Emit&& emit) {
  auto call = [&emit](const kmer& m) { emit(m); };
  kmer_scanner<decltype(call)> scanner(k, canonical, call);
  if (block.format == file_format::fastq) {
    scan_fastq(block, scanner, counts);
  } else {
    scan_fasta(block, k, scanner, counts);
  }
}

}  // namespace kmer_count
