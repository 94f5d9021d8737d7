// Calls of the file system in the folder that is named, one line of output each. What they print does not depend on
// where the folder is, so a test compares two runs: in a local folder, and in one of the server's.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/app/io_server/shown_results.hpp"

extern "C" {
int __xstat(int, const char*, struct stat*);
int __lxstat(int, const char*, struct stat*);
int __fxstat(int, int, struct stat*);
}

namespace {

std::string what_is(const struct stat& s) {
  char text[128];
  std::snprintf(text, sizeof text, "mode %o links %lu size %ld times %ld %ld", s.st_mode,
                static_cast<unsigned long>(S_ISDIR(s.st_mode) ? 0 : s.st_nlink),
                static_cast<long>(S_ISDIR(s.st_mode) ? 0 : s.st_size),
                s.st_atim.tv_sec < 1000000 ? s.st_atim.tv_sec : -1, s.st_mtim.tv_sec < 1000000 ? s.st_mtim.tv_sec : -1);
  return text;
}

void show_stat(const char* what, int result, const struct stat& s) {
  result < 0 ? show(what, result) : show(what, what_is(s));
}

std::vector<char> pattern(size_t size) {
  std::vector<char> p(size);
  for (size_t i = 0; i < size; ++i) p[i] = static_cast<char>(i * 2654435761U >> 13);
  return p;
}

std::string sum(const std::vector<char>& v, long n) {
  unsigned h = 5381;
  for (long i = 0; i < n; ++i) h = h * 33 + static_cast<unsigned char>(v[static_cast<size_t>(i)]);
  return std::to_string(n) + " bytes, " + std::to_string(h);
}

void data() {
  const int fd = open("f", O_CREAT | O_RDWR | O_EXCL, 0640);
  SHOW(fd < 0 ? -1 : 0);
  SHOW(open("f", O_CREAT | O_RDWR | O_EXCL, 0640));
  SHOW(write(fd, "hello", 5));
  SHOW(pwrite(fd, "J", 1, 0));
  SHOW(lseek(fd, 0, SEEK_CUR));
  SHOW(lseek(fd, -2, SEEK_END));
  char text[64] = {};
  SHOW(read(fd, text, sizeof text));
  show("read", std::string(text));
  SHOW(lseek(fd, -100, SEEK_SET));
  SHOW(lseek(fd, 0, 77));
  for (const size_t size : {1UL, 4096UL, 4097UL, 131072UL, 131073UL, 3000000UL, 20000000UL}) {
    const std::vector<char> out = pattern(size);
    SHOW(pwrite(fd, out.data(), size, 3));
    std::vector<char> in(size + 10);
    const long n = pread(fd, in.data(), size + 10, 3);
    show("pread", sum(in, n));
  }
  SHOW(lseek(fd, 0, SEEK_SET));
  std::vector<char> a(3), b(5000), c(7), d(200000);
  iovec pieces[] = {{a.data(), a.size()}, {b.data(), b.size()}, {c.data(), c.size()}, {d.data(), d.size()}};
  SHOW(readv(fd, pieces, 4));
  show("readv", sum(b, 5000) + sum(d, 200000));
  SHOW(writev(fd, pieces, 3));
  SHOW(preadv(fd, pieces, 3, 19999990));
  SHOW(pwritev(fd, pieces, 3, 30000000));
  SHOW(lseek(fd, 0, SEEK_END));
  SHOW(ftruncate(fd, 10));
  SHOW(lseek(fd, 0, SEEK_END));
  SHOW(ftruncate(fd, -1));
  SHOW(fsync(fd));
  SHOW(fdatasync(fd));
  SHOW(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
  SHOW(posix_fallocate(fd, 0, 100));
  SHOW(fcntl(fd, F_GETFL) & O_ACCMODE);
  SHOW(pread(fd, text, 4, -1));
  SHOW(close(fd));
  SHOW(close(fd));
  SHOW(read(fd, text, 1));
  const int only_read = open("f", O_RDONLY);
  SHOW(write(only_read, "x", 1));
  SHOW(ftruncate(only_read, 1));
  SHOW(close(only_read));
  const int append = open("f", O_WRONLY | O_APPEND);
  SHOW(write(append, "tail", 4));
  SHOW(lseek(append, 0, SEEK_CUR));
  SHOW(read(append, text, 1));
  SHOW(close(append));
  const int created = creat("g", 0600);
  SHOW(write(created, "123456789", 9));
  SHOW(close(created));
  SHOW(truncate("g", 4));
  SHOW(truncate("none", 4));
  SHOW(open("f", O_RDONLY | O_DIRECTORY));
  SHOW(open("none/x", O_RDONLY));
  SHOW(open("f/x", O_RDONLY));
  SHOW(open("", O_RDONLY));
  SHOW(open(std::string(5000, 'x').c_str(), O_RDONLY));
  SHOW(open(std::string(300, 'x').c_str(), O_RDONLY));
  SHOW(open(".", O_WRONLY));
}

void copies() {
  const int fd = open("f", O_RDWR | O_TRUNC), other = dup(fd);
  SHOW(write(fd, "abcdef", 6));
  SHOW(lseek(other, 0, SEEK_CUR));
  SHOW(dup2(fd, 55));
  SHOW(close(fd));
  char text[8] = {};
  SHOW(lseek(55, 2, SEEK_SET));
  SHOW(read(other, text, 2));
  show("read", std::string(text));
  const int third = fcntl(other, F_DUPFD_CLOEXEC, 70);
  SHOW(third);
  SHOW(fcntl(third, F_GETFD));
  SHOW(fcntl(other, F_SETFD, FD_CLOEXEC));
  SHOW(fcntl(other, F_GETFD));
  SHOW(dup3(third, 71, O_CLOEXEC));
  SHOW(dup3(third, third, 0));
  const pid_t child = fork();
  if (child == 0) {
    const bool right = read(55, text, 1) == 1 && text[0] == 'e' && write(55, "X", 1) == 1;
    _exit(right ? 7 : 8);
  }
  int how = 0;
  waitpid(child, &how, 0);
  SHOW(WEXITSTATUS(how));
  SHOW(lseek(other, 0, SEEK_CUR));
  SHOW(pread(third, text, 6, 0));
  show("pread", std::string(text, 6));
  for (const int one : {other, 55, third, 71}) SHOW(close(one));
}

void status() {
  struct stat s {};
  const timespec times[2] = {{1000, 5}, {2000, 6}};
  SHOW(utimensat(AT_FDCWD, "f", times, 0));
  show_stat("stat", stat("f", &s), s);
  show_stat("lstat", lstat("f", &s), s);
  show_stat("stat of none", stat("none", &s), s);
  show_stat("fstatat", fstatat(AT_FDCWD, "f", &s, 0), s);
  show_stat("stat of .", stat(".", &s), s);
  show_stat("__xstat", __xstat(1, "f", &s), s);
  show_stat("__lxstat", __lxstat(1, "f", &s), s);
  struct stat64 s64 {};
  SHOW(stat64("f", &s64));
  SHOW(s64.st_size);
  struct statx x {};
  SHOW(statx(AT_FDCWD, "f", 0, STATX_BASIC_STATS, &x));
  SHOW(x.stx_size);
  const int fd = open("f", O_RDONLY), folder = open(".", O_RDONLY | O_DIRECTORY);
  show_stat("fstat", fstat(fd, &s), s);
  show_stat("__fxstat", __fxstat(1, fd, &s), s);
  show_stat("fstatat", fstatat(folder, "f", &s, 0), s);
  show_stat("fstatat of nothing", fstatat(fd, "", &s, AT_EMPTY_PATH), s);
  show_stat("fstatat of a file's", fstatat(fd, "f", &s, 0), s);
  SHOW(access("f", R_OK));
  SHOW(access("none", F_OK));
  SHOW(faccessat(folder, "f", W_OK, 0));
  SHOW(chmod("f", 0604));
  SHOW(fchmod(fd, 0600));
  SHOW(fchmodat(folder, "g", 0444, 0));
  show_stat("stat", stat("g", &s), s);
  SHOW(chown("f", getuid(), getgid()));
  SHOW(fchown(fd, getuid(), getgid()));
  SHOW(lchown("f", static_cast<uid_t>(-1), static_cast<gid_t>(-1)));
  const timeval old[2] = {{3000, 0}, {4000, 0}};
  SHOW(utimes("f", old));
  const utimbuf older{5000, 6000};
  SHOW(utime("g", &older));
  const timespec part[2] = {{0, UTIME_OMIT}, {7000, 0}};
  SHOW(futimens(fd, part));
  show_stat("fstat", fstat(fd, &s), s);
  struct statvfs v {};
  SHOW(statvfs(".", &v));
  SHOW(fstatvfs(fd, &v));
  SHOW(read(folder, &s, 1));
  SHOW(close(fd));
  SHOW(close(folder));
}

void names() {
  struct stat s {};
  char text[256] = {};
  SHOW(mkdir("d", 0755));
  SHOW(mkdir("d", 0755));
  SHOW(mkdir("none/d", 0755));
  SHOW(symlink("../f", "d/link"));
  SHOW(readlink("d/link", text, sizeof text));
  show("readlink", std::string(text));
  SHOW(readlink("f", text, sizeof text));
  show_stat("stat through a link", stat("d/link", &s), s);
  show_stat("lstat of a link", lstat("d/link", &s), s);
  SHOW(open("d/link", O_RDONLY | O_NOFOLLOW));
  SHOW(symlink("loop", "loop"));
  SHOW(open("loop", O_RDONLY));
  SHOW(link("f", "hard"));
  show_stat("stat", stat("hard", &s), s);
  SHOW(rename("hard", "d/hard"));
  SHOW(rename("none", "x"));
  SHOW(rename("d", "f"));
  SHOW(renameat2(AT_FDCWD, "f", AT_FDCWD, "g", RENAME_NOREPLACE));
  SHOW(unlink("d"));
  SHOW(rmdir("d"));
  SHOW(rmdir("f"));
  SHOW(rmdir("."));
  SHOW(unlink("none"));
  const int folder = open("d", O_RDONLY | O_DIRECTORY);
  SHOW(mkdirat(folder, "e", 0700));
  SHOW(renameat(folder, "hard", folder, "e/hard"));
  SHOW(symlinkat("e", folder, "to_e"));
  SHOW(linkat(folder, "e/hard", folder, "again", 0));
  SHOW(unlinkat(folder, "to_e", 0));
  SHOW(unlinkat(folder, "e", AT_REMOVEDIR));
  SHOW(unlinkat(folder, "e/hard", 0));
  SHOW(unlinkat(folder, "e", AT_REMOVEDIR));
  SHOW(openat(folder, "../none", O_RDONLY));
  SHOW(close(folder));
  umask(027);
  SHOW(mkdir("masked", 0777));
  show_stat("stat", stat("masked", &s), s);
  SHOW(close(open("masked/f", O_CREAT | O_WRONLY, 0666)));
  show_stat("stat", stat("masked/f", &s), s);
  umask(022);
  SHOW(remove("masked/f"));
  SHOW(remove("masked"));
}

std::string listing(DIR* d) {
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* e = readdir(d)) names.push_back(e->d_name + std::string(e->d_type == DT_DIR ? "/" : ""));
  std::sort(names.begin(), names.end());
  std::string all = std::to_string(errno);
  if (names.size() > 20) return all + " " + std::to_string(names.size()) + " names, the last " + names.back();
  for (const std::string& n : names) all += " " + n;
  return all;
}

void folders() {
  DIR* d = opendir(".");
  show("opendir", listing(d));
  rewinddir(d);
  (void)readdir(d);
  const long here = telldir(d);
  const dirent* e = readdir(d);
  const std::string second = e->d_name;
  (void)readdir(d);
  seekdir(d, here);
  SHOW(second == readdir(d)->d_name);
  SHOW(closedir(d));
  SHOW(mkdir("many", 0755));
  for (int i = 0; i < 700; ++i)
    close(open(("many/a_file_with_a_long_name_" + std::to_string(i)).c_str(), O_CREAT | O_RDWR, 0600));
  d = fdopendir(open("many", O_RDONLY | O_DIRECTORY));
  show("fdopendir", listing(d));
  SHOW(unlinkat(dirfd(d), "a_file_with_a_long_name_0", 0));
  SHOW(closedir(d));
  SHOW(opendir("none") == nullptr ? -1 : 0);
  SHOW(opendir("f") == nullptr ? -1 : 0);
  SHOW(fdopendir(open("f", O_RDONLY)) == nullptr ? -1 : 0);
  char before[4096], after[4096];
  SHOW(getcwd(before, sizeof before) == nullptr ? -1 : 0);
  SHOW(chdir("many"));
  SHOW(getcwd(after, sizeof after) == nullptr ? -1 : 0);
  show("getcwd", std::string(after).substr(std::strlen(before)));
  SHOW(access("a_file_with_a_long_name_1", F_OK));
  SHOW(access("../f", F_OK));
  SHOW(std::system("test -f a_file_with_a_long_name_2 && cat ../g > /dev/null && cd .. && test -d many") == 0);
  SHOW(chdir(".."));
  SHOW(chdir("none"));
  SHOW(chdir("f"));
  char* path = realpath("d/../many/./a_file_with_a_long_name_3", nullptr);
  show("realpath", path == nullptr ? "none" : std::string(path).substr(std::strlen(before)));
  std::free(path);
  SHOW(realpath("none", nullptr) == nullptr ? -1 : 0);
}

void streams() {
  FILE* f = std::fopen("s", "w+");
  SHOW(std::fprintf(f, "%d lines\n", 3));
  for (int i = 0; i < 3; ++i) std::fputs("and one more line of text\n", f);
  std::rewind(f);
  char text[100] = {};
  SHOW(std::fgets(text, sizeof text, f) != nullptr);
  show("fgets", std::string(text, std::strlen(text) - 1));
  SHOW(std::ftell(f));
  SHOW(std::fseek(f, -5, SEEK_END));
  SHOW(std::fgetc(f));
  struct stat s {};
  SHOW(fstat(fileno(f), &s));
  SHOW(s.st_size);
  SHOW(std::fclose(f));
  SHOW(std::fopen("none", "r") == nullptr ? -1 : 0);
  SHOW(std::fopen("s", "wx") == nullptr ? -1 : 0);
  f = fdopen(open("s", O_RDWR | O_APPEND), "a");
  SHOW(std::fputs("tail", f) >= 0);
  SHOW(std::fclose(f));
  SHOW(stat("s", &s));
  SHOW(s.st_size);
  SHOW(std::fopen("d", "w") == nullptr ? -1 : 0);
  char temporary[] = "tmp_XXXXXX";
  const int fd = mkstemp(temporary);
  SHOW(write(fd, "x", 1));
  SHOW(close(fd));
  SHOW(unlink(temporary));
  char folder[] = "tmp_XXXXXX";
  SHOW(mkdtemp(folder) == nullptr ? -1 : 0);
  SHOW(rmdir(folder));
}

void mapped() {
  const std::vector<char> out = pattern(300000);
  const int fd = open("m", O_CREAT | O_RDWR, 0600);
  SHOW(write(fd, out.data(), out.size()));
  void* p = mmap(nullptr, out.size(), PROT_READ, MAP_SHARED, fd, 0);
  SHOW(p == MAP_FAILED ? -1 : std::memcmp(p, out.data(), out.size()));
  SHOW(munmap(p, out.size()));
  p = mmap(nullptr, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 8192);
  SHOW(p == MAP_FAILED ? -1 : std::memcmp(p, out.data() + 8192, 5000));
  std::memset(p, 0, 5000);
  SHOW(munmap(p, 5000));
  SHOW(mmap(nullptr, 5000, PROT_READ, MAP_PRIVATE, fd, 1) == MAP_FAILED ? -1 : 0);
  SHOW(close(fd));
}

struct flock range(short type, off_t start, off_t length) {
  struct flock l {};
  l.l_type = type;
  l.l_whence = SEEK_SET;
  l.l_start = start;
  l.l_len = length;
  return l;
}

/// In a child: whether it gets the lock.
long other_gets(short type, off_t start, off_t length) {
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open("f", O_RDWR);
    struct flock l = range(type, start, length);
    _exit(fcntl(fd, F_SETLK, &l) == 0 ? 1 : errno == EAGAIN || errno == EACCES ? 0 : 2);
  }
  int how = 0;
  waitpid(child, &how, 0);
  return WEXITSTATUS(how);
}

