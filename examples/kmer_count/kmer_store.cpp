#include "kmer_store.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace kmer_count {
namespace {

// K-mers that are prefetched together before the first of them is looked up: this hides most of the memory latency of a
// filter that is larger than the cache.
constexpr size_t group = 32;

}  // namespace

kmer_store::kmer_store(bool use_filter, uint64_t expected_kmers, double filter_bits, size_t threads) : table_(threads) {
  if (!use_filter) {
    table_.reserve(expected_kmers / 4);  // a table can grow, a filter can't
    return;
  }
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

void kmer_store::prepare_counting(uint64_t repeated) { table_.reserve(repeated); }

void kmer_store::count(kmer_table::writer& to, const char* kmers, size_t n) {
  const auto at = [kmers](size_t i) { return load_kmer(kmers + i * sizeof(kmer)); };
  if (!filter_) {
    for (size_t i = 0; i < n; ++i) to.add(at(i), hash_of(at(i)));
    return;
  }
  uint64_t hashes[group];
  for (size_t begin = 0; begin < n; begin += group) {
    const size_t size = std::min(group, n - begin);
    for (size_t i = 0; i < size; ++i) {
      hashes[i] = hash_of(at(begin + i));
      filter_->prefetch(hashes[i]);
    }
    for (size_t i = 0; i < size; ++i)
      if (filter_->is_repeated(hashes[i])) to.add(at(begin + i), hashes[i]);
  }
}

histogram kmer_store::counts() {
  table_.finish();
  // Most counts are small: a map look-up per k-mer would cost more than reading the table.
  std::vector<uint64_t> small(4096, 0);
  histogram result;
  table_.for_each([&](const kmer&, uint64_t times) {
    if (times < small.size())
      ++small[times];
    else
      result.add(times);
  });
  for (size_t times = 0; times < small.size(); ++times)
    if (small[times] > 0) result.add(times, small[times]);
  return result;
}

uint64_t kmer_store::dump(const std::string& path, int k, uint64_t at_least) {
  std::ofstream out(path);
  uint64_t written = 0;
  if (out) {
    table_.for_each([&](const kmer& key, uint64_t times) {
      if (times < at_least) return;
      out << to_string(key, k) << ' ' << times << '\n';
      ++written;
    });
    out.close();
  }
  if (!out) throw std::runtime_error(path + ": can't be written: " + std::strerror(errno));
  return written;
}

}  // namespace kmer_count
