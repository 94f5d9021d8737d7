// K-mers, the filter, the store and the histogram.

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "examples/kmer_count/histogram.hpp"
#include "examples/kmer_count/kmer.hpp"
#include "examples/kmer_count/kmer_store.hpp"
#include "examples/kmer_count/repeat_filter.hpp"

namespace {

using namespace kmer_count;

std::vector<std::string> scan(const std::vector<std::string>& pieces, int k, bool canonical) {
  std::vector<std::string> found;
  auto emit = [&](const kmer& m) { found.push_back(to_string(m, k)); };
  kmer_scanner<decltype(emit)> scanner(k, canonical, emit);
  for (const auto& p : pieces) scanner.feed(p.data(), p.size());
  return found;
}

using words = std::vector<std::string>;

const char* as_bytes(const std::vector<kmer>& v) { return reinterpret_cast<const char*>(v.data()); }

}  // namespace

TEST_CASE("a scanner finds the k-mers of a sequence", "[app]") {
  CHECK(scan({"ACGTT"}, 3, false) == words{"ACG", "CGT", "GTT"});
  CHECK(scan({"ACGTT"}, 3, true) == words{"ACG", "ACG", "AAC"});
  CHECK(scan({"acGtT"}, 3, true) == words{"ACG", "ACG", "AAC"});
  CHECK(scan({"AC\nGT\r\nT"}, 3, true) == words{"ACG", "ACG", "AAC"});
  CHECK(scan({"A", "CG", "", "TT"}, 3, true) == words{"ACG", "ACG", "AAC"});
  CHECK(scan({"ACNGTT"}, 3, true) == words{"AAC"});
  CHECK(scan({"AC GTTR-ACGU"}, 3, true) == words{"AAC", "ACG"});
  CHECK(scan({"AC"}, 3, true).empty());
  CHECK(scan({"ACGT"}, 4, true) == words{"ACGT"});  // its own reverse complement
  CHECK(scan({"T"}, 1, true) == words{"A"});
  const std::string t63(63, 'T'), a63(63, 'A');
  CHECK(scan({t63}, 63, true) == words{a63});
  CHECK(scan({t63}, 63, false) == words{t63});
  CHECK(scan({t63 + "G"}, 63, false) == words{t63, t63.substr(1) + "G"});
}

TEST_CASE("k-mers are dealt evenly to ranks", "[app]") {
  std::mt19937_64 r(1);
  for (const int nranks : {1, 2, 3, 7, 64}) {
    std::vector<int> share(static_cast<size_t>(nranks), 0);
    const int n = 2000 * nranks;
    for (int i = 0; i < n; ++i) {
      // Neighbours in a sequence differ little.
      const kmer m{static_cast<uint64_t>(i) << 2, r() & 3};
      ++share.at(static_cast<size_t>(owner_of(hash_of(m), nranks)));
    }
    for (const int s : share) CHECK(s == Approx(2000).epsilon(0.15));
  }
}

TEST_CASE("the filter forgets nothing and seldom errs", "[app]") {
  std::mt19937_64 r(2);
  const size_t n = 100000;
  repeat_filter filter(2 * n, 16);
  std::vector<uint64_t> once(n), twice(n);
  for (auto& h : once) h = r();
  for (auto& h : twice) h = r();
  size_t promoted = 0;
  for (const auto h : once) promoted += filter.insert(h);
  for (int round = 0; round < 3; ++round) {
    for (const auto h : twice) promoted += filter.insert(h);
  }
  size_t missed = 0, mistaken = 0;
  for (const auto h : twice) missed += !filter.is_repeated(h);
  for (const auto h : once) mistaken += filter.is_repeated(h);
  CHECK(missed == 0);
  CHECK(mistaken < n / 50);
  CHECK(promoted >= n - n / 50);  // one that seems repeated from the start is not promoted again
  CHECK(promoted <= n + n / 50);
}

TEST_CASE("of threads which insert the same at once, just one comes first", "[app]") {
  // Each hash is inserted exactly twice, by two threads at the same time. If both inserts returned that they were the
  // first, the hash would not be counted as repeated.
  const size_t n = 200000;
  repeat_filter filter(n, 16);
  const auto insert = [&] {
    std::mt19937_64 r(3);
    for (size_t i = 0; i < n; ++i) filter.insert(r());
  };
  std::thread other(insert);
  insert();
  other.join();
  std::mt19937_64 r(3);
  size_t missed = 0;
  for (size_t i = 0; i < n; ++i) missed += !filter.is_repeated(r());
  CHECK(missed == 0);
}