void locks() {
  const int fd = open("f", O_RDWR), second = open("f", O_RDWR), only_read = open("f", O_RDONLY);
  struct flock l = range(F_WRLCK, 10, 10);
  SHOW(fcntl(fd, F_SETLK, &l));
  SHOW(other_gets(F_WRLCK, 0, 10));
  SHOW(other_gets(F_RDLCK, 19, 1));
  SHOW(fcntl(second, F_SETLK, &l));  // locks are the process's
  l = range(F_RDLCK, 10, 10);
  SHOW(fcntl(fd, F_SETLKW, &l));
  SHOW(other_gets(F_RDLCK, 0, 0));
  SHOW(other_gets(F_WRLCK, 12, 1));
  SHOW(fcntl(fd, F_GETLK, &l));
  SHOW(l.l_type == F_UNLCK);
  SHOW(close(second));  // ends all locks of the process
  SHOW(other_gets(F_WRLCK, 12, 1));
  l = range(F_WRLCK, 0, 0);
  SHOW(fcntl(only_read, F_SETLK, &l));
  SHOW(flock(fd, LOCK_EX));
  SHOW(flock(only_read, LOCK_SH | LOCK_NB));
  SHOW(flock(fd, LOCK_UN));
  SHOW(flock(only_read, LOCK_SH | LOCK_NB));
  // Locks of open files.
  const int third = open("f", O_RDWR), copy = dup(third);
  l = range(F_WRLCK, 30, 10);
  SHOW(fcntl(third, F_OFD_SETLK, &l));
  SHOW(fcntl(fd, F_OFD_SETLK, &l));
  SHOW(fcntl(fd, F_SETLK, &l));
  SHOW(other_gets(F_RDLCK, 39, 1));
  SHOW(other_gets(F_RDLCK, 40, 1));
  SHOW(fcntl(copy, F_OFD_SETLKW, &l));
  l = range(F_RDLCK, 0, 0);
  SHOW(fcntl(fd, F_OFD_GETLK, &l));
  SHOW(l.l_type == F_WRLCK && l.l_start == 30 && l.l_len == 10 && l.l_pid == -1);
  l = range(F_RDLCK, 0, 30);
  SHOW(fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type == F_UNLCK);
  SHOW(fcntl(only_read, F_OFD_SETLK, &l));
  SHOW(other_gets(F_WRLCK, 5, 1));
  l = range(F_WRLCK, 50, 10);
  SHOW(fcntl(only_read, F_OFD_SETLK, &l));
  l.l_pid = getpid();
  SHOW(fcntl(third, F_OFD_SETLK, &l));
  SHOW(close(open("f", O_RDWR)));  // ends no lock of another open file
  SHOW(other_gets(F_WRLCK, 35, 1));
  SHOW(close(third));
  SHOW(other_gets(F_WRLCK, 35, 1));
  SHOW(close(copy));  // the last descriptor
  SHOW(other_gets(F_WRLCK, 35, 1));
  SHOW(close(fd));
  SHOW(close(only_read));
}

