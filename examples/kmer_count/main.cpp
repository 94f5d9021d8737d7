// Distributed k-mer counting (section 5.3 of the LCI paper): see --help.

#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "exchange.hpp"
#include "input.hpp"
#include "job.hpp"
#include "options.hpp"
#include "report.hpp"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void count(const kmer_count::program_options& options) {
  using namespace kmer_count;
  const double started = now();
  input_options settings;
  settings.k = options.k;
  settings.split = options.split;
  settings.threads = options.threads;
  const input_set input(options.files, settings);

  exchange net(options);
  try {
    const bool talks = net.rank() == 0 && !options.quiet;
    if (talks) print_start(std::cerr, options, net, input);
    job counting(options, net, input, settings);
    const job_result result = counting.run();
    if (net.rank() != 0) return;
    result.counts.print(std::cout, options.high);
    std::cout.flush();
    if (!std::cout) throw std::runtime_error("the histogram can't be written to standard output");
    if (talks) print_result(std::cerr, options, net, result, now() - started);
  } catch (const std::exception& e) {
    net.fail(e.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  kmer_count::program_options options;
  int exit_code = 0;
  if (!kmer_count::parse_command_line(argc, argv, options, exit_code)) return exit_code;
  try {
    count(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "kmer_count: %s\n", e.what());
    return 1;
  }
}
