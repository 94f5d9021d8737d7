// Calls that list folders and start programs, while one allocation of this thread after the other fails: the call
// succeeds or says ENOMEM, and leaves descriptors and the working folder as they were. Output as of calls.cpp.
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" void* __libc_malloc(size_t) noexcept;

namespace {

thread_local long left_until_failure = -1;  // allocations; -1: none fails
thread_local bool has_failed = false;

}  // namespace

// Replaces the C library's function, also for the preloaded library's operator new.
extern "C" void* malloc(size_t size) noexcept {
  if (left_until_failure >= 0 && left_until_failure-- == 0) {
    has_failed = true;
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

namespace {

int failed_checks = 0;
void check(bool good, const char* call, long n, const std::string& what) {
  if (good) return;
  ++failed_checks;
  std::printf("%s, without allocation %ld: %s\n", call, n, what.c_str());
}

size_t n_descriptors() {
  size_t n = 0;
  DIR* const d = opendir("/proc/self/fd");
  while (readdir(d) != nullptr) ++n;
  closedir(d);
  return n;
}

/// Calls f(), which returns 0 or an errno, until no allocation fails in it.
template <class F>
void sweep(const char* call, F f) {
  if (const int error = f()) check(false, call, -1, strerrorname_np(error));
  size_t before = n_descriptors();
  char cwd[4096], now[4096];
  if (getcwd(cwd, sizeof cwd) == nullptr) check(false, call, -1, "no working folder");
  long n = 0;
  for (bool goes_on = true; goes_on && n < 10'000; ++n) {
    has_failed = false;
    left_until_failure = n;
    const int error = f();
    left_until_failure = -1;
    goes_on = has_failed;
    check(error == 0 || error == ENOMEM, call, n, "ends as " + std::to_string(error));
    check(getcwd(now, sizeof now) != nullptr && std::strcmp(cwd, now) == 0, call, n, "the working folder changes");
    // That of the working folder may have another number.
    const size_t open = n_descriptors();
    check(open == before, call, n, std::to_string(open) + " descriptors are open, not " + std::to_string(before));
    before = open;
  }
  check(n > 1, call, n, "there is no allocation");
  if (const int error = f()) check(false, call, n, std::string("afterwards: ") + strerrorname_np(error));
}

int scan_folder() {
  dirent** names = nullptr;
  const int n = scandir("t", &names, nullptr, alphasort);
  if (n < 0) return errno;
  for (int i = 0; i < n; ++i) std::free(names[i]);
  std::free(names);
  return n == 5 ? 0 : EPROTO;
}
int visits;
int visit(const char*, const struct stat*, int, struct FTW*) { return ++visits, 0; }
int visit_old(const char*, const struct stat*, int) { return ++visits, 0; }
int walk(int flags) {
  visits = 0;
  if (nftw("t", visit, 5, flags) != 0) return errno;
  return visits == 5 ? 0 : EPROTO;
}
int walk_as_before() {
  visits = 0;
  if (ftw("t", visit_old, 5) != 0) return errno;
  return visits == 5 ? 0 : EPROTO;
}
int expand() {
  glob_t found{};
  // Without the flag GLOB_ERR folders that can't be listed are left out.
  const int result = glob("t/*/*", GLOB_ERR, nullptr, &found);
  const size_t n = found.gl_pathc;
  if (result == 0) globfree(&found);
  if (result == GLOB_NOSPACE || result == GLOB_ABORTED) return ENOMEM;
  return result == 0 && n == 1 ? 0 : result == GLOB_NOMATCH ? ENOMEM : EPROTO;
}
int start() {
  char* const argv[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>("cat f && pwd"), nullptr};
  posix_spawn_file_actions_t actions;
  if (const int error = posix_spawn_file_actions_init(&actions)) return error;
  int error = posix_spawn_file_actions_addopen(&actions, 1, "out", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (error == 0) error = posix_spawn_file_actions_addchdir_np(&actions, "t/a");
  pid_t child = 0;
  int how = 0;
  if (error == 0) error = posix_spawn(&child, "/bin/sh", &actions, nullptr, argv, environ);
  left_until_failure = -1;
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return error;
  waitpid(child, &how, 0);
  return how == 0 ? 0 : EPROTO;
}
int find_real_path() {
  char* const path = realpath("l", nullptr);
  const int error = path == nullptr ? errno : 0;
  std::free(path);
  return error;
}
int read_link() {
  char target[PATH_MAX];
  return readlink("l", target, sizeof target) < 0 ? errno : 0;
}
int find_folder() {
  char* const path = getcwd(nullptr, 0);
  const int error = path == nullptr ? errno : 0;
  std::free(path);
  return error;
}

}  // namespace

int main(int, char** argv) {
  if (chdir(argv[1]) != 0) return 2;
  mkdir("t", 0755);
  mkdir("t/a", 0755);
  for (const char* name : {"t/f", "t/g", "t/a/f"}) close(open(name, O_CREAT | O_WRONLY, 0644));
  if (symlink("t/f", "l") != 0) return 2;
  sweep("realpath", find_real_path);
  sweep("readlink", read_link);
  sweep("getcwd", find_folder);
  sweep("scandir", scan_folder);
  sweep("nftw", [] { return walk(FTW_PHYS); });
  sweep("nftw with links", [] { return walk(0); });
  sweep("nftw with FTW_CHDIR", [] { return walk(FTW_PHYS | FTW_CHDIR); });
  sweep("nftw with FTW_DEPTH", [] { return walk(FTW_PHYS | FTW_CHDIR | FTW_DEPTH); });
  sweep("ftw", walk_as_before);
  sweep("glob", expand);
  sweep("posix_spawn", start);
  std::printf("%d checks have failed\n", failed_checks);
  return failed_checks != 0;
}