std::string contents_of(const char* path) {
  char text[100];
  const int fd = open(path, O_RDONLY);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
  if (fd >= 0) close(fd);
  return n < 0 ? strerrorname_np(errno) : std::string(text, static_cast<size_t>(n));
}

// A program opens /dev/stdin, /dev/fd/N or /proc/self/fd/N, where that descriptor is one of a remote file.
void descriptors() {
  const int fd = open("named", O_CREAT | O_RDWR | O_TRUNC, 0640), input = dup(0);
  SHOW(write(fd, "contents", 8));
  int left = -1;
  SHOW(lseek(fd, 3, SEEK_SET));
  SHOW(ioctl(fd, FIONREAD, &left));
  SHOW(left);
  SHOW(ioctl(fd, TIOCGWINSZ, &left));
  const std::string number = std::to_string(fd);
  SHOW(dup2(fd, 0));
  struct stat s {};
  for (const std::string& path : {std::string("/dev/stdin"), "/dev/fd/" + number, "/proc/self/fd/" + number}) {
    show("contents", contents_of(path.c_str()));
    show_stat("stat", stat(path.c_str(), &s), s);
    SHOW(access(path.c_str(), R_OK));
    char* real = realpath(path.c_str(), nullptr);
    show("realpath", real == nullptr ? "none" : std::strrchr(real, '/'));
    std::free(real);
  }
  const std::string link = "/proc/self/fd/" + number, below = link + "/below";
  char target[PATH_MAX] = {};
  SHOW(readlink(link.c_str(), target, sizeof target) > 0);
  show("readlink", std::strrchr(target, '/'));
  SHOW(readlink(link.c_str(), target, 0));
  SHOW(open(below.c_str(), O_RDONLY));
  SHOW(unlink(link.c_str()));
  SHOW(rename(link.c_str(), "renamed"));
  SHOW(linkat(AT_FDCWD, link.c_str(), AT_FDCWD, "linked", 0));
  SHOW(linkat(AT_FDCWD, link.c_str(), AT_FDCWD, "linked", AT_SYMLINK_FOLLOW));
  const int out = open(link.c_str(), O_WRONLY | O_TRUNC);
  SHOW(write(out, "new", 3));
  SHOW(close(out));
  show("contents", contents_of("linked"));
  SHOW(dup2(input, 0));
  SHOW(close(input));
  SHOW(close(fd));
  SHOW(pathconf("named", _PC_NAME_MAX));
  SHOW(pathconf("named", _PC_PATH_MAX));
  SHOW(pathconf("none", _PC_NAME_MAX));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) {
    std::perror("calls: needs a folder");
    return 2;
  }
  umask(022);
  data();
  copies();
  status();
  names();
  folders();
  streams();
  mapped();
  locks();
  descriptors();
  return 0;
}
