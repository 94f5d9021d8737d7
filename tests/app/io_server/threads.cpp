// Calls of several threads, in the folder that is named. What is printed does not depend on where the folder is, so a
// test compares a run in a local folder with one in a folder of the server's.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/app/io_server/shown_results.hpp"

namespace {

// Another thread locks parts that are relative to the end and to the position while this one writes.
void locks_and_positions() {
  const int fd = open("numbers", O_CREAT | O_RDWR | O_TRUNC, 0644);
  std::atomic<bool> over{false};
  std::thread locks([&] {
    while (!over) {
      struct flock at_end {};
      at_end.l_type = F_WRLCK;
      at_end.l_whence = SEEK_END;
      fcntl(fd, F_SETLK, &at_end);
      (void)!lockf(fd, F_ULOCK, 5);
    }
  });
  for (int i = 0; i < 3000; ++i) (void)!write(fd, &i, sizeof i);
  over = true;
  locks.join();
  SHOW(lseek(fd, 0, SEEK_CUR));
  long misplaced = 0;
  for (int i = 0, found = -1; i < 3000; ++i, found = -1)
    if (pread(fd, &found, sizeof found, i * static_cast<off_t>(sizeof i)) != sizeof found || found != i) ++misplaced;
  SHOW(misplaced);
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  locks_and_positions();
  return 0;
}
