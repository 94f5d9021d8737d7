// Calls with relative paths while the working folder, and a folder that is open, are moved and removed, in the folder
// that is named, one line of output each. What they print does not depend on where the folder is, so a test compares a
// run in a local folder with one in a folder of the server's.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/app/io_server/shown_results.hpp"

namespace {

std::string top;

std::string below_top(std::string path) {
  const size_t at = path.find(top);
  return at == std::string::npos ? path : path.replace(at, top.size(), "TOP");
}

void show_path(const char* what, const char* path) {
  std::printf("%s: %s\n", what, path == nullptr ? strerrorname_np(errno) : below_top(path).c_str());
}

void show_paths() {
  char text[PATH_MAX];
  show_path("getcwd", getcwd(text, sizeof text));
  show_path("realpath", realpath(".", text));
  const ssize_t n = readlink("/proc/self/cwd", text, sizeof text - 1);
  text[n < 0 ? 0 : n] = '\0';
  show_path("readlink", text);
}

void show_content(int folder, const char* path) {
  char text[100] = {};
  const int fd = openat(folder, path, O_RDONLY);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  std::printf("%s: %s\n", path, n < 0 ? strerrorname_np(errno) : text);
  if (fd >= 0) close(fd);
}

int make(const char* path, const char* content) {
  const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  const ssize_t n = write(fd, content, std::strlen(content));
  return close(fd) == 0 && n > 0 ? 0 : -1;
}

int count(const char* path) {
  DIR* const d = opendir(path);
  if (d == nullptr) return -1;
  int n = 0;
  while (const dirent* e = readdir(d)) n += e->d_name[0] != '.' ? 1 : 0;
  closedir(d);
  return n;
}

/// Shows the working folder as a child process sees it, and the programs that this executes.
void show_children() {
  std::fflush(stdout);
  SHOW(std::system("cat file; echo; cat ../beside; echo; ls"));
}

void prepare() {
  SHOW(mkdir("a", 0755));
  SHOW(mkdir("a/b", 0755));
  SHOW(make("a/b/file", "within"));
  SHOW(make("a/beside", "beside"));
  SHOW(symlink("b/file", "a/link"));
}

void moved() {
  const int open_before = open("a/b", O_RDONLY | O_DIRECTORY);
  SHOW(chdir("a/b"));
  show_paths();
  SHOW(rename("../../a", "../../z"));
  show_content(AT_FDCWD, "file");
  show_content(AT_FDCWD, "../link");
  show_content(AT_FDCWD, "/proc/self/cwd/file");
  show_content(open_before, "file");
  show_content(open_before, "../beside");
  show_paths();
  SHOW(count("."));
  SHOW(count(".."));
  show_children();
  // Another folder has the old path now: relative paths don't lead there.
  SHOW(mkdir((top + "/a").c_str(), 0755));
  SHOW(mkdir((top + "/a/b").c_str(), 0755));
  SHOW(make((top + "/a/b/file").c_str(), "other"));
  show_content(AT_FDCWD, "file");
  show_content(open_before, "file");
  struct stat s {};
  SHOW(stat("file", &s));
  SHOW(s.st_size);
  SHOW(lstat("../link", &s));
  SHOW(fstatat(open_before, "file", &s, 0));
  SHOW(s.st_size);
  SHOW(access("file", R_OK));
  SHOW(chmod("file", 0600));
  SHOW(fchmodat(open_before, "file", 0640, 0));
  SHOW(truncate("file", 3));
  SHOW(mkdir("more", 0755));
  SHOW(mkdirat(open_before, "much", 0755));
  SHOW(rename("more", "moved"));
  SHOW(renameat(AT_FDCWD, "moved", open_before, "again"));
  SHOW(rename("again", (top + "/absolute").c_str()));
  SHOW(link("file", "hard"));
  SHOW(linkat(open_before, "file", open_before, "harder", 0));
  SHOW(symlink("target", "soft"));
  SHOW(symlinkat("target", open_before, "softer"));
  char target[10];
  SHOW(readlink("soft", target, sizeof target));
  SHOW(unlink("hard"));
  SHOW(unlinkat(open_before, "harder", 0));
  SHOW(rmdir("much"));
  const timespec times[2] = {{1, 0}, {2, 0}};
  SHOW(utimensat(AT_FDCWD, "file", times, 0));
  SHOW(utimensat(open_before, "soft", times, AT_SYMLINK_NOFOLLOW));
  SHOW(lchown("soft", getuid(), getgid()));
  SHOW(count("."));
  SHOW(count((top + "/a/b").c_str()));
  SHOW(chdir(".."));
  show_paths();
  SHOW(fchdir(open_before));
  show_paths();
  close(open_before);
}

void removed() {
  SHOW(chdir(top.c_str()));
  SHOW(mkdir("gone", 0755));
  SHOW(make("here", "here"));
  SHOW(chdir("gone"));
  const int folder = open(".", O_RDONLY | O_DIRECTORY);
  SHOW(rmdir("../gone"));
  show_paths();
  struct stat s {};
  SHOW(stat(".", &s));
  SHOW(s.st_nlink);
  SHOW(count("."));
  SHOW(make("new", "new"));
  SHOW(mkdir("new", 0755));
  show_content(folder, "../here");
  SHOW(access(".", F_OK));
  SHOW(access("new", F_OK));
  SHOW(fchdir(folder));
  show_paths();
  // The descriptor does not lead to a new folder that gets the path of the removed one.
  SHOW(mkdir("../gone", 0755));
  SHOW(make((top + "/gone/new").c_str(), "new"));
  show_content(AT_FDCWD, "new");
  SHOW(count("."));
  SHOW(chdir(".."));
  show_paths();
  close(folder);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  top = argv[1];
  prepare();
  moved();
  removed();
  return 0;
}
