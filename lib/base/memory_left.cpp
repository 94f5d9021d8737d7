#include "lib/base/memory_left.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace lci {

namespace {

constexpr size_t kib = 1024;

/// The number after `word` at the start of a line; 0 if there is none.
size_t number_of(const std::string& file, const std::string& word) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    size_t number = 0;
    if (words >> first && first == word && words >> number) return number;
  }
  return 0;
}

/// Returns false if the file holds no number, as without a limit ("max").
bool read_number(const std::string& file, size_t& number) {
  std::ifstream in(file);
  return static_cast<bool>(in >> number);
}

/// The file names of one of the two versions of control groups.
struct group_files {
  const char* limit;
  const char* used;
  const char* kept_1;  // in memory.stat: page cache, which is reclaimed when memory is needed
  const char* kept_2;
};
constexpr group_files version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                                "total_active_file"};
constexpr group_files version_2{"memory.max", "memory.current", "inactive_file", "active_file"};

void look_at_group(const std::string& folder, const group_files& files, memory_left& least) {
  size_t limit, used;
  if (!read_number(folder + "/" + files.limit, limit) || !read_number(folder + "/" + files.used, used)) return;
  const std::string stat = folder + "/memory.stat";
  const size_t kept = number_of(stat, files.kept_1) + number_of(stat, files.kept_2);
  const size_t needed = used - (kept < used ? kept : used);
  const size_t left = limit - (needed < limit ? needed : limit);
  if (left < least.bytes) least = {left, folder + "/" + files.limit};
}

/// Reads a group and its ancestors. In a container, the mount point itself may be its group.
void look_at_groups(const std::string& mount, std::string path, const group_files& files, memory_left& least) {
  for (;;) {
    look_at_group(mount + path, files, least);
    if (path.empty()) return;
    path.erase(path.find_last_of('/'));
  }
}

}  // namespace

memory_left get_memory_left(const std::string& root) {
  memory_left least;
  const std::string host = root + "/proc/meminfo";
  if (const size_t available = number_of(host, "MemAvailable:"); available > 0)
    least = {(available + number_of(host, "SwapFree:")) * kib, host + ": MemAvailable"};
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    const std::string group = path == "/" ? "" : path;
    if (controllers == ",,") look_at_groups(root + "/sys/fs/cgroup", group, version_2, least);
    if (controllers.find(",memory,") != std::string::npos)
      look_at_groups(root + "/sys/fs/cgroup/memory", group, version_1, least);
  }
  return least;
}

size_t get_resident_memory() {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::ifstream in("/proc/self/statm");
  size_t all = 0, resident = 0;
  in >> all >> resident;
  return resident * page;
}

}  // namespace lci
