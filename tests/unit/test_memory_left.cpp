// The available memory according to the files of the host and of control groups.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "lib/base/memory_left.hpp"

namespace {

/// The /proc and /sys of an imaginary host.
struct host {
  std::string root = (std::filesystem::temp_directory_path() / "lci_memory_XXXXXX").string();

  host() {
    REQUIRE(mkdtemp(root.data()) != nullptr);
    write("/proc/meminfo",
          "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    8000 kB\nSwapFree: 500 kB\n");
  }
  ~host() { std::filesystem::remove_all(root); }
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
};

}  // namespace

TEST_CASE("the available memory is that of the host, with its swap") {
  const host h;
  const lci::memory_left left = lci::get_memory_left(h.root);
  CHECK(left.bytes == 8500 * 1024);
  CHECK(left.limit.find("MemAvailable") != std::string::npos);
}

TEST_CASE("a control group or one of its parents can limit the available memory") {
  const host h;
  const std::string groups = "/sys/fs/cgroup";
  h.write("/proc/self/cgroup", "0::/jobs/one\n");
  h.write(groups + "/jobs/one/memory.max", "max\n");
  h.write(groups + "/jobs/one/memory.current", "100000\n");
  CHECK(lci::get_memory_left(h.root).bytes == 8500 * 1024);
  h.write(groups + "/jobs/memory.max", "1000000\n");
  h.write(groups + "/jobs/memory.current", "900000\n");
  h.write(groups + "/jobs/memory.stat", "anon 700000\ninactive_file 50000\nactive_file 20000\n");
  const lci::memory_left left = lci::get_memory_left(h.root);
  CHECK(left.bytes == 170000);
  CHECK(left.limit == h.root + groups + "/jobs/memory.max");
  h.write(groups + "/jobs/one/memory.max", "120000\n");
  CHECK(lci::get_memory_left(h.root).bytes == 20000);
  h.write(groups + "/jobs/one/memory.current", "130000\n");
  CHECK(lci::get_memory_left(h.root).bytes == 0);
}

TEST_CASE("control groups of version 1 are supported, and a group that is mounted as the root") {
  const host h;
  h.write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n");
  h.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n");
  h.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1500000\n");
  h.write("/sys/fs/cgroup/memory/memory.stat", "cache 1\ntotal_inactive_file 100000\n");
  CHECK(lci::get_memory_left(h.root).bytes == 600000);
}

TEST_CASE("without information about memory there is no limit") {
  CHECK(lci::get_memory_left("/nowhere").bytes == ~size_t{0});
  CHECK(lci::get_resident_memory() > 100000);
}
