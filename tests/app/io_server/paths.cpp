// Makes system calls with paths of all forms, e.g. with `.`, `..` or `/` at their ends, and prints a line with the
// result of each. The lines don't name the folder: a test runs this in a local folder and in one of the server's, and
// compares the lines.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

struct operation {
  const char* name;
  long (*run)(const char* path);
};

long opened(const char* path, int flags) {
  const int fd = open(path, flags, 0644);
  return fd < 0 ? -1 : close(fd);
}

const operation operations[] = {
    {"stat",
     [](const char* p) -> long {
       struct stat s;
       return stat(p, &s);
     }},
    {"lstat",
     [](const char* p) -> long {
       struct stat s;
       return lstat(p, &s) < 0 ? -1 : (s.st_mode & S_IFMT) >> 12;
     }},
    {"access", [](const char* p) -> long { return access(p, R_OK); }},
    {"open", [](const char* p) { return opened(p, O_RDONLY); }},
    {"open for writing", [](const char* p) { return opened(p, O_WRONLY); }},
    {"open without following", [](const char* p) { return opened(p, O_RDONLY | O_NOFOLLOW); }},
    {"open a folder", [](const char* p) { return opened(p, O_RDONLY | O_DIRECTORY); }},
    {"readlink",
     [](const char* p) -> long {
       char to[100];
       return readlink(p, to, sizeof to);
     }},
    {"opendir",
     [](const char* p) -> long {
       DIR* d = opendir(p);
       return d == nullptr ? -1 : closedir(d);
     }},
    {"chdir",
     [](const char* p) -> long {
       char before[4096];
       if (getcwd(before, sizeof before) == nullptr) return -2;
       const int result = chdir(p);
       const int error = errno;
       if (result == 0 && chdir(before) != 0) return -3;
       errno = error;
       return result;
     }},
    {"open or create", [](const char* p) { return opened(p, O_RDWR | O_CREAT); }},
    {"open or create for reading", [](const char* p) { return opened(p, O_RDONLY | O_CREAT); }},
    {"create", [](const char* p) { return opened(p, O_RDWR | O_CREAT | O_EXCL); }},
    {"truncate", [](const char* p) -> long { return truncate(p, 3); }},
    {"chmod", [](const char* p) -> long { return chmod(p, 0750); }},
    {"utimensat",
     [](const char* p) -> long {
       const timespec t[2] = {{1000, 0}, {2000, 0}};
       return utimensat(AT_FDCWD, p, t, 0);
     }},
    {"utimensat of a link",
     [](const char* p) -> long {
       const timespec t[2] = {{1000, 0}, {2000, 0}};
       return utimensat(AT_FDCWD, p, t, AT_SYMLINK_NOFOLLOW);
     }},
    {"unlink", [](const char* p) -> long { return unlink(p); }},
    {"rmdir", [](const char* p) -> long { return rmdir(p); }},
    {"unlinkat with unknown flags", [](const char* p) -> long { return unlinkat(AT_FDCWD, p, 0x40000); }},
    {"remove", [](const char* p) -> long { return remove(p); }},
    {"mkdir", [](const char* p) -> long { return mkdir(p, 0755); }},
    {"symlink", [](const char* p) -> long { return symlink("f", p); }},
    {"symlink to nothing", [](const char* p) -> long { return symlink("", p); }},
    {"link to it", [](const char* p) -> long { return link(p, "new"); }},
    {"link to it, following",
     [](const char* p) -> long { return linkat(AT_FDCWD, p, AT_FDCWD, "new", AT_SYMLINK_FOLLOW); }},
    {"link to it, slash", [](const char* p) -> long { return link(p, "new/"); }},
    {"link to a file", [](const char* p) -> long { return link("f", p); }},
    {"rename it", [](const char* p) -> long { return rename(p, "new"); }},
    {"rename it, slash", [](const char* p) -> long { return rename(p, "new/"); }},
    {"rename it onto a folder", [](const char* p) -> long { return rename(p, "other"); }},
    {"rename a file", [](const char* p) -> long { return rename("f", p); }},
    {"rename a folder", [](const char* p) -> long { return rename("d", p); }},
    {"rename a file, slash", [](const char* p) -> long { return rename("f/", p); }},
    {"rename without replacing",
     [](const char* p) -> long { return renameat2(AT_FDCWD, "f", AT_FDCWD, p, RENAME_NOREPLACE); }},
    {"exchange", [](const char* p) -> long { return renameat2(AT_FDCWD, "d", AT_FDCWD, p, RENAME_EXCHANGE); }},
    {"renameat2 with unknown flags",
     [](const char* p) -> long { return renameat2(AT_FDCWD, "f", AT_FDCWD, p, 1U << 20); }},
};

const char* const paths[] = {
    "f",      "f/",         "f/.",   "f/..",   "f/x",      "d",         "d/",         "d//",  "d/.",
    "d/./",   "d/..",       "d/../", "d/../f", "d/../f/",  "d/inner",   "d/inner/",   "to_d", "to_d/",
    "to_d/.", "to_d/inner", "to_f",  "to_f/",  "dangling", "dangling/", "dangling/.", "loop", "loop/",
    "new",    "new/",       "new/.", "new/..", "new/x",    "other/",    ".",          "./",   "./.",
    "..",     "../",        "./f",   ".//d/",  ""};

bool prepare(const std::string& folder) {
  return mkdir(folder.c_str(), 0755) == 0 && chdir(folder.c_str()) == 0 &&
         close(open("f", O_CREAT | O_RDWR, 0644)) == 0 && mkdir("d", 0755) == 0 && mkdir("other", 0755) == 0 &&
         close(open("d/inner", O_CREAT | O_RDWR, 0644)) == 0 && symlink("d", "to_d") == 0 &&
         symlink("f", "to_f") == 0 && symlink("nowhere", "dangling") == 0 && symlink("loop", "loop") == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  umask(022);
  int number = 0, folders = 0, skipped = 0;
  bool is_changed = true;  // the folder, by a call that has succeeded
  std::string folder;
  for (const bool is_absolute : {false, true}) {
    bool changes = false;  // whether the operation does
    for (const operation& o : operations) {
      if (std::strcmp(o.name, "open or create") == 0) changes = true;
      for (const char* path : paths) {
        if (is_absolute && ++skipped % 4 != 0) continue;  // a part of them, since they go the same ways
        if (is_changed) {
          folder = std::string(argv[1]) + "/case_" + std::to_string(++folders);
          if (!prepare(folder)) {
            std::perror("paths: can't prepare a folder");
            return 2;
          }
        }
        const std::string whole = is_absolute ? folder + "/" + path : path;
        errno = 0;
        const long result = o.run(whole.c_str());
        is_changed = changes && result >= 0;
        std::printf("%d %s %s\"%s\": %s\n", ++number, o.name, is_absolute ? "FOLDER/" : "", path,
                    result < 0 ? strerrorname_np(errno) : std::to_string(result).c_str());
      }
    }
  }
  return 0;
}
