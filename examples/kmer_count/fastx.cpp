#include "fastx.hpp"

namespace kmer_count {
namespace {

// Characters of text[pos, end) that are not line ends.
size_t visible_length(std::string_view text, size_t pos, size_t end) {
  size_t n = end - pos;
  while (n > 0 && (text[pos + n - 1] == '\n' || text[pos + n - 1] == '\r')) --n;
  return n;
}

bool line_is_complete(std::string_view text, size_t end) { return end > 0 && text[end - 1] == '\n'; }

}  // namespace

fastq_result read_fastq_record(std::string_view text, size_t pos, bool at_eof, fastq_record& record, const char*& why) {
  if (pos >= text.size()) return fastq_result::incomplete;
  if (text[pos] != '@') {
    why = "a record must begin with '@'";
    return fastq_result::malformed;
  }
  size_t line = next_line(text, pos);
  if (!line_is_complete(text, line)) return fastq_result::incomplete;

  record.sequence = line;
  size_t bases_seen = 0, sequence_lines = 0;
  for (;; ++sequence_lines) {
    if (line >= text.size()) return fastq_result::incomplete;
    if (text[line] == '+') break;
    const size_t end = next_line(text, line);
    if (!line_is_complete(text, end)) return fastq_result::incomplete;
    bases_seen += visible_length(text, line, end);
    line = end;
  }
  record.sequence_end = line;
  line = next_line(text, line);
  // A last record without bases may end right after its '+' line.
  if (line >= text.size()) {
    if (!at_eof || bases_seen > 0) return fastq_result::incomplete;
    record.end = line;
    record.one_line = sequence_lines <= 1;
    return fastq_result::record;
  }
  if (!line_is_complete(text, line)) return fastq_result::incomplete;

  // A quality line may begin with any character: the quality ends when it is as long as the sequence.
  size_t quality_seen = 0, quality_lines = 0;
  do {
    if (line >= text.size()) return fastq_result::incomplete;
    const size_t end = next_line(text, line);
    if (!at_eof && !line_is_complete(text, end)) return fastq_result::incomplete;
    // A record without bases need not have an (empty) quality line.
    if (bases_seen == 0 && visible_length(text, line, end) > 0) break;
    quality_seen += visible_length(text, line, end);
    line = end;
    ++quality_lines;
  } while (quality_seen < bases_seen);
  if (quality_seen > bases_seen) {
    why = "the quality is longer than the sequence";
    return fastq_result::malformed;
  }
  record.end = line;
  record.one_line = sequence_lines <= 1 && quality_lines <= 1;
  return fastq_result::record;
}

size_t find_fastq_record(std::string_view text, size_t pos) {
  if (pos > 0 && text[pos - 1] != '\n') pos = next_line(text, pos);
  while (pos < text.size()) {
    if (text[pos] == '@') {
      const size_t plus = next_line(text, next_line(text, pos));
      if (plus < text.size() && text[plus] == '+') return pos;
    }
    pos = next_line(text, pos);
  }
  return text.size();
}

bool within_fasta_header(std::string_view text, size_t pos) {
  if (pos == 0) return false;
  const void* end = memrchr(text.data(), '\n', pos);
  const size_t line = end == nullptr ? 0 : static_cast<size_t>(static_cast<const char*>(end) - text.data()) + 1;
  return line < pos && text[line] == '>';
}

size_t fasta_lookahead_end(std::string_view text, size_t pos, bool at_line_start, int k) {
  for (int left = k - 1; left > 0; ++pos) {
    if (pos >= text.size()) return npos;
    if (at_line_start && text[pos] == '>') break;
    at_line_start = text[pos] == '\n';
    if (bases.code[static_cast<unsigned char>(text[pos])] != base_skip) --left;
  }
  return pos;
}

void throw_malformed(const text_block& block, size_t pos, const char* why) {
  throw input_error(std::string(block.file_name) + ": FASTQ record at byte " + std::to_string(block.offset + pos) +
                    ": " + why +
                    ". If its reads span several lines each, --no-split may help; otherwise the "
                    "file is damaged");
}

}  // namespace kmer_count
