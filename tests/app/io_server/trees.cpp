// Functions that list trees of folders, and children that have a working folder and files of the server's; output as of
// calls.cpp.
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string>
#include <vector>

// Programs may define a function of the C library's name, as GNU patch does. rename() must not call it.
extern "C" int renameat2(int, const char*, int, const char*, unsigned) noexcept {
  errno = ENOSYS;
  return -1;
}

namespace {

std::string top;  // the folder's path, which is not printed
std::vector<std::string> lines;

void say(const std::string& text) { std::printf("%s\n", text.c_str()); }
std::string code(long result) { return result < 0 ? strerrorname_np(errno) : std::to_string(result); }

std::string without_top(const std::string& path) {
  return path.compare(0, top.size(), top) == 0 ? "TOP" + path.substr(top.size()) : path;
}
/// The lines, sorted, since the order of a folder's entries is not specified.
void say_lines(const std::string& title) {
  std::sort(lines.begin(), lines.end());
  say(title + " has " + std::to_string(lines.size()));
  for (const std::string& l : lines) say("  " + l);
  lines.clear();
}

void make_tree() {
  mkdir("t", 0755);
  mkdir("t/a", 0755);
  mkdir("t/a/b", 0755);
  mkdir("t/empty", 0755);
  for (const char* name : {"t/f.c", "t/g.c", "t/.hidden", "t/a/f.c", "t/a/b/deep"}) {
    const int fd = open(name, O_CREAT | O_WRONLY, 0644);
    if (write(fd, name, std::strlen(name)) < 0) say("write fails");
    close(fd);
  }
  if (symlink("nowhere", "t/dangling") != 0 || symlink("a", "t/to_a") != 0 || symlink("../t", "t/a/up") != 0)
    say("symlink fails");
}

void scan(const std::string& title, int n, dirent** names) {
  std::string all = title + ": " + code(n);
  for (int i = 0; i < n; ++i) {
    all += std::string(" ") + names[i]->d_name;
    std::free(names[i]);
  }
  if (n >= 0) std::free(names);
  say(all);
}

int visible(const dirent* e) { return e->d_name[0] != '.'; }

void scans() {
  dirent** names = nullptr;
  int n = scandir("t", &names, nullptr, alphasort);
  scan("scandir", n, names);
  n = scandir((top + "/t/").c_str(), &names, visible, alphasort);
  scan("scandir of what is visible", n, names);
  n = scandir("none", &names, nullptr, nullptr);
  scan("scandir of none", n, names);
  n = scandir("t/f.c", &names, nullptr, nullptr);
  scan("scandir of a file", n, names);
  const int folder = open("t", O_RDONLY | O_DIRECTORY);
  n = scandirat(folder, "a", &names, visible, versionsort);
  scan("scandirat", n, names);
  dirent64** names64 = nullptr;
  n = scandir64("t/a", &names64, nullptr, alphasort64);
  scan("scandir64", n, reinterpret_cast<dirent**>(names64));
  close(folder);
}

void match(const std::string& pattern, int flags) {
  glob_t found{};
  const int result = glob(pattern.c_str(), flags, nullptr, &found);
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i) lines.push_back(without_top(found.gl_pathv[i]));
  say_lines("glob " + without_top(pattern) + ": " + std::to_string(result));
  globfree(&found);
}

void globs() {
  for (const char* pattern : {"*", "t/*", "t/.*", "t/*/*.c", "t/[fg].c", "t/*/", "none/*", "t/f.c", "*/a/b/de?p"}) {
    match(pattern, 0);
    match(top + "/" + pattern, GLOB_MARK);
  }
  match(top + "/t/{a,empty}/*", GLOB_BRACE);
  match("none*", GLOB_NOCHECK);
  match("t/to_a/*", GLOB_ONLYDIR);
}

const char* kind_of(int kind) {
  constexpr const char* names[] = {"file", "folder", "unreadable", "no status", "link", "folder after", "dangling"};
  return names[kind];
}

