// Restores the state that an executed program inherits: descriptors of remote files, and the working folder.
#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "folders.hpp"
#include "real.hpp"
#include "streams.hpp"

namespace io_shim {

namespace {

bool is_ours(int fd) {
  char path[48], target[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const ssize_t n = IO_REAL(readlink)(path, target, sizeof target - 1);
  if (n < 0) return false;
  target[n] = '\0';
  return std::strncmp(target, "/memfd:lci_io_file", 18) == 0;
}

// Runs before main(), so that the standard streams use remote files if descriptors 0 to 2 are remote.
__attribute__((constructor)) void inherit() {
  if (configured().server.empty()) return;
  DIR* d = IO_REAL(opendir)("/proc/self/fd");
  if (d == nullptr) return;
  std::vector<int> found;
  while (const dirent* e = IO_REAL(readdir)(d))
    if (e->d_name[0] != '.' && is_ours(std::atoi(e->d_name))) found.push_back(std::atoi(e->d_name));
  IO_REAL(closedir)(d);
  for (const int fd : found) {
    auto file = remote_file::inherit(fd);
    if (file == nullptr) continue;
    const bool is_cwd = file->is_cwd();
    set_file(fd, std::move(file));
    if (is_cwd) inherit_cwd(fd);
    follow_standard_stream(fd);
  }
}

}  // namespace

}  // namespace io_shim
