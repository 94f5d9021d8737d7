#include "lib/tools/lcirun/output_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "lib/tools/lcirun/host.hpp"

namespace lci::launcher {

namespace {

/// Returns a descriptor of the FIFO, or -1 if there is no FIFO or no reader comes soon. In the latter case it prints a
/// line, as the caller's open() then waits for a reader, and lcirun would seem to hang.
int open_fifo(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return -1;
  constexpr int looks = 20;
  for (int i = 0; i < looks; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0) fcntl(fd, F_SETFL, O_APPEND);  // ranks may write faster than the reader reads
    if (fd >= 0 || errno != ENXIO) return fd;
    usleep(50'000);
  }
  std::fprintf(stderr, "lcirun: waits until a program reads from the FIFO '%s' (--output, --error)\n", path.c_str());
  return -1;
}

}  // namespace

std::string expand_pattern(const std::string& pattern, int rank, const std::string& host, const std::string& job_id) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      text += pattern[i];
      continue;
    }
    switch (++i < pattern.size() ? pattern[i] : '\0') {
      case 'r':
        text += std::to_string(rank);
        break;
      case 'h':
        text += host;
        break;
      case 'j':
        text += job_id;
        break;
      case '%':
        text += '%';
        break;
      default:
        throw std::invalid_argument("'" + pattern + "': % must be followed by r (rank), h (host), j (job) or %");
    }
  }
  return text;
}

output_files::output_files(const launch_options& options, const std::vector<host_share>& shares,
                           const std::string& job_id) {
  if (options.output.empty() && options.error.empty()) return;
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  for (const host_share& share : shares) {
    const std::string host = share.host.empty() ? name : share.host;
    for (int rank = share.first; rank < share.first + share.count; ++rank) {
      const auto file = [&](const std::string& pattern) {
        return pattern.empty() ? -1 : open_once(expand_pattern(pattern, rank, host, job_id));
      };
      out_.push_back(file(options.output));
      error_.push_back(file(options.error.empty() ? options.output : options.error));
    }
  }
}

output_files::~output_files() {
  for (const auto& [path, fd] : opened_) close(fd);
}

int output_files::open_once(const std::string& path) {
  const auto known = opened_.find(path);
  if (known != opened_.end()) return known->second;
  int fd = open_fifo(path);
  // O_APPEND: ranks that share a file don't overwrite each other's output.
  if (fd < 0) fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0)
    throw std::system_error(errno, std::generic_category(), "can't write to '" + path + "' (--output, --error)");
  return opened_[path] = fd;
}

std::string output_files::path_of(int descriptor) const {
  for (const auto& [path, fd] : opened_) {
    if (fd == descriptor) return path;
  }
  return {};
}

int output_files::descriptor(int rank, int stream) const {
  const auto& files = stream == stream_error ? error_ : out_;
  return size_t(rank) < files.size() ? files[size_t(rank)] : -1;
}

}  // namespace lci::launcher
