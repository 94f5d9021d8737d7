// Calls that few programs make, in the folder that is named, one line of output each. What they print does not depend
// on where the folder is, so a test compares a run in a local folder with one in a folder of the server's.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/app/io_server/shown_results.hpp"

namespace {

std::string content(const char* path) {
  char text[100] = {};
  const int fd = open(path, O_RDONLY);
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  return {text, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

long mode_of(const char* path) {
  struct stat s {};
  return lstat(path, &s) == 0 ? s.st_mode : -1;
}

void formatted() {
  const int fd = open("text", O_CREAT | O_RDWR, 0644);
  SHOW(dprintf(fd, "%d and %s\n", 5, "six"));
  const std::string much(100'000, 'x');
  SHOW(dprintf(fd, "%s", much.c_str()));
  SHOW(lseek(fd, 0, SEEK_CUR));
  std::printf("%s", content("text").substr(0, 10).c_str());
  close(fd);
  SHOW(dprintf(open("text", O_RDONLY), "no"));
}

// Names for what descriptors are open for: a file without a name (O_TMPFILE), and one that has another name by now.
void named_descriptors() {
  const auto name = [](int fd, const char* as) {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    return linkat(AT_FDCWD, path.c_str(), AT_FDCWD, as, AT_SYMLINK_FOLLOW);
  };
  int fd = open(".", O_TMPFILE | O_RDWR, 0640);
  SHOW(write(fd, "nameless", 8));
  SHOW(name(fd, "named"));
  SHOW(name(fd, "named"));
  SHOW(name(fd, "none/named"));
  show("named", content("named"));
  SHOW(mode_of("named"));
  SHOW(rename("named", "renamed"));
  SHOW(close(open("named", O_CREAT | O_WRONLY, 0600)));
  SHOW(name(fd, "again"));
  show("again", content("again"));
  close(fd);
  fd = open(".", O_TMPFILE | O_RDWR | O_EXCL, 0640);
  SHOW(name(fd, "never"));
  close(fd);
  fd = open(".", O_RDONLY);
  SHOW(name(fd, "folder"));
  close(fd);
}

void holes() {
  const int fd = open("sparse", O_CREAT | O_RDWR, 0644);
  SHOW(pwrite(fd, "data", 4, 1 << 20));
  SHOW(ftruncate(fd, 3 << 20));
  SHOW(lseek(fd, 0, SEEK_DATA));
  SHOW(lseek(fd, 0, SEEK_CUR));
  SHOW(lseek(fd, 1 << 20, SEEK_HOLE));
  SHOW(lseek(fd, 2 << 20, SEEK_HOLE));
  SHOW(lseek(fd, 2 << 20, SEEK_DATA));
  SHOW(lseek(fd, 3 << 20, SEEK_HOLE));
  SHOW(lseek(fd, -1, SEEK_DATA));
  SHOW(lseek(fd, 0, 9));
  const int end = open("sparse", O_WRONLY | O_APPEND);
  SHOW(lseek(end, 0, SEEK_DATA));
  SHOW(write(end, "!", 1));
  SHOW(lseek(end, 0, SEEK_CUR));
  close(end);
  close(fd);
}

void modes() {
  SHOW(symlink("text", "link"));
  SHOW(fchmodat(AT_FDCWD, "text", 0604, AT_SYMLINK_NOFOLLOW));
  SHOW(mode_of("text"));
  SHOW(lchmod("text", 0640));
  SHOW(mode_of("text"));
  SHOW(fchmodat(AT_FDCWD, "link", 0600, AT_SYMLINK_NOFOLLOW));
  SHOW(lchmod("link", 0600));
  SHOW(lchmod("none", 0600));
  SHOW(mode_of("text"));
}

void listings() {
  std::vector<std::string> names;
  const int fd = open(".", O_RDONLY | O_DIRECTORY);
  alignas(dirent64) char records[100];
  for (ssize_t n; (n = getdents64(fd, records, sizeof records)) > 0;)
    for (ssize_t at = 0; at < n;) {
      const auto* e = reinterpret_cast<const dirent64*>(records + at);
      names.emplace_back(e->d_name);
      at += e->d_reclen;
    }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
  SHOW(getdents64(fd, records, sizeof records));
  close(fd);
  SHOW(getdents64(open("text", O_RDONLY), records, sizeof records));

  DIR* const d = opendir(".");
  dirent entry, *result = nullptr;
  size_t count = 0;
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  while (readdir_r(d, &entry, &result) == 0 && result != nullptr) ++count;
  SHOW(count - names.size());
  SHOW(readdir_r(d, &entry, &result));
  SHOW(result == nullptr);
  closedir(d);

  char here[PATH_MAX], same[PATH_MAX];
  SHOW(getwd(here) == here && getcwd(same, sizeof same) == same && std::strcmp(here, same) == 0);
}

void flags() {
  struct stat s {};
  struct statx x {};
  constexpr int bad = 0x4000000;
  SHOW(fstatat(AT_FDCWD, "text", &s, bad));
  SHOW(statx(AT_FDCWD, "text", bad, 0, &x));
  SHOW(statx(AT_FDCWD, "text", 0, STATX__RESERVED, &x));
  // As Rust's library calls it, to learn of its existence.
  const char* volatile no_path = nullptr;
  struct statx* volatile no_result = nullptr;
  SHOW(statx(0, no_path, 0, STATX_BASIC_STATS, no_result));
  SHOW(fstatat(0, no_path, &s, 0));
  SHOW(stat(no_path, &s));
  SHOW(open(no_path, O_RDONLY));
  SHOW(access(no_path, F_OK));
  SHOW(readlinkat(AT_FDCWD, no_path, reinterpret_cast<char*>(&x), sizeof x));
  SHOW(fchownat(AT_FDCWD, no_path, 0, 0, AT_EMPTY_PATH));
  SHOW(rename(no_path, "text"));
  SHOW(rename("text", no_path));
  SHOW(symlink(no_path, "none"));
  SHOW(symlink("none", no_path));
  SHOW(chdir(no_path));
  SHOW(faccessat(AT_FDCWD, "text", F_OK, bad));
  SHOW(fchownat(AT_FDCWD, "text", getuid(), getgid(), bad));
  SHOW(utimensat(AT_FDCWD, "text", nullptr, bad));
  SHOW(linkat(AT_FDCWD, "text", AT_FDCWD, "other", bad));
  SHOW(access("other", F_OK));
  const timespec times[] = {{1, 0}, {2, 1'000'000'000}};
  SHOW(utimensat(AT_FDCWD, "text", times, 0));
  SHOW(lgetxattr("none", "user.a", nullptr, 0));
  SHOW(setxattr("none", "user.a", "", 0, 0));
  SHOW(listxattr("none", nullptr, 0));
  SHOW(mkfifo("text", 0600));
  SHOW(mknod(".", S_IFIFO | 0600, 0));
  SHOW(ftok("none", 1));
  SHOW(ftok("text", 1) == ftok("./text", 257) && ftok("text", 1) != ftok(".", 1));
  SHOW(removexattr("text/x", "user.a"));
}

void descriptors() {
  void* volatile nowhere = nullptr;  // volatile: the compiler warns of a null pointer that it knows
  const int fd = open("text", O_RDWR);
  SHOW(fcntl(fd, F_GETOWN));
  SHOW(fcntl(fd, F_SETOWN, getpid()));
  SHOW(fcntl(fd, F_GETSIG));
  SHOW(fcntl(fd, F_GETLEASE) == F_UNLCK);
  SHOW(fcntl(fd, F_GETPIPE_SZ));
  SHOW(fcntl(fd, 9999));
  for (int waits_not : {1, 0}) {
    SHOW(ioctl(fd, FIONBIO, &waits_not));
    SHOW(fcntl(fd, F_GETFL) & O_NONBLOCK);
  }
  SHOW(ioctl(fd, TCGETS, nullptr));
  SHOW(read(fd, nowhere, 10));
  SHOW(pread(fd, nowhere, 10, 0));
  SHOW(write(fd, nowhere, 10));
  SHOW(pwrite(fd, nowhere, 10, 0));
  char memory[20] = "0123456789";
  const iovec one_nowhere[] = {{nowhere, 10}, {memory, 4}}, negative[] = {{memory, 5}, {memory, SIZE_MAX}};
  SHOW(readv(fd, one_nowhere, 2));
  SHOW(preadv(fd, one_nowhere, 2, 0));
  SHOW(writev(fd, one_nowhere, 2));
  SHOW(readv(fd, negative, 2));
  SHOW(writev(fd, negative, 2));
  SHOW(pwritev(fd, negative, 2, 0));
  SHOW(readv(fd, static_cast<const iovec*>(nowhere), 2));
  SHOW(writev(fd, negative, -1));
  SHOW(lseek(fd, 0, SEEK_CUR));
  close(fd);
}

std::string folder_below(const std::string& top) {
  char now[PATH_MAX];
  if (getcwd(now, sizeof now) == nullptr) return std::strerror(errno);
  return std::strncmp(now, top.c_str(), top.size()) == 0 ? now + top.size() : now;
}

/// Calls chdir() and fchdir() for folders that are reached by symbolic links. Afterwards `..` must be the parent of the
/// link's target, not of the link.
void linked_folders() {
  char text[PATH_MAX];
  SHOW(getcwd(text, sizeof text) == nullptr ? -1 : 0);
  const std::string top = text;
  for (const char* folder : {"outer", "outer/middle", "outer/middle/inner"}) SHOW(mkdir(folder, 0755));
  SHOW(close(open("outer/middle/file", O_CREAT | O_WRONLY, 0644)));
  SHOW(symlink("outer/middle/inner", "relative"));
  SHOW(symlink((top + "/outer/middle").c_str(), "absolute"));
  SHOW(symlink("relative", "twice"));
  for (const char* path : {"relative", "absolute", "twice", "outer/../relative", "relative/../inner", "relative/.."}) {
    SHOW(chdir(path));
    show(path, folder_below(top));
    SHOW(access("file", F_OK));
    SHOW(access("../file", F_OK));
    SHOW(chdir(".."));
    show("its parent", folder_below(top));
    SHOW(chdir(top.c_str()));
    const int fd = open(path, O_RDONLY | O_DIRECTORY);
    SHOW(faccessat(fd, "file", F_OK, 0));
    SHOW(faccessat(fd, "../file", F_OK, 0));
    SHOW(fchdir(fd));
    show("by a descriptor", folder_below(top));
    SHOW(std::system("cd -P .. && test -d inner"));
    SHOW(close(fd));
    SHOW(chdir(top.c_str()));
  }
  SHOW(unlink("absolute"));  // its target depends on the folder
}

int release[2];  // what is written here lets the other process release its locks

void ignore(int) {}
void let_go(int) { (void)!write(release[1], "", 1); }

void interrupt_in(long milliseconds, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval timer{{0, 0}, {0, milliseconds * 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

/// Waits for locks that another process has, until signals arrive.
void interrupted() {
  int has_locked[2];
  SHOW(pipe(release));
  SHOW(pipe(has_locked));
  SHOW(close(open("locked", O_CREAT | O_RDWR, 0644)));
  struct flock all {};
  all.l_type = F_WRLCK;
  const pid_t other = fork();
  if (other == 0) {
    const int fd = open("locked", O_RDWR);
    const bool right = fcntl(fd, F_SETLK, &all) == 0 && flock(fd, LOCK_EX) == 0 && write(has_locked[1], "", 1) == 1;
    pollfd until{release[0], POLLIN, 0};
    poll(&until, 1, 10'000);
    _exit(right ? 0 : 1);
  }
  char text;
  SHOW(read(has_locked[0], &text, 1));
  const int fd = open("locked", O_RDWR);
  SHOW(lockf(fd, 99, 0));
  SHOW(lockf(fd, F_TEST, 0));
  interrupt_in(100, ignore, 0);
  SHOW(fcntl(fd, F_SETLKW, &all));
  interrupt_in(100, ignore, 0);
  SHOW(fcntl(fd, F_OFD_SETLKW, &all));
  interrupt_in(100, ignore, 0);
  SHOW(flock(fd, LOCK_EX));
  interrupt_in(100, ignore, 0);
  SHOW(lockf(fd, F_LOCK, 0));
  interrupt_in(100, let_go, SA_RESTART);
  SHOW(fcntl(fd, F_SETLKW, &all));
  int how = 0;
  SHOW(waitpid(other, &how, 0) == other);
  SHOW(how);
  SHOW(close(fd));
}

/// Returns the bytes by which the target that readlink() returns exceeds the size that lstat() reports.
long beyond_size(const char* link) {
  char target[PATH_MAX];
  struct stat s {};
  const ssize_t size = readlink(link, target, sizeof target);
  return size < 0 || lstat(link, &s) != 0 ? -1000 : size - s.st_size;
}

void link_sizes(const char* folder) {
  const std::string below = std::string(folder) + "/d/file";
  SHOW(symlink("d/file", "near"));
  SHOW(symlink(below.c_str(), "far"));
  SHOW(symlink(folder, "to_top"));
  for (const char* link : {"near", "far", "to_top"}) SHOW(beyond_size(link));
  struct statx x {};
  SHOW(statx(AT_FDCWD, "far", AT_SYMLINK_NOFOLLOW, STATX_SIZE, &x));
  SHOW(x.stx_size == below.size());
  char target[PATH_MAX];
  SHOW(readlink("to_top", target, sizeof target) == static_cast<ssize_t>(std::strlen(folder)));
  for (const char* link : {"near", "far", "to_top"}) SHOW(unlink(link));
}

void streams() {
  const int made = open("stream", O_CREAT | O_RDWR, 0644);
  SHOW(write(made, "twelve bytes", 12));
  for (const char* mode : {"a", "a+", "r", "r+"}) {
    FILE* f = fopen("stream", mode);
    show(mode, ftell(f));
    SHOW(fputs("more", f));
    show("ftell", ftell(f));
    std::fclose(f);
  }
  const int only_read = open("stream", O_RDONLY), only_write = open("stream", O_WRONLY);
  for (const int fd : {only_read, only_write, made})
    for (const char* mode : {"r", "w", "a", "r+", "x"}) {
      FILE* f = fdopen(dup(fd), mode);
      show(mode, f == nullptr ? -1 : 0);
      if (f != nullptr) std::fclose(f);
    }
  const int folder = open(".", O_RDONLY);
  for (const int fd : {only_read, only_write, folder}) {
    SHOW(mmap(nullptr, 10, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
    if (fd != folder) SHOW(mmap(nullptr, 10, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
  }
  for (const char* path : {"stream/", "stream/.", "stream/..", "stream/x"})
    SHOW(realpath(path, nullptr) == nullptr ? -1 : 0);
  for (const int fd : {made, only_read, only_write, folder}) close(fd);
}

void show_line(FILE* f) {
  char text[100] = "";
  const bool any = std::fgets(text, sizeof text, f) != nullptr;
  std::printf("line: %s%d %d\n", any ? text : "none", std::feof(f) != 0, std::ferror(f) != 0);
}

void reopened_streams() {
  FILE* const f = fopen("log", "w");
  SHOW(fputs("first\n", f));
  const int number = fileno(f);
  SHOW(rename("log", "log.1"));
  SHOW(freopen("log", "a", f) == f);  // as programs do whose logs are rotated
  SHOW(fileno(f) == number);
  SHOW(fputs("second\n", f));
  show_line(f);
  SHOW(freopen("log.1", "r", f) == f);
  show_line(f);
  show_line(f);
  SHOW(fputs("third\n", f));
  SHOW(freopen(nullptr, "r", f) == f);
  show_line(f);
  SHOW(freopen("log", "r+", f) == f);
  show_line(f);
  SHOW(fseek(f, 0, SEEK_END));
  SHOW(fputs("fourth\n", f));
  SHOW(freopen("/dev/null", "w", f) == f);
  SHOW(fputs("nowhere\n", f));
  SHOW(freopen("none/none", "r", f) == nullptr);
  for (const char* path : {"log", "log.1"}) std::printf("%s: %s\n", path, content(path).c_str());
}

void wrong_offsets() {
  const int fd = open("appended", O_CREAT | O_RDWR | O_APPEND, 0644);
  iovec piece{const_cast<char*>("some text"), 9};
  SHOW(pwritev(fd, &piece, 1, -1));
  SHOW(pwritev2(fd, &piece, 1, -43, 0));
  SHOW(preadv(fd, &piece, 1, -1));
  SHOW(lseek(fd, 5, SEEK_SET));
  SHOW(lseek(fd, LONG_MAX, SEEK_CUR));
  SHOW(lseek(fd, LONG_MIN, SEEK_CUR));
  SHOW(lseek(fd, 0, SEEK_CUR));
  SHOW(close(fd));
}

void removed_folder() {
  SHOW(mkdir("removed", 0755));
  DIR* d = opendir("removed");
  SHOW(rmdir("removed"));
  SHOW(readdir(d) == nullptr);  // and sets no errno
  SHOW(errno);
  SHOW(closedir(d));
}

void distant_times() {
  SHOW(close(open("dated", O_CREAT | O_WRONLY, 0644)));
  for (const long seconds : {-1L, -3'000'000'000L, 12'000'000'000L}) {
    const timespec times[2] = {{seconds, 999'999'999}, {seconds + 1, 1}};
    SHOW(utimensat(AT_FDCWD, "dated", times, 0));
    struct stat s {};
    SHOW(stat("dated", &s));
    SHOW(s.st_atim.tv_sec);
    SHOW(s.st_mtim.tv_sec);
    SHOW(s.st_mtim.tv_nsec);
  }
}

// As programs make calls for which their C library has no name.
void by_number() {
  const long fd = syscall(SYS_openat, AT_FDCWD, "numbered", O_CREAT | O_RDWR, 0640);
  SHOW(fd < 0);
  SHOW(syscall(SYS_write, fd, "0123456789", 10));
  SHOW(syscall(SYS_lseek, fd, -4, SEEK_END));
  char text[11] = {};
  SHOW(syscall(SYS_read, fd, text, 10));
  SHOW(syscall(SYS_pread64, fd, text + 4, 3, 1));
  std::printf("%s\n", text);
  iovec pieces[2] = {{text, 3}, {text + 3, 4}};
  SHOW(syscall(SYS_pwritev2, fd, pieces, 2, 9, 0, 0));
  SHOW(syscall(SYS_preadv2, fd, pieces, 2, -1, 0, 0));
  SHOW(preadv2(fd, pieces, 2, 0, 1 << 20));
  SHOW(pwritev2(fd, pieces, 2, 0, 1 << 20));
  SHOW(fpathconf(fd, _PC_FILESIZEBITS));
  struct statx x {};
  SHOW(syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_SIZE, &x));
  SHOW(x.stx_size);
  SHOW(syscall(SYS_statx, AT_FDCWD, "numbered", 0, STATX_BASIC_STATS, &x));
  SHOW(x.stx_mode);
  SHOW(syscall(SYS_statx, AT_FDCWD, "not there", 0, STATX_BASIC_STATS, &x));
  struct stat s {};
  SHOW(syscall(SYS_newfstatat, AT_FDCWD, "numbered", &s, 0));
  SHOW(s.st_size);
  SHOW(syscall(SYS_ftruncate, fd, 5));
  SHOW(syscall(SYS_fstat, fd, &s));
  SHOW(s.st_size);
  SHOW(syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE);
  const timespec times[2] = {{5, 0}, {6, 7}};
  SHOW(syscall(SYS_utimensat, fd, nullptr, times, 0));
  SHOW(syscall(SYS_mkdirat, AT_FDCWD, "numbered folder", 0755));
  SHOW(syscall(SYS_renameat2, AT_FDCWD, "numbered", AT_FDCWD, "numbered folder/file", 0));
  SHOW(syscall(SYS_faccessat, AT_FDCWD, "numbered", F_OK));
  SHOW(syscall(SYS_faccessat, AT_FDCWD, "numbered folder/file", R_OK));
  SHOW(syscall(SYS_fchmodat, AT_FDCWD, "numbered folder/file", 0600));
  SHOW(mode_of("numbered folder/file"));
  char path[PATH_MAX];
  SHOW(syscall(SYS_getcwd, path, sizeof path) - static_cast<long>(std::strlen(path)));
  SHOW(syscall(SYS_getcwd, path, 1));
  const long copy = syscall(SYS_dup, fd);
  SHOW(syscall(SYS_close, fd));
  SHOW(syscall(SYS_lseek, fd, 0, SEEK_CUR));
  SHOW(syscall(SYS_lseek, copy, 0, SEEK_CUR));
  SHOW(syscall(SYS_close, copy));
  SHOW(syscall(SYS_getpid) == getpid());
}

// Calls for a descriptor that only names a file.
void naming_descriptors() {
  const int fd = open("file", O_PATH | O_APPEND | O_RDWR | O_CREAT | O_TRUNC, 0644);
  SHOW(lseek(fd, 0, SEEK_SET));
  SHOW(lseek(fd, 0, SEEK_DATA));
  struct flock whole {};
  SHOW(fcntl(fd, F_SETLK, &whole));
  SHOW(close(fd));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  formatted();
  named_descriptors();
  holes();
  modes();
  listings();
  flags();
  descriptors();
  linked_folders();
  interrupted();
  link_sizes(argv[1]);
  streams();
  reopened_streams();
  wrong_offsets();
  removed_folder();
  distant_times();
  by_number();
  naming_descriptors();
  return 0;
}
