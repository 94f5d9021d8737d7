#include "stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kmer_count {

text_stream::text_stream(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rbe")) {
  if (file_ == nullptr) throw input_error(path + ": can't be read: " + std::strerror(errno));
  gzbuffer(file_, 256 * 1024);
}

text_stream::~text_stream() { gzclose(file_); }

bool text_stream::read(std::string& text, size_t size) {
  const size_t old_size = text.size();
  text.resize(old_size + size);
  const int got = gzread(file_, text.data() + old_size, static_cast<unsigned>(size));
  text.resize(old_size + static_cast<size_t>(std::max(got, 0)));
  int code = Z_OK;
  const char* message = gzerror(file_, &code);
  // A file that ends within its compressed data is reported by Z_BUF_ERROR, not by the count.
  if (got < 0 || code == Z_BUF_ERROR) {
    throw input_error(path_ + ": " +
                      (code == Z_BUF_ERROR ? "the compressed data is cut off"
                       : code == Z_ERRNO   ? std::strerror(errno)
                                           : message));
  }
  return got > 0;
}

uint64_t text_stream::file_offset() const { return static_cast<uint64_t>(gzoffset(file_)); }

file_format detect_format(const std::string& path, std::string_view text) {
  const size_t first = skip_blank(text, 0);
  if (first < text.size() && text[first] == '>') return file_format::fasta;
  if (first < text.size() && text[first] == '@') return file_format::fastq;
  throw input_error(path + ": neither FASTA nor FASTQ: it must begin with '>' or '@'");
}

block_reader::block_reader(const std::string& path, int k, size_t block_size)
    : path_(path), k_(k), block_size_(block_size), stream_(path) {}

bool block_reader::fill(size_t size) {
  while (pending_.size() < size && !at_end_) {
    // For a long record the caller doubles the size: reading all of it at once keeps the cost linear.
    at_end_ = !stream_.read(pending_, std::max<size_t>(64 * 1024, size - pending_.size()));
  }
  return pending_.size() >= size;
}

bool block_reader::next(text_block& block) {
  pending_.erase(0, consumed_);
  offset_ += consumed_;
  consumed_ = 0;
  fill(block_size_);
  if (!started_) {
    const size_t blank = skip_blank(pending_, 0);
    if (blank == pending_.size()) {
      if (!fill(pending_.size() + 1)) return false;  // nothing but line ends
    }
    format_ = detect_format(path_, pending_);
    started_ = true;
  }
  if (pending_.empty()) return false;

  block = text_block{};
  block.format = format_;
  block.file_name = path_.c_str();
  block.offset = offset_;
  if (format_ == file_format::fastq) {
    consumed_ = cut_fastq();
    block.text = std::string_view(pending_).substr(0, consumed_);
    block.own_size = consumed_;
  } else {
    consumed_ = cut_fasta(block);
  }
  return true;
}

// Whole records, up to the first that ends beyond the block's size.
size_t block_reader::cut_fastq() {
  size_t pos = skip_blank(pending_, 0);
  while (pos < pending_.size() && pos < block_size_) {
    fastq_record record;
    const char* why = nullptr;
    const fastq_result result = read_fastq_record(pending_, pos, at_end_, record, why);
    if (result == fastq_result::record) {
      pos = skip_blank(pending_, record.end);
      continue;
    }
    if (result == fastq_result::incomplete) {
      if (at_end_) return pending_.size();  // the scanner of the block reports the error
      if (pos > 0) return pos;
      fill(2 * pending_.size());
      continue;
    }
    text_block bad;
    bad.file_name = path_.c_str();
    bad.offset = offset_;
    throw_malformed(bad, pos, why);
  }
  return pos;
}

size_t block_reader::cut_fasta(text_block& block) {
  // The rest of a header line that began in the previous block.
  size_t begin = 0;
  while (in_header_) {
    begin = next_line(pending_, begin);
    const bool complete = begin > 0 && pending_[begin - 1] == '\n';
    if (complete || !fill(pending_.size() + 1)) in_header_ = false;
    at_line_start_ = true;
  }
  // The block ends with a line, or anywhere if there is none.
  size_t end = std::max(begin, std::min(block_size_, pending_.size()));
  if (end < pending_.size()) {
    const size_t line_end = pending_.rfind('\n', end - 1);
    if (line_end != npos && line_end >= begin) end = line_end + 1;
  }
  const bool next_at_line_start = end == begin ? at_line_start_ : pending_[end - 1] == '\n';
  if (!next_at_line_start) {
    // Cut in the middle of a line: is that line a header?
    const size_t line_end = end == 0 ? npos : pending_.rfind('\n', end - 1);
    const bool starts_here = line_end != npos && line_end >= begin;
    const size_t line = starts_here ? line_end + 1 : begin;
    in_header_ = (starts_here || at_line_start_) && pending_[line] == '>';
  }
  size_t lookahead = end;
  if (!in_header_) {
    while ((lookahead = fasta_lookahead_end(pending_, end, next_at_line_start, k_)) == npos) {
      if (!fill(pending_.size() + 1)) {
        lookahead = pending_.size();
        break;
      }
    }
  }
  block.text = std::string_view(pending_).substr(begin, lookahead - begin);
  block.own_size = end - begin;
  block.at_line_start = at_line_start_;
  block.offset = offset_ + begin;
  at_line_start_ = next_at_line_start;
  return end;
}

}  // namespace kmer_count