TEST_CASE("a store counts exactly, even with a filter that is far too small", "[app]") {
  std::mt19937_64 r(4);
  std::vector<kmer> all;
  histogram expected;
  for (uint64_t i = 0; i < 20000; ++i) {
    const kmer m{i * 0x9e3779b97f4a7c15u, i};
    const uint64_t times = r() % 3 == 0 ? 1 + r() % 5 : 1;
    for (uint64_t t = 0; t < times; ++t) all.push_back(m);
    expected.add(times);
  }
  std::shuffle(all.begin(), all.end(), r);
  const bool use_filter = GENERATE(true, false);
  const double bits = GENERATE(0.01, 0.5, 16.0);
  kmer_store store(use_filter, 20000, bits, 1);
  kmer_table::writer writer(store.table(), 0);
  if (use_filter) {
    uint64_t repeated = 0;
    for (size_t at = 0; at < all.size(); at += 507) {
      repeated += store.filter(as_bytes(all) + at * sizeof(kmer), std::min<size_t>(507, all.size() - at));
    }
    store.prepare_counting(repeated);
  }
  for (size_t at = 0; at < all.size(); at += 33) {
    store.count(writer, as_bytes(all) + at * sizeof(kmer), std::min<size_t>(33, all.size() - at));
  }
  writer.flush();
  histogram found = store.counts();
  CHECK(found.complete_singles(all.size()));
  CHECK(found.bins() == expected.bins());
  CHECK(found.occurrences() == all.size());
}

TEST_CASE("threads that count together lose nothing", "[app]") {
  constexpr size_t n_threads = 4, each = 30000;
  const bool use_filter = GENERATE(true, false);
  kmer_store store(use_filter, 5000, 8, n_threads);
  const auto on_threads = [](auto body) {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < n_threads; ++t) threads.emplace_back(body, t);
    for (auto& t : threads) t.join();
  };
  // Each thread has each of 5000 k-mers six times.
  const auto kmers_of = [](size_t thread) {
    std::vector<kmer> all;
    for (size_t i = 0; i < each; ++i) all.push_back(kmer{(i + 17 * thread) % 5000 * 0x9e3779b97f4a7c15u, 5});
    return all;
  };
  if (use_filter) {
    std::atomic<uint64_t> repeated{0};
    on_threads([&](size_t t) { repeated += store.filter(as_bytes(kmers_of(t)), each); });
    CHECK(repeated > 4000);  // the others look as if they had been by mistake
    CHECK(repeated <= 5000);
    store.prepare_counting(repeated);
  }
  std::vector<std::unique_ptr<kmer_table::writer>> writers;
  for (size_t t = 0; t < n_threads; ++t) writers.push_back(std::make_unique<kmer_table::writer>(store.table(), t));
  on_threads([&](size_t t) {
    const auto all = kmers_of(t);
    for (size_t at = 0; at < each; at += 50) {
      store.count(*writers[t], as_bytes(all) + at * sizeof(kmer), 50);
      if (at % 1000 == 0 && writers[t]->has_more()) writers[t]->look();
    }
    writers[t]->flush();
  });
  const histogram found = store.counts();
  CHECK(found.bins() == std::map<uint64_t, uint64_t>{{6 * n_threads, 5000}});
}

TEST_CASE("a histogram notices k-mers that were lost or doubled", "[app]") {
  histogram h;
  h.add(1, 3);
  h.add(2, 10);
  h.add(5, 2);
  histogram right = h, lost = h, doubled = h;
  CHECK(right.complete_singles(37));  // 7 once, 3 of them in the table
  CHECK(right.at(1) == 7);
  CHECK(right.distinct() == 19);
  CHECK_FALSE(lost.complete_singles(32));
  CHECK_FALSE(doubled.complete_singles(20));
  histogram none;
  none.add(2, 1);
  CHECK(none.complete_singles(2));
  CHECK(none.at(1) == 0);
}

TEST_CASE("a histogram prints as jellyfish does", "[app]") {
  histogram h;
  h.add(10000, 1);
  h.add(3, 2);
  h.add(1, 7);
  h.add(10001, 4);
  h.add(2000000, 1);
  std::ostringstream limited, all;
  h.print(limited, 10000);
  h.print(all, 0);
  CHECK(limited.str() == "1 7\n3 2\n10000 1\n10001 5\n");
  CHECK(all.str() == "1 7\n3 2\n10000 1\n10001 4\n2000000 1\n");
}
