// Calls with paths and descriptors of remote files that the preloaded library does not forward. Prints the error of
// each. The argument is the prefix; below it the server has a program `file`, and so has this system.
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <wordexp.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void show(const char* what, long result) {
  std::printf("%s %s\n", what, result >= 0 ? "done" : strerrorname_np(errno));
  std::fflush(stdout);
}

/// Executes in a child; prints the errno, or what the program returned.
template <class Execute>
void child(const char* what, Execute execute) {
  const pid_t pid = fork();
  if (pid == 0) {
    execute();
    _exit(errno);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::printf("%s %s\n", what, code > 0 ? strerrorname_np(code) : "?");
  std::fflush(stdout);
}

sockaddr_un named(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  return address;
}

void programs(const char* file, const char* none) {
  char name[] = "file";
  char* const arguments[] = {name, nullptr};
  const int fd = open(file, O_RDONLY);
  child("execve", [&] { execve(file, arguments, environ); });
  child("execve-none", [&] { execve(none, arguments, environ); });
  child("execv", [&] { execv("./file", arguments); });
  child("execvp", [&] { execvp("./file", arguments); });
  child("execvpe", [&] { execvpe(file, arguments, environ); });
  child("execl", [&] { execl("file", name, name, nullptr); });
  child("execlp", [&] { execlp(file, name, nullptr); });
  child("execle", [&] { execle(file, name, nullptr, environ); });
  child("fexecve", [&] { fexecve(fd, arguments, environ); });
  child("execveat", [&] { execveat(AT_FDCWD, file, arguments, environ, 0); });
  close(fd);
  pid_t pid = 0;
  errno = posix_spawn(&pid, file, nullptr, nullptr, arguments, environ);
  show("posix_spawn", errno == 0 ? 0 : -1);
  errno = posix_spawnp(&pid, "./none", nullptr, nullptr, arguments, environ);
  show("posix_spawnp-none", errno == 0 ? 0 : -1);
}

void sockets(const char* file) {
  const int s = socket(AF_UNIX, SOCK_DGRAM, 0);
  const sockaddr_un there = named(file), none = named("none");
  show("bind", bind(s, reinterpret_cast<const sockaddr*>(&none), sizeof none));
  show("bind-file", bind(s, reinterpret_cast<const sockaddr*>(&there), sizeof there));
  show("connect", connect(s, reinterpret_cast<const sockaddr*>(&there), sizeof there));
  show("connect-none", connect(s, reinterpret_cast<const sockaddr*>(&none), sizeof none));
  show("sendto", sendto(s, "x", 1, 0, reinterpret_cast<const sockaddr*>(&there), sizeof there));
  close(s);
}

void others(const char* file) {
  const int fd = open(file, O_RDWR);
  const int events = inotify_init1(0);
  show("inotify_add_watch", inotify_add_watch(events, file, IN_MODIFY));
  show("inotify_add_watch-none", inotify_add_watch(events, "none", IN_MODIFY));
  struct {
    file_handle head;
    char rest[128];
  } handle{};
  handle.head.handle_bytes = sizeof handle.rest;
  int mount = 0;
  show("name_to_handle_at", name_to_handle_at(AT_FDCWD, file, &handle.head, &mount, 0));
  show("chroot", chroot("."));
  show("chroot-none", chroot("none"));
  show("mkfifo", mkfifo("fifo", 0600));
  show("getxattr", getxattr(file, "user.a", nullptr, 0));
  show("listxattr", listxattr(file, nullptr, 0) == 0 && flistxattr(fd, nullptr, 0) == 0 ? 0 : -1);
  show("listxattr-none", listxattr("none", nullptr, 0));
  show("FICLONE", ioctl(fd, FICLONE, fd));
  fiemap map{};
  show("FIEMAP", ioctl(fd, FS_IOC_FIEMAP, &map));
  show("FIGETBSZ", ioctl(fd, FIGETBSZ, &mount));
  show("F_SETLEASE", fcntl(fd, F_SETLEASE, F_RDLCK));
  char text[8] = {};
  aiocb operation{};
  operation.aio_fildes = fd;
  operation.aio_buf = text;
  operation.aio_nbytes = sizeof text;
  show("aio_read", aio_read(&operation));
  show("aio_write", aio_write(&operation));
  show("aio_fsync", aio_fsync(O_SYNC, &operation));
  aiocb* const list[] = {&operation};
  operation.aio_lio_opcode = LIO_WRITE;
  show("lio_listio", lio_listio(LIO_WAIT, list, 1, nullptr));
  errno = 0;
  show("fopen-ccs", std::fopen("wide", "w,ccs=UTF-8") != nullptr ? 0 : -1);
  close(fd);
}

void trees(const char* folder) {
  const auto expand = [](const char* what, const std::string& text) {
    wordexp_t words{};
    const int code = wordexp(text.c_str(), &words, 0);
    show(what, code == 0 ? 0 : -1);
    if (code == 0) wordfree(&words);
  };
  setenv("FOLDER", folder, 1);
  expand("wordexp", "f*");
  if (chdir("/") != 0) return;
  expand("wordexp-absolute", std::string(folder) + "/f*");
  expand("wordexp-variable", "$FOLDER/f*");
  expand("wordexp-none", std::string(folder) + "/file");
  if (chdir(folder) != 0) return;
  using old_mknod = int (*)(int, const char*, mode_t, dev_t*);
  const auto make_node = reinterpret_cast<old_mknod>(dlsym(RTLD_DEFAULT, "__xmknod"));
  dev_t device = 0;
  show("__xmknod", make_node(1, "node", S_IFIFO | 0600, &device));
  // The linker must not look into the file of this name in the local folder.
  for (const std::string& path : {std::string("./file"), folder + std::string("/file")}) {
    const bool is_loaded = dlopen(path.c_str(), RTLD_NOW) != nullptr;
    const std::string why = is_loaded ? "loaded" : dlerror();
    const bool is_missing = why.find(folder + std::string("/file/: cannot open shared object file")) == 0;
    std::printf("dlopen %s\n", is_missing ? "none" : why.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  char file[4096], none[4096];
  std::snprintf(file, sizeof file, "%s/file", argv[1]);
  std::snprintf(none, sizeof none, "%s/none", argv[1]);
  if (chdir(argv[1]) != 0) return 2;
  programs(file, none);
  sockets(file);
  others(file);
  trees(argv[1]);
  return 0;
}
