// Calls of several threads, in the folder that is named. What is printed does not depend on where the folder is, so a
// test compares a run in a local folder with one in a folder of the server's.
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/app/io_server/shown_results.hpp"

namespace {

int file = -1;

void* read_for_ever(void*) {
  char some[8192];
  for (;;) (void)!pread(file, some, sizeof some, 0);
}

void* open_for_ever(void*) {
  for (;;) {
    const int fd = open("file", O_RDONLY);
    int before = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    close(fd);
    pthread_setcancelstate(before, nullptr);
  }
}

void* wait_for_lock(void*) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  fcntl(file, F_OFD_SETLKW, &whole);
  return nullptr;
}

std::atomic<bool> has_locked{false};

// fstat() and flock() are no cancellation points.
void* call_what_is_not_cancelled(void*) {
  struct stat s {};
  for (int i = 0; i < 1000; ++i) fstat(file, &s);
  flock(file, LOCK_EX);
  has_locked = true;
  for (;;) pthread_testcancel();
}

/// Prints how many of several threads that call `body` end when they are cancelled.
void cancel(const char* what, void* (*body)(void*)) {
  long ended = 0;
  for (int i = 0; i < 20; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, body, nullptr);
    usleep(static_cast<useconds_t>(200 * i));
    pthread_cancel(thread);
    void* result = nullptr;
    pthread_join(thread, &result);
    if (result == PTHREAD_CANCELED) ++ended;
  }
  show(what, ended);
}

void cancelled_threads() {
  file = open("file", O_CREAT | O_RDWR, 0644);
  SHOW(ftruncate(file, 100'000));
  cancel("of pread", read_for_ever);
  cancel("of open", open_for_ever);
  const int other = open("file", O_RDWR);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  SHOW(fcntl(other, F_OFD_SETLK, &whole));
  cancel("of F_OFD_SETLKW", wait_for_lock);
  SHOW(flock(other, LOCK_EX));
  pthread_t thread;
  pthread_create(&thread, nullptr, call_what_is_not_cancelled, nullptr);
  usleep(10'000);
  pthread_cancel(thread);
  usleep(100'000);
  SHOW(flock(other, LOCK_UN));
  void* result = nullptr;
  pthread_join(thread, &result);
  SHOW(result == PTHREAD_CANCELED && has_locked);
  close(other);
  char some[8192];
  SHOW(pread(file, some, sizeof some, 0));
  close(file);
}

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
  cancelled_threads();
  locks_and_positions();
  return 0;
}
