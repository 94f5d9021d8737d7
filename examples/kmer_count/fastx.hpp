// The FASTA and FASTQ formats: where a record starts and ends, and which k-mers of a piece of a file belong to that
// piece.
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

/// An invalid input file. The text names the file, the position and the remedy.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A piece of a file. FASTQ: whole records, all of which belong to the piece. FASTA: the first `own_size` characters
/// belong to the piece; the rest is needed to complete k-mers that begin in them. So every k-mer belongs to exactly one
/// piece, wherever the file is cut.
struct text_block {
  file_format format = file_format::fasta;
  std::string_view text;
  size_t own_size = 0;
  bool at_line_start = true;  // false: FASTA text that begins within a line of bases
  const char* file_name = "";
  uint64_t offset = 0;  // of the text in the (decompressed) file
};

constexpr size_t npos = std::string_view::npos;

/// The position after the first line end at or after `pos`; text.size() if there is none.
inline size_t next_line(std::string_view text, size_t pos) {
  if (pos >= text.size()) return text.size();
  const void* end = std::memchr(text.data() + pos, '\n', text.size() - pos);
  return end == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(end) - text.data()) + 1;
}

/// A FASTQ record, as offsets in its text. Sequence and quality may span several lines.
struct fastq_record {
  size_t sequence = 0;      // first character of the sequence
  size_t sequence_end = 0;  // first character of the '+' line
  size_t end = 0;           // where the next record may begin
  bool one_line = false;    // sequence and quality take one line each
};

enum class fastq_result { record, incomplete, malformed };

/// Reads the record at `pos`, which must be its '@'. Returns `incomplete` if the text ends within the record; with
/// `at_eof` nothing follows, so a last line needs no line end. Returns `malformed` with the reason in `why`.
fastq_result read_fastq_record(std::string_view text, size_t pos, bool at_eof, fastq_record& record, const char*& why);

/// The first record start at or after `pos` in a FASTQ file with four lines per record; text.size() if there is none. A
/// quality line may begin with '@' or '+'. A record start is a line with '@' two lines before a line with '+'; a
/// quality line is not, since the line two lines after it contains bases. Depends on the text only, so neighbours agree
/// on a boundary.
size_t find_fastq_record(std::string_view text, size_t pos);

/// Returns whether the character at `pos` is within a FASTA header line (after its '>').
bool within_fasta_header(std::string_view text, size_t pos);

/// Skips empty lines.
inline size_t skip_blank(std::string_view text, size_t pos) {
  while (pos < text.size() && (text[pos] == '\n' || text[pos] == '\r')) ++pos;
  return pos;
}

/// The end of the text that a piece must contain to complete k-mers that begin before `pos` (`at_line_start` or not):
/// k-1 more bases, or the end of the record. npos: the text is too short to tell.
size_t fasta_lookahead_end(std::string_view text, size_t pos, bool at_line_start, int k);

[[noreturn]] void throw_malformed(const text_block& block, size_t pos, const char* why);

/// Counters of a piece's content.
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
  // k-1 more bases complete k-mers that began here; those that begin later belong to the next piece.
  for (int left = k - 1; left > 0 && pos < text.size(); ++pos) {
    if (at_line_start && text[pos] == '>') break;
    at_line_start = text[pos] == '\n';
    scanner.feed(text[pos]);
    if (bases.code[static_cast<unsigned char>(text[pos])] != base_skip) --left;
  }
}

/// Calls `emit(kmer)` for every k-mer that belongs to the piece.
template <class Emit>
void for_each_kmer(const text_block& block, int k, bool canonical, text_counts& counts, Emit&& emit) {
  auto call = [&emit](const kmer& m) { emit(m); };
  kmer_scanner<decltype(call)> scanner(k, canonical, call);
  if (block.format == file_format::fastq) {
    scan_fastq(block, scanner, counts);
  } else {
    scan_fasta(block, k, scanner, counts);
  }
}

}  // namespace kmer_count
