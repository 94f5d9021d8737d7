// Clients of the I/O server that come, use a file and go, without closing it: io_visits ADDRESS TIMES.
#include <fcntl.h>
#include <sys/file.h>

#include <cstdio>
#include <cstdlib>

#include "examples/io_server/client/client.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    io_server::client c(argv[1], 30);
    io_server::client::opened file;
    char text[8] = "";
    size_t done = 0;
    int error = c.open("visited", O_CREAT | O_RDWR, 0600, &file);
    if (error == 0) error = c.write(file.handle, "visitor", 7, 0, &done);
    if (error == 0) error = c.read(file.handle, text, 7, 0, &done);
    if (error == 0) error = c.call(io_server::op::flock, file.handle, LOCK_EX);
    if (error == 0 && done == 7) continue;
    std::fprintf(stderr, "io_visits: client %d: error %d, %zu bytes\n", i, error, done);
    return 1;
  }
  return 0;
}
