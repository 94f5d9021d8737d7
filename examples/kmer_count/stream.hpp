// Reads a file sequentially in blocks that can be counted independently.
#pragma once

#include <zlib.h>

#include <string>
#include <vector>

#include "fastx.hpp"

namespace kmer_count {

/// The text of a file, decompressed if necessary. Thread-bound; owns its file descriptor.
class text_stream {
 public:
  explicit text_stream(const std::string& path);
  ~text_stream();
  text_stream(const text_stream&) = delete;
  text_stream& operator=(const text_stream&) = delete;

  /// Appends up to `size` characters to `text`; false at the end of the file. Throws input_error if the file is damaged
  /// or truncated.
  bool read(std::string& text, size_t size);

  /// The position in the file up to which bytes were read (their text may not have been returned yet).
  uint64_t file_offset() const;

 private:
  const std::string path_;
  gzFile file_;
};

/// Detects FASTA or FASTQ by the first character that is not a line end. Throws input_error if it is neither.
file_format detect_format(const std::string& path, std::string_view text);

/// Cuts a stream into blocks of about `block_size` characters: whole records of a FASTQ file; lines of a FASTA file,
/// plus the look-ahead that k-mers across the cut need. Thread-bound.
class block_reader {
 public:
  block_reader(const std::string& path, int k, size_t block_size);

  /// The next block, whose text stays valid until the next call. False at the end of the file.
  bool next(text_block& block);

 private:
  bool fill(size_t size);  // reads until pending_ has `size` characters; false if the file ends before
  size_t cut_fastq();
  size_t cut_fasta(text_block& block);

  const std::string path_;
  const int k_;
  const size_t block_size_;
  text_stream stream_;
  bool at_end_ = false;
  bool started_ = false;
  file_format format_ = file_format::fasta;
  std::string pending_;        // text that was read; consumed before consumed_
  size_t consumed_ = 0;        // characters of pending_ in the last block
  uint64_t offset_ = 0;        // of pending_ in the text
  bool at_line_start_ = true;  // FASTA: state where the next block starts
  bool in_header_ = false;
};

}  // namespace kmer_count
