// `--output PATTERN`: a file for the output of one rank or of several.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

/// %r rank, %h host, %j job, %% a percent sign. Throws std::invalid_argument for other characters after %.
std::string expand_pattern(const std::string& pattern, int rank, const std::string& host, const std::string& job_id);

/// Opens and truncates all files at the start, so that errors are reported before any rank runs.
class output_files {
 public:
  /// Throws std::system_error that names the file.
  output_files(const launch_options& options, const std::vector<host_share>& shares, const std::string& job_id);
  ~output_files();
  output_files(const output_files&) = delete;
  output_files& operator=(const output_files&) = delete;

  /// The descriptor of the file for a rank's stream; -1: the stream has no file.
  int descriptor(int rank, int stream) const;
  /// Returns the path of an open file.
  std::string path_of(int descriptor) const;

 private:
  int open_once(const std::string& path);

  std::map<std::string, int> opened_;
  std::vector<int> out_, error_;  // by rank
};

}  // namespace lci::launcher
