#include "input.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kmer_count {
namespace {

constexpr size_t sample_size = 1024 * 1024;

std::string reason() { return std::strerror(errno); }

// Returns whether all whole records of the sample have four lines.
bool has_four_line_records(std::string_view text, bool at_eof) {
  size_t pos = skip_blank(text, 0);
  while (pos < text.size()) {
    fastq_record record;
    const char* why = nullptr;
    const fastq_result result = read_fastq_record(text, pos, at_eof, record, why);
    if (result == fastq_result::incomplete) return true;
    if (result == fastq_result::malformed || !record.one_line) return false;
    pos = skip_blank(text, record.end);
  }
  return true;
}

// Estimates from the first block of a file, and the share of the file that this block is.
struct sample {
  file_format format = file_format::fasta;
  bool four_lines = true;
  uint64_t kmers = 0;
  double share = 1;
};

sample take_sample(const input_set::file& f, int k) {
  sample s;
  std::string text;
  text_stream stream(f.path);
  bool at_eof = false;
  while (text.size() < sample_size && !at_eof) at_eof = !stream.read(text, sample_size - text.size());
  if (skip_blank(text, 0) == text.size()) return s;  // an empty file has no k-mers
  s.format = detect_format(f.path, text);
  s.four_lines = s.format != file_format::fastq || has_four_line_records(text, at_eof);
  if (!at_eof) {
    const uint64_t read = f.compressed ? stream.file_offset() : text.size();
    s.share = static_cast<double>(read) / static_cast<double>(std::max<uint64_t>(f.size, 1));
  }
  text_block block;
  block.format = s.format;
  block.text = text;
  if (s.format == file_format::fastq) {  // only whole records can be scanned
    size_t pos = skip_blank(text, 0);
    fastq_record record;
    const char* why = nullptr;
    while (pos < text.size() && read_fastq_record(text, pos, at_eof, record, why) == fastq_result::record) {
      pos = skip_blank(text, record.end);
    }
    if (pos > 0) s.share *= static_cast<double>(pos) / static_cast<double>(text.size());
    block.text = block.text.substr(0, pos);
  }
  block.own_size = block.text.size();
  text_counts counts;
  for_each_kmer(block, k, true, counts, [&s](const kmer&) { ++s.kmers; });
  return s;
}

}  // namespace

mapped_file::mapped_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw input_error(path + ": can't be opened: " + reason());
  struct stat st = {};
  void* p = nullptr;
  if (fstat(fd, &st) == 0 && st.st_size > 0) {
    size_ = static_cast<size_t>(st.st_size);
    p = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  const std::string why = reason();
  close(fd);
  if (p == MAP_FAILED) throw input_error(path + ": can't be mapped: " + why);
  data_ = static_cast<const char*>(p);
}

mapped_file::~mapped_file() {
  if (size_ > 0) munmap(const_cast<char*>(data_), size_);
}

input_set::input_set(const std::vector<std::string>& paths, const input_options& options) {
  for (const auto& path : paths) {
    file f;
    f.path = path;
    struct stat st = {};
    if (stat(path.c_str(), &st) != 0) throw input_error(path + ": can't be opened: " + reason());
    if (!S_ISREG(st.st_mode)) {
      throw input_error(path +
                        ": not a regular file; every rank reads the input twice, so pipes "
                        "and folders can't be counted");
    }
    f.size = static_cast<uint64_t>(st.st_size);
    unsigned char magic[2] = {};
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw input_error(path + ": can't be opened: " + reason());
    f.compressed = read(fd, magic, 2) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    close(fd);
    const sample s = take_sample(f, options.k);
    f.format = s.format;
    f.kmers = static_cast<uint64_t>(static_cast<double>(s.kmers) / std::max(s.share, 1e-9));
    if (options.split && !f.compressed && s.four_lines) {
      f.mapped = std::make_unique<mapped_file>(path);
    }
    files_.push_back(std::move(f));
  }
}

uint64_t input_set::bytes() const {
  uint64_t n = 0;
  for (const auto& f : files_) n += f.size;
  return n;
}