int visit(const char* path, const struct stat* s, int kind, struct FTW* where) {
  struct stat here {};
  const bool is_here = lstat(path + where->base, &here) == 0 && here.st_ino == s->st_ino;
  lines.push_back(without_top(path) + " " + kind_of(kind) + " level " + std::to_string(where->level) + " base " +
                  std::string(path + where->base) + (S_ISREG(s->st_mode) ? " " + std::to_string(s->st_size) : "") +
                  (is_here && where->level > 0 ? " here" : ""));
  return 0;
}
int visit_old(const char* path, const struct stat* s, int kind) {
  lines.push_back(without_top(path) + " " + kind_of(kind) +
                  (S_ISREG(s->st_mode) ? " " + std::to_string(s->st_size) : ""));
  return 0;
}
int stop(const char* path, const struct stat*, int, struct FTW*) {
  return std::strstr(path, "deep") != nullptr ? 77 : 0;
}
int skip(const char* path, const struct stat* s, int kind, struct FTW* where) {
  visit(path, s, kind, where);
  return std::strcmp(path + where->base, "a") == 0 ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
}

void walks() {
  for (const int flags : {FTW_PHYS + 0, FTW_PHYS | FTW_DEPTH, FTW_PHYS | FTW_CHDIR, FTW_PHYS | FTW_DEPTH | FTW_CHDIR,
                          FTW_PHYS | FTW_MOUNT})
    for (const std::string& path : {std::string("t"), top + "/t", std::string("t/"), std::string("t/f.c"),
                                    std::string("t/dangling"), std::string("."), std::string("none"), std::string()}) {
      const int result = nftw(path.c_str(), visit, 5, flags);
      say_lines("nftw " + without_top(path) + " " + std::to_string(flags) + ": " + code(result));
      char cwd[4096];
      say(getcwd(cwd, sizeof cwd) == top ? "the working folder is unchanged" : "the working folder is another one");
    }
  // Links are followed. A folder that several links name is visited once; by which name is not specified.
  unlink("t/to_a");
  unlink("t/a/up");
  for (const char* path : {"t", "t/dangling", "t/a/"}) {
    int result = nftw(path, visit, 5, 0);
    say_lines(std::string("nftw ") + path + ": " + code(result));
    result = ftw(path, visit_old, 1);
    say_lines(std::string("ftw ") + path + ": " + code(result));
  }
  say("nftw that stops: " + code(nftw("t", stop, 5, FTW_PHYS)));
  const int result = nftw("t", skip, 5, FTW_PHYS | FTW_ACTIONRETVAL);
  say_lines("nftw that skips: " + code(result));
  say("nftw with unknown flags: " + code(nftw("t", stop, 5, 1 << 20)));
}

void wait_for(pid_t child) {
  int how = 0;
  waitpid(child, &how, 0);
  say("the child ends with " + std::to_string(WEXITSTATUS(how)));
}

std::string cwd() {
  char text[4096];
  return getcwd(text, sizeof text) == nullptr ? "none" : without_top(text);
}

