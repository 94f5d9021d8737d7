// Reading small files, such as those below /proc and /sys.
#include <fcntl.h>
#include <lct.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "lib/layers/lct/misuse.hpp"

ssize_t LCT_read_file(char* buffer, size_t max, const char* filename_fmt, ...) {
  constexpr const char* me = "LCT_read_file";
  lct::require(me, "buffer", buffer);
  lct::require(me, "filename_fmt", filename_fmt);
  if (max == 0) lct::fail(me, "max = 0, but must have room for the final 0");
  buffer[0] = '\0';
  char name[4096];  // PATH_MAX of the system
  va_list arguments;
  va_start(arguments, filename_fmt);
  const int length = std::vsnprintf(name, sizeof name, filename_fmt, arguments);
  va_end(arguments);
  if (length < 0 || length >= static_cast<int>(sizeof name)) {
    errno = length < 0 ? EINVAL : ENAMETOOLONG;
    return -1;
  }
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  size_t got = 0;
  ssize_t n = 1;
  // Files of the kernel may return their content in pieces.
  while (got < max - 1 && n != 0) {
    n = read(fd, buffer + got, max - 1 - got);
    if (n > 0) got += static_cast<size_t>(n);
    if (n < 0 && errno != EINTR) break;
  }
  const int why = errno;
  close(fd);
  errno = why;
  buffer[n < 0 ? 0 : got] = '\0';
  return n < 0 ? -1 : static_cast<ssize_t>(got);
}
