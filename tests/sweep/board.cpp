#include "tests/sweep/board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace sweep {

namespace {

/// The start time of the process in ticks since boot. Together with the process id it is a unique name.
std::string start_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return "0";
  unsigned long long start = 0;
  if (std::fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &start) != 1)
    start = 0;
  std::fclose(file);
  return std::to_string(start);
}

}  // namespace

board& shared_board() {
  // Both ranks are children of the same launcher.
  const pid_t launcher = getppid();
  const std::string name = "/lci-sweep-" + std::to_string(launcher) + "-" + start_of(launcher);
  const int fd = shm_open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(board)) != 0) {
    std::perror("the ranks' shared page");
    std::exit(2);
  }
  void* memory = mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) {
    std::perror("the ranks' shared page");
    std::exit(2);
  }
  auto& shared = *static_cast<board*>(memory);
  // The second rank removes the name, so nothing remains however the job ends.
  if (shared.attached.fetch_add(1) == 1) shm_unlink(name.c_str());
  return shared;
}

}  // namespace sweep