/// The text of a file that a child has written, without the folder's path.
void say_file(const char* path) {
  const int fd = open(path, O_RDONLY);
  char text[1000];
  const ssize_t n = read(fd, text, sizeof text);
  std::string all(text, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  for (size_t at; (at = all.find(top)) != std::string::npos;) all.replace(at, top.size(), "TOP");
  say(std::string(path) + ": " + all);
  close(fd);
}

constexpr const char* script = "pwd; cat f.c; echo; ls";

/// Starts a shell as other shells and Python's subprocess do: the child of vfork() sets its working folder and its
/// standard output.
pid_t start_in(const char* folder, const char* out, char* const* command) {
  const pid_t child = vfork();
  if (child != 0) return child;
  const int fd = open(out, O_CREAT | O_WRONLY | O_TRUNC, 0644);
  if (fd < 0 || dup2(fd, 1) < 0 || close(fd) != 0 || chdir(folder) != 0 || access("f.c", R_OK) != 0) _exit(100);
  close_range(3, ~0U, 0);
  execv("/bin/sh", command);
  _exit(101);
}

/// From the server's folder to a local one.
pid_t start_locally() {
  const pid_t child = vfork();
  if (child != 0) return child;
  if (chdir("/") != 0) _exit(100);
  execl("/bin/sh", "sh", "-c", "test \"$(pwd)\" = / && test -d tmp", nullptr);
  _exit(101);
}

void children() {
  std::fflush(stdout);
  const std::string out = top + "/out", folder = top + "/t/a";
  char* const argv[] = {const_cast<char*>("sh"), const_cast<char*>("-c"), const_cast<char*>(script), nullptr};
  for (const char* to : {folder.c_str(), "t/a", "t"}) {
    wait_for(start_in(to, out.c_str(), argv));
    say("now in " + cwd());
    say_file("out");
  }
  wait_for(start_locally());
  say("now in " + cwd());
  say("open in the parent: " + code(close(open("t/f.c", O_RDONLY))));

  pid_t child = 0;
  for (const std::string& to : {folder, std::string("t")}) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    say("addopen: " +
        std::to_string(posix_spawn_file_actions_addopen(&actions, 1, "out", O_CREAT | O_WRONLY | O_TRUNC, 0644)));
    say("addchdir: " + std::to_string(posix_spawn_file_actions_addchdir_np(&actions, to.c_str())));
    const int result = posix_spawn(&child, "/bin/sh", &actions, nullptr, argv, environ);
    say("posix_spawn: " + std::to_string(result));
    if (result == 0) wait_for(child);
    posix_spawn_file_actions_destroy(&actions);
    say("now in " + cwd());
    say_file("out");
  }
  const int fd = open("out", O_WRONLY | O_TRUNC);
  const int kept = dup2(fd, 7);
  close(fd);
  char* const echo[] = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                        const_cast<char*>("echo inherited >&7; pwd >&7"), nullptr};
  if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, echo, environ) == 0) wait_for(child);
  close(kept);
  say_file("out");
  unlink("out");  // its size depends on the folder's path
}

void wide_characters() {
  std::setlocale(LC_ALL, "C.UTF-8");
  FILE* f = std::fopen("wide", "w");
  say("fwprintf: " + code(std::fwprintf(f, L"h\u00e9 %ls %d\n", L"\u4f60\u597d", 5)));
  say("fwprintf of much: " + code(std::fwprintf(f, L"%5000d\n", 7)));
  say("fputws: " + code(std::fputws(L"second \u00fc\n", f) >= 0));
  say("fputwc: " + code(std::fputwc(L'\u20ac', f)));
  say("fwprintf of a byte that is no character: " + code(std::fwprintf(f, L"%s", "\xff")));
  say("ferror: " + code(std::ferror(f) != 0));
  std::fclose(f);
  f = std::fopen("wide", "r");
  wchar_t line[6000];
  for (int i = 0; i < 2; ++i) {
    say("fgetws: " + code(std::fgetws(line, 6000, f) != nullptr));
    say("its length: " + std::to_string(std::wcslen(line)) + " " + std::to_string(line[1]));
  }
  say("fgetwc: " + code(std::fgetwc(f)));
  say("ungetwc: " + code(std::ungetwc(L'\u00fc', f)));
  for (int i = 0; i < 11; ++i) say("getwc: " + std::to_string(static_cast<int>(std::getwc(f))));
  say("feof: " + code(std::feof(f) != 0));
  say("fgetws: " + code(std::fgetws(line, 100, f) != nullptr));
  std::fclose(f);
  f = std::fopen("wide", "w");
  std::fputs("a\xff", f);
  std::fclose(f);
  f = std::fopen("wide", "r");
  for (int i = 0; i < 2; ++i) say("fgetwc: " + std::to_string(static_cast<int>(std::fgetwc(f))));
  say("ferror: " + code(std::ferror(f) != 0));
  std::fclose(f);
}

