#include "file_data.hpp"

#include <unistd.h>

#include <cerrno>

namespace io_server {

ssize_t read_part(int fd, char* to, size_t size, off_t at) {
  ssize_t n;
  while ((n = pread(fd, to, size, at)) < 0 && errno == EINTR) {
  }
  return n;
}

ssize_t write_part(const open_file& file, const char* from, size_t size, off_t at, bool appends) {
  size_t done = 0;
  while (done < size) {
    const ssize_t n = appends ? ::write(file.fd.get(), from + done, size - done)
                              : pwrite(file.fd.get(), from + done, size - done, at + static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return done > 0 ? static_cast<ssize_t>(done) : n;
    done += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(done);
}

off_t behind_part(const open_file& file, off_t at, ssize_t written, bool appends) {
  return appends ? lseek(file.fd.get(), 0, SEEK_CUR) : at + written;
}

}  // namespace io_server
