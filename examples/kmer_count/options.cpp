#include "options.hpp"

#include <CLI/CLI.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "kmer.hpp"

namespace kmer_count {
namespace {

constexpr const char* description =
    "Counts k-mers of FASTA and FASTQ files, plain or gzip, with all ranks and threads of a job.\n"
    "\n"
    "Prints the histogram - lines \"occurrences number-of-kmers\", as `jellyfish histo` does - to\n"
    "standard output, and rates and where the time went to standard error. The input is read\n"
    "twice: first a two-layer Bloom filter finds which k-mers occur more than once, then these "
    "are\n"
    "counted in a hash table. The numbers are exact.\n";

constexpr const char* examples =
    "Examples:\n"
    "  kmer_count -k 31 -t 2 reads_1.fq.gz reads_2.fq.gz > histogram.txt\n"
    "  lcirun -n 4 kmer_count -k 51 -t 8 --dump counts.txt genome.fa\n";

// CLI11 does not wrap descriptions: wrap them to fit beside the names.
std::string wrapped(const std::string& text) {
  constexpr size_t width = 66;
  std::string result, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      result += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return result + line;
}

// A range check that does not add its limits to the help text.
template <class T>
CLI::Validator between(T low, T high) {
  return CLI::Range(low, high).description("");
}

CLI::Validator one_of(std::set<std::string> words) { return CLI::IsMember(std::move(words)).description(""); }

}  // namespace

bool parse_command_line(int argc, char** argv, program_options& o, int& exit_code) {
  std::string comp = "handler", devices = "dedicated";
  bool no_filter = false, no_split = false, forward_only = false;

  CLI::App app{description, "kmer_count"};
  app.failure_message([](const CLI::App*, const CLI::Error& e) {
    return std::string("kmer_count: ") + e.what() + "\nRun with --help for more information.\n";
  });
  app.footer(examples);
  app.get_formatter()->column_width(30);
  app.add_option("files", o.files, "FASTA or FASTQ files, plain or compressed with gzip")->required()->type_name("");
  app.add_option("-k", o.k, wrapped("bases of a k-mer, 1 to 63"))
      ->check(between(1, max_k))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("-t,--threads", o.threads, wrapped("threads of each rank"))
      ->check(between(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  bool canonical = true;
  auto* flag =
      app.add_flag("-C,--canonical", canonical, wrapped("count a k-mer and its reverse complement as one (default)"));
  app.add_flag("--forward-only", forward_only, wrapped("count them apart"))->excludes(flag);
  app.add_option("--aggregate", o.aggregate,
                 wrapped("size of the batches in which k-mers travel; each thread fills one for "
                         "each destination (default: 8KiB)"))
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(between(uint64_t{sizeof(kmer)}, uint64_t{1} << 30))
      ->type_name("SIZE");
  app.add_option("--comp", comp,
                 wrapped("how batches are received: by a handler which reads them in place, or "
                         "through a completion queue a thread"))
      ->check(one_of({"handler", "cq"}))
      ->type_name("handler|cq")
      ->capture_default_str();
  app.add_option("--devices", devices, wrapped("a device for each thread, or one for all"))
      ->check(one_of({"dedicated", "shared"}))
      ->type_name("dedicated|shared")
      ->capture_default_str();
  app.add_flag("--no-filter", no_filter,
               wrapped("no Bloom filter: read the input once and count every k-mer in the table, "
                       "which takes more memory where many k-mers occur only once"));
  app.add_flag("--no-split", no_split,
               wrapped("read plain files as streams instead of cutting them by bytes: for FASTQ "
                       "files in which a few reads span several lines"));
  app.add_option("--expected-kmers", o.expected_kmers,
                 wrapped("different k-mers to expect in all, for the size of the filter; a wrong "
                         "number costs memory or time, never the result (default: estimated from "
                         "the input)"))
      ->check(between(uint64_t{1}, uint64_t{1} << 48))
      ->type_name("N");
  app.add_option("--bloom-bits", o.bloom_bits,
                 wrapped("bits of each layer of the filter for an expected k-mer (default: 16 with "
                         "--expected-kmers, else 8, as the estimate includes repeats)"))
      ->check(between(0.01, 1024.0))
      ->type_name("BITS");
  app.add_option("--high", o.high,
                 wrapped("histogram lines up to this count, all above in one more line (0: a line "
                         "for each)"))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--dump", o.dump,
                 wrapped("write lines \"k-mer count\" to FILE, or FILE.<rank> if there are several "
                         "ranks; with the filter only of k-mers that occur more than once"))
      ->type_name("FILE");
  app.add_flag("-q,--quiet", o.quiet, "print only errors to standard error");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    exit_code = app.exit(e) == 0 ? 0 : 2;
    return false;
  }
  o.comp = comp == "cq" ? delivery::queue : delivery::handler;
  o.dedicated_devices = devices == "dedicated";
  o.canonical = !forward_only;
  o.filter = !no_filter;
  o.split = !no_split;
  return true;
}

}  // namespace kmer_count
