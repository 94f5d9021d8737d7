// A program with a malloc() that makes system calls when it begins, as jemalloc does, and can't be called meanwhile.
// Writes a word to the file that is named.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" void* __libc_malloc(size_t);  // NOLINT(bugprone-reserved-identifier)

namespace {

enum class state { before, beginning, working } now = state::before;

void begin() {
  now = state::beginning;
  char text[100];
  (void)!readlink("/etc/malloc.conf", text, sizeof text);
  int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
  (void)!read(fd, text, sizeof text);
  close(fd);
  fd = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
  syscall(SYS_read, fd, text, sizeof text);
  syscall(SYS_close, fd);
  now = state::working;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* malloc(size_t size) noexcept {
  if (now == state::beginning) {
    (void)!write(STDERR_FILENO, "malloc() is called while it begins\n", 35);
    _exit(3);
  }
  if (now == state::before) begin();
  return __libc_malloc(size);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::FILE* const f = std::fopen(argv[1], "w");
  return f != nullptr && std::fputs("word", f) >= 0 && std::fclose(f) == 0 ? 0 : 1;
}