uint64_t input_set::expected_kmers() const {
  uint64_t n = 0;
  for (const auto& f : files_) n += f.kmers;
  return n;
}

input_share::input_share(const input_set& input, const input_options& options, int rank, int nranks)
    : options_(options), rank_(static_cast<size_t>(rank)), nranks_(static_cast<size_t>(nranks)) {
  size_t index = 0;
  for (const auto& f : input.files()) {
    if (!f.mapped) {
      auto s = std::make_unique<stream>();
      s->file = &f;
      s->turn = index++ % nranks_;  // short files should not all be assigned to rank 0
      streams_.push_back(std::move(s));
      continue;
    }
    const size_t size = f.mapped->text().size();
    const auto part = [&](size_t r) {  // without overflow for files of many TB
      return size / nranks_ * r + size % nranks_ * r / nranks_;
    };
    const size_t begin = part(rank_), end = part(rank_ + 1);
    // Small enough that threads end at about the same time, large enough that the overhead per chunk is negligible.
    size_t chunk_size = options.chunk_size;
    if (chunk_size == 0) {
      chunk_size = std::clamp<size_t>((end - begin) / (options.threads * 8), 16 << 10, 4 << 20);
    }
    for (size_t at = begin; at < end; at += chunk_size) {
      chunks_.push_back({&f, at, std::min(at + chunk_size, end)});
    }
  }
}

bool input_share::cut(const chunk& c, text_block& block) const {
  const std::string_view text = c.file->mapped->text();
  block = text_block{};
  block.format = c.file->format;
  block.file_name = c.file->path.c_str();
  if (block.format == file_format::fastq) {
    const size_t begin = c.begin == 0 ? 0 : find_fastq_record(text, c.begin);
    const size_t end = c.end == text.size() ? c.end : find_fastq_record(text, c.end);
    if (begin >= end) return false;
    block.text = text.substr(begin, end - begin);
    block.own_size = block.text.size();
    block.offset = begin;
    return true;
  }
  size_t begin = c.begin;
  if (within_fasta_header(text, begin)) begin = next_line(text, begin);
  if (begin >= c.end) return false;
  block.text = text.substr(begin);
  block.own_size = c.end - begin;
  block.at_line_start = begin == 0 || text[begin - 1] == '\n';
  block.offset = begin;
  return true;
}

bool input_share::read_own_block(stream& s, text_block& block, std::string& storage) {
  if (!s.reader) {
    s.reader = std::make_unique<block_reader>(s.file->path, options_.k, options_.block_size);
  }
  while (s.reader->next(block)) {
    const bool mine = s.turn == rank_;
    s.turn = (s.turn + 1) % nranks_;
    if (!mine) continue;
    storage.assign(block.text);
    block.text = storage;
    block.file_name = s.file->path.c_str();
    return true;
  }
  s.reader.reset();
  return false;
}

input_share::result input_share::next(size_t thread, text_block& block, std::string& storage) {
  for (;;) {
    const size_t i = next_chunk_.fetch_add(1, std::memory_order_relaxed);
    if (i >= chunks_.size()) break;
    if (cut(chunks_[i], block)) return result::block;
  }
  // Threads start with different streams and never block: a thread that finds a stream locked can handle messages
  // meanwhile.
  bool busy = false;
  for (size_t i = 0; i < streams_.size(); ++i) {
    stream& s = *streams_[(thread + i) % streams_.size()];
    if (s.finished.load(std::memory_order_acquire)) continue;  // F1: pairs with F2 below
    std::unique_lock<std::mutex> guard(s.lock, std::try_to_lock);
    if (!guard.owns_lock()) {
      busy = true;
      continue;
    }
    if (s.finished.load(std::memory_order_relaxed)) continue;  // the lock orders it
    if (read_own_block(s, block, storage)) return result::block;
    s.finished.store(true, std::memory_order_release);  // F2: pairs with F1 above
  }
  return busy ? result::busy : result::end;
}

}  // namespace kmer_count
