// The input files, and the distribution of their text to ranks and threads.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fastx.hpp"
#include "stream.hpp"

namespace kmer_count {

struct input_options {
  int k = 51;
  bool split = true;               // plain files may be cut at any byte
  size_t threads = 1;              // of this rank
  size_t chunk_size = 0;           // of plain files; 0: chosen by the size of the input
  size_t block_size = 128 * 1024;  // of streams
};

/// A plain file's bytes, mapped. Immutable, thread-safe.
class mapped_file {
 public:
  explicit mapped_file(const std::string& path);
  ~mapped_file();
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  std::string_view text() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

/// The properties of all files. Every rank builds the same set. Immutable, thread-safe.
class input_set {
 public:
  struct file {
    std::string path;
    uint64_t size = 0;
    bool compressed = false;
    file_format format = file_format::fasta;
    uint64_t kmers = 0;                   // estimate of its k-mers
    std::unique_ptr<mapped_file> mapped;  // set if the file is cut by bytes, else it is a stream
  };

  input_set(const std::vector<std::string>& paths, const input_options& options);

  const std::vector<file>& files() const { return files_; }
  uint64_t bytes() const;
  uint64_t expected_kmers() const;  // of all files, repeats included

 private:
  std::vector<file> files_;
};

/// A rank's share of the input for one traversal. Plain files are cut into chunks of bytes, which the rank's threads
/// take in turn. Streams (compressed files, FASTQ with multi-line reads) are read by every rank; each rank uses its
/// share of the blocks. Thread-safe.
class input_share {
 public:
  enum class result {
    block,  // work to do
    busy,   // other threads are reading the remaining streams: call again
    end,    // no input is left
  };

  input_share(const input_set& input, const input_options& options, int rank, int nranks);

  /// The next block for a thread. `storage` belongs to the thread and holds the text until its next call.
  result next(size_t thread, text_block& block, std::string& storage);

 private:
  struct chunk {
    const input_set::file* file;
    size_t begin, end;
  };
  struct stream {
    const input_set::file* file;
    size_t turn;  // the rank whose block is next
    std::mutex lock;
    std::unique_ptr<block_reader> reader;
    std::atomic<bool> finished{false};
  };

  bool cut(const chunk& c, text_block& block) const;
  bool read_own_block(stream& s, text_block& block, std::string& storage);

  const input_options options_;
  const size_t rank_, nranks_;
  std::vector<chunk> chunks_;
  std::atomic<size_t> next_chunk_{0};
  std::vector<std::unique_ptr<stream>> streams_;
};

}  // namespace kmer_count