/// Walks trees by fts_read(); `instruct` may give instructions for entries.
template <class Instruct>
void walk_files(const std::string& title, std::vector<std::string> paths, int options, Instruct instruct) {
  std::vector<char*> given;
  for (std::string& path : paths) given.push_back(path.data());
  given.push_back(nullptr);
  FTS* const f = fts_open(given.data(), options, [](const FTSENT** a, const FTSENT** b) {
    return std::strcmp((*a)->fts_name, (*b)->fts_name);
  });
  say(title + ": " + code(f != nullptr ? 0 : -1));
  if (f == nullptr) return;
  while (FTSENT* const e = fts_read(f)) {
    struct stat s {};
    const int found = stat(e->fts_accpath, &s);
    const bool has_status = e->fts_info == FTS_F && e->fts_statp->st_size == s.st_size;
    say(std::to_string(e->fts_info) + " " + std::to_string(e->fts_level) + " " + without_top(e->fts_path) + " " +
        e->fts_name + " " + std::to_string(e->fts_errno) + " " + std::to_string(found) + " " +
        std::to_string(e->fts_number++) + " " + std::to_string(has_status) + " " +
        (e->fts_info == FTS_DC ? e->fts_cycle->fts_name : ""));
    instruct(f, e);
  }
  say("the end: " + code(-errno) + " " + code(fts_close(f)));
}

void file_trees() {
  const auto none = [](FTS*, FTSENT*) {};
  mkdir("walked", 0755);
  mkdir("walked/inner", 0755);
  mkdir("walked/empty", 0755);
  (void)!symlink("..", "walked/inner/cycle");
  (void)!symlink("nowhere", "walked/dangling");
  for (const char* name : {"walked/a", "walked/inner/b"}) close(open(name, O_CREAT | O_WRONLY, 0644));
  walk_files("physical", {"walked"}, FTS_PHYSICAL, none);
  walk_files("logical", {"walked/", top + "/walked/a"}, FTS_LOGICAL, none);
  walk_files("dots", {"walked//inner", "walked/."}, FTS_PHYSICAL | FTS_SEEDOT | FTS_NOCHDIR, none);
  walk_files("no status", {top + "/walked"}, FTS_PHYSICAL | FTS_NOSTAT | FTS_NOCHDIR | FTS_XDEV, none);
  walk_files("links", {"walked/inner/cycle", "none"}, FTS_PHYSICAL | FTS_COMFOLLOW, none);
  walk_files("instructed", {"walked"}, FTS_PHYSICAL | FTS_NOCHDIR, [](FTS* f, FTSENT* e) {
    if (std::strcmp(e->fts_name, "inner") == 0) fts_set(f, e, FTS_SKIP);
    if (e->fts_info == FTS_SL) fts_set(f, e, FTS_FOLLOW);
    if (std::strcmp(e->fts_name, "a") == 0 && e->fts_number == 1) fts_set(f, e, FTS_AGAIN);
  });
  walk_files("children", {"walked"}, FTS_PHYSICAL | FTS_NOCHDIR, [](FTS* f, FTSENT* e) {
    for (int how : {0, FTS_NAMEONLY, 77})
      for (const FTSENT* child = fts_children(f, how); child != nullptr; child = child->fts_link)
        say("child " + without_top({e->fts_path, e->fts_pathlen}) + " " + child->fts_name + " " +
            std::to_string(child->fts_info));
  });
  walk_files("empty", {""}, FTS_PHYSICAL, none);
  walk_files("wrong options", {"walked"}, 0x1000, none);
  walk_files("removed", {"walked"}, FTS_PHYSICAL | FTS_NOCHDIR, [](FTS*, FTSENT* e) {
    if (e->fts_info == FTS_DP)
      rmdir(e->fts_accpath);
    else if (e->fts_info != FTS_D)
      unlink(e->fts_accpath);
  });
  say("is removed: " + code(access("walked", F_OK)));
}

void renames() {
  mkdir("renamed", 0755);
  say("rename: " + code(rename("renamed", "again")));
  say("renameat: " + code(renameat(AT_FDCWD, "again", AT_FDCWD, "renamed")));
  say("rmdir: " + code(rmdir("renamed")));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || chdir(argv[1]) != 0) return 2;
  top = argv[1];
  umask(022);
  make_tree();
  scans();
  globs();
  children();
  walks();
  file_trees();
  renames();
  wide_characters();
  return 0;
}
