#include "kmer_store.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace kmer_count {
namespace {

// K-mers whose memory is asked for at once, before the first of them is looked up: that hides most
// of the latency of a filter which is larger than the cache.
constexpr size_t group = 32;

}  // namespace

kmer_store::kmer_store(bool use_filter, uint64_t expected_kmers, double filter_bits)
    : table_(use_filter ? 0 : expected_kmers / 4) {  // a table can grow, a filter can't
  if (!use_filter) return;
  try {
    filter_ = std::make_unique<repeat_filter>(expected_kmers, filter_bits);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("no memory for a filter of " + std::to_string(expected_kmers) +
                             " k-mers a rank: --expected-kmers sets another number, --bloom-bits "
                             "fewer bits for each");
  }
}

uint64_t kmer_store::filter(const char* kmers, size_t n) {
  uint64_t promoted = 0;
  uint64_t hashes[group];
  for (size_t begin = 0; begin < n; begin += group) {
    const size_t size = std::min(group, n - begin);
    for (size_t i = 0; i < size; ++i) {
      hashes[i] = hash_of(load_kmer(kmers + (begin + i) * sizeof(kmer)));
      filter_->prefetch(hashes[i]);
    }
    for (size_t i = 0; i < size; ++i) promoted += filter_->insert(hashes[i]) ? 1 : 0;
  }
  return promoted;
}

void kmer_store::prepare_counting(uint64_t repeated) {
  // A cuckoo table slows down when nearly full.
  table_.reserve(repeated + repeated / 8);
}

void kmer_store::count(const char* kmers, size_t n) {
  const auto increment = [](uint64_t& times) { ++times; };
  if (!filter_) {
    for (size_t i = 0; i < n; ++i) {
      table_.upsert(load_kmer(kmers + i * sizeof(kmer)), increment, uint64_t{1});
    }
    return;
  }
  uint64_t hashes[group];
  for (size_t begin = 0; begin < n; begin += group) {
    const size_t size = std::min(group, n - begin);
    for (size_t i = 0; i < size; ++i) {
      hashes[i] = hash_of(load_kmer(kmers + (begin + i) * sizeof(kmer)));
      filter_->prefetch(hashes[i]);
    }
    for (size_t i = 0; i < size; ++i) {
      if (!filter_->is_repeated(hashes[i])) continue;
      table_.upsert(load_kmer(kmers + (begin + i) * sizeof(kmer)), increment, uint64_t{1});
    }
  }
}

histogram kmer_store::counts() {
  // Most counts are small: a map look-up for each k-mer would cost more than reading the table.
  std::vector<uint64_t> small(4096, 0);
  histogram result;
  auto locked = table_.lock_table();
  for (const auto& [key, times] : locked) {
    if (times < small.size()) {
      ++small[times];
    } else {
      result.add(times);
    }
  }
  for (size_t times = 0; times < small.size(); ++times) {
    if (small[times] > 0) result.add(times, small[times]);
  }
  return result;
}

uint64_t kmer_store::dump(const std::string& path, int k, uint64_t at_least) {
  std::ofstream out(path);
  uint64_t written = 0;
  if (out) {
    auto locked = table_.lock_table();
    for (const auto& [key, times] : locked) {
      if (times < at_least) continue;
      out << to_string(key, k) << ' ' << times << '\n';
      ++written;
    }
    out.close();
  }
  if (!out) throw std::runtime_error(path + ": can't be written: " + std::strerror(errno));
  return written;
}

size_t kmer_store::table_bytes() const {
  constexpr size_t slot = sizeof(kmer) + sizeof(uint64_t) + 2;  // and its partial key and flag
  return table_.bucket_count() * table_.slot_per_bucket() * slot;
}

}  // namespace kmer_count
