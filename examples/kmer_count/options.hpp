// The command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kmer_count {

enum class delivery { handler, queue };

struct program_options {
  std::vector<std::string> files;
  int k = 51;
  size_t threads = 1;
  uint64_t aggregate = 8192;  // bytes of a batch
  delivery comp = delivery::handler;
  bool dedicated_devices = true;
  bool canonical = true;
  bool filter = true;
  bool split = true;
  uint64_t expected_kmers = 0;  // 0: estimated from the input
  double bloom_bits = 0;        // 0: default, which depends on the origin of expected_kmers
  uint64_t high = 10000;
  std::string dump;
  bool quiet = false;
};

/// Fills `options` from the command line. Returns false if the program must end with `exit_code`; help or an error has
/// been printed.
bool parse_command_line(int argc, char** argv, program_options& options, int& exit_code);

}  // namespace kmer_count
