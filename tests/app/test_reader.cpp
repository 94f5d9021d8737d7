// However ranks and threads share a file, together they find each k-mer once.

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "examples/kmer_count/input.hpp"
#include "tests/app/fastx_cases.hpp"

namespace {

using namespace kmer_count;
using fastx_cases::counts;

counts read_by_all(const std::string& path, const input_options& options, int nranks, size_t& blocks) {
  const input_set input({path}, options);
  counts result;
  for (int rank = 0; rank < nranks; ++rank) {
    input_share share(input, options, rank, nranks);
    std::vector<std::string> storage(options.threads);
    size_t ended = 0;
    for (size_t thread = 0; ended < options.threads; thread = (thread + 1) % options.threads) {
      text_block block;
      const auto found = share.next(thread, block, storage[thread]);
      if (found == input_share::result::end) {
        ++ended;
        continue;
      }
      if (found != input_share::result::block) FAIL("busy, though no other thread reads");
      ended = 0;
      ++blocks;
      text_counts records;
      for_each_kmer(block, options.k, true, records, [&](const kmer& m) { ++result[to_string(m, options.k)]; });
    }
  }
  return result;
}

std::string error_of(const std::string& path, input_options options = {}) {
  options.k = 5;
  size_t blocks = 0;
  try {
    read_by_all(path, options, 2, blocks);
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("however a file is cut, each k-mer is found once", "[app]") {
  const fastx_cases::scratch_folder folder;
  const uint64_t seed = GENERATE(1, 2);
  for (const auto& c : fastx_cases::all(seed)) {
    const std::string plain = folder.write("plain", c.text);
    const std::string packed = folder.write("packed.gz", c.text, 3);
    for (const int k : {1, 4, 15, 31, 32, 51, 63}) {
      const counts expected = fastx_cases::count_kmers(c.sequences, static_cast<size_t>(k));
      for (const int nranks : {1, 2, 5}) {
        for (const size_t size : {size_t{3}, size_t{64}, size_t{1000}, size_t{1} << 20}) {
          if (size == 3 && k != 15) continue;  // slow: many tiny pieces
          input_options options;
          options.k = k;
          options.threads = 2;
          options.chunk_size = size;
          options.block_size = size;
          size_t blocks = 0;
          INFO(c.name << ", seed " << seed << ", k " << k << ", ranks " << nranks << ", pieces of " << size);
          CHECK(read_by_all(plain, options, nranks, blocks) == expected);
          if (c.sequences.size() >= 20 && size == 64) CHECK(blocks > 10);  // it was cut
          CHECK(read_by_all(packed, options, nranks, blocks) == expected);
          options.split = false;
          CHECK(read_by_all(plain, options, nranks, blocks) == expected);
        }
      }
    }
  }
}

TEST_CASE("the number of k-mers is estimated from the input, and exact for small files", "[app]") {
  const fastx_cases::scratch_folder folder;
  for (const auto& c : fastx_cases::all(7)) {
    uint64_t n = 0;
    for (const auto& [m, times] : fastx_cases::count_kmers(c.sequences, 15)) n += times;
    input_options options;
    options.k = 15;
    INFO(c.name);
    CHECK(input_set({folder.write("a", c.text)}, options).expected_kmers() == n);
    CHECK(input_set({folder.write("a.gz", c.text, 1)}, options).expected_kmers() == n);
  }
  // A file that is larger than the part from which the number is estimated.
  std::string big;
  while (big.size() < 5'000'000) big += "@r\nACGTTGCAACCGGTTAGCATC\n+\nIIIIIIIIIIIIIIIIIIIII\n";
  const double kmers = static_cast<double>(big.size()) / 49 * 7;
  input_options options;
  options.k = 15;
  for (const int members : {0, 1}) {
    const input_set input({folder.write("big", big, members)}, options);
    CHECK(static_cast<double>(input.expected_kmers()) == Approx(kmers).epsilon(members ? 0.5 : 0.01));
  }
}

TEST_CASE("one thread reads all streams of a rank if the others read none", "[app]") {
  const fastx_cases::scratch_folder folder;
  const auto cases = fastx_cases::all(5);
  const auto& c = cases[10];
  input_options options;
  options.k = 15;
  options.threads = 1;
  options.block_size = 1000;
  const input_set input({folder.write("a.gz", c.text, 1), folder.write("b.gz", c.text, 1)}, options);
  input_share share(input, options, 0, 1);
  std::string storage;
  text_block block;
  size_t kmers = 0;
  while (share.next(1, block, storage) == input_share::result::block) {
    text_counts records;
    for_each_kmer(block, 15, true, records, [&](const kmer&) { ++kmers; });
  }
  CHECK(share.next(0, block, storage) == input_share::result::end);
  size_t expected = 0;
  for (const auto& [m, times] : fastx_cases::count_kmers(c.sequences, 15)) expected += 2 * times;
  CHECK(kmers == expected);
}

TEST_CASE("files that can't be read are named with the reason", "[app]") {
  const fastx_cases::scratch_folder folder;
  CHECK(contains(error_of("/nowhere/reads.fq"), "/nowhere/reads.fq: can't be opened"));
  CHECK(contains(error_of("/tmp"), "not a regular file"));
  CHECK(contains(error_of(folder.write("t", "hello\n")), "neither FASTA nor FASTQ"));

  const std::string good = "@a\nACGTACGT\n+\nIIIIIIII\n";
  CHECK(error_of(folder.write("t", good)).empty());
  CHECK(contains(error_of(folder.write("t", good + "@b\nACGTACGT\n+\nIII")), "cut off"));
  CHECK(contains(error_of(folder.write("t", good + "@b\nACGTACGT\n")), "cut off"));
  CHECK(contains(error_of(folder.write("t", good + "@b\nACGTACGT\n+\nIIIIIIIIIII\n")), "quality is longer"));
  CHECK(contains(error_of(folder.write("t", good + "ACGT\n")), "must begin with '@'"));
  CHECK(contains(error_of(folder.write("t", good + "ACGT\n")), "byte 23"));
  input_options streamed;
  streamed.split = false;
  CHECK(contains(error_of(folder.write("t", good + "ACGT\n"), streamed), "must begin with '@'"));
  CHECK(contains(error_of(folder.write("t", good + "@b\nACGTACGT\n+\nIII"), streamed), "cut off"));

  std::string text;
  for (int i = 0; i < 2000; ++i) text += "@" + std::to_string(i * 7919) + "\nACGT\n+\nIIII\n";
  const std::string path = folder.write("t.gz", text, 1);
  std::string packed;
  {
    std::ifstream in(path, std::ios::binary);
    packed.assign(std::istreambuf_iterator<char>(in), {});
  }
  CHECK(error_of(path).empty());
  CHECK(contains(error_of(folder.write("t.gz", packed.substr(0, packed.size() / 2))), "cut off"));
  packed[packed.size() / 2] = static_cast<char>(~packed[packed.size() / 2]);
  CHECK_FALSE(error_of(folder.write("t.gz", packed)).empty());
}

TEST_CASE("wrapped reads that begin late in a file are refused, not miscounted", "[app]") {
  const fastx_cases::scratch_folder folder;
  std::string text;
  while (text.size() < 2 << 20) text += "@r\nACGTTGCAACCGGTTAGCATC\n+\nIIIIIIIIIIIIIIIIIIIII\n";
  std::vector<std::string> sequences(text.size() / 49, "ACGTTGCAACCGGTTAGCATC");
  for (int i = 0; i < 300; ++i) {
    text += "@w\nACGTTGCAAC\nCGGTTAGCATC\n+\n@@@@@@@@@@\n@+@@@@@@@@@\n";
    sequences.push_back("ACGTTGCAACCGGTTAGCATC");
  }
  const std::string path = folder.write("late", text);
  const counts expected = fastx_cases::count_kmers(sequences, 5);
  for (const size_t chunk : {size_t{100}, size_t{1000}, size_t{1} << 16}) {
    input_options options;
    options.k = 5;
    options.chunk_size = chunk;
    size_t blocks = 0;
    std::string error;
    counts found;
    try {
      found = read_by_all(path, options, 2, blocks);
    } catch (const input_error& e) {
      error = e.what();
    }
    INFO("pieces of " << chunk << ": " << error);
    CHECK((contains(error, "--no-split") || found == expected));
  }
  input_options streamed;
  streamed.k = 5;
  streamed.split = false;
  size_t blocks = 0;
  CHECK(read_by_all(path, streamed, 2, blocks) == expected);
}
