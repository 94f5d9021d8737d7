// Listing folders, and the working folder.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "calls.hpp"
#include "folders.hpp"
#include "never_destroyed.hpp"
#include "opening.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

using io_server::op;

constexpr size_t most_records = 7168;  // bytes; fits in a message

/// The object behind a DIR*. One thread at a time may use it, as POSIX specifies.
struct listing {
  int fd;
  int64_t position = 0;  // position after the last returned entry
  int64_t fetched = 0;   // position after the entries in `records`
  size_t size = 0, next = 0;
  bool at_end = false;
  alignas(dirent64) char records[most_records];
};

struct listings {
  std::atomic<int> count{0};
  std::mutex mutex;
  std::unordered_set<const void*> all;  // under mutex
};

listings& open_listings() { return never_destroyed<listings>(); }

listing* listing_of(const DIR* d) {
  listings& l = open_listings();
  if (l.count.load(std::memory_order_acquire) == 0) return nullptr;
  std::lock_guard guard(l.mutex);
  return l.all.count(d) == 0 ? nullptr : reinterpret_cast<listing*>(const_cast<DIR*>(d));
}

DIR* list_of(int fd) {
  struct stat s {};
  if (::fstat(fd, &s) != 0) return nullptr;
  if (!S_ISDIR(s.st_mode)) {
    errno = ENOTDIR;
    return nullptr;
  }
  auto* made = new (std::nothrow) listing;
  if (made == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  made->fd = fd;
  listings& l = open_listings();
  std::lock_guard guard(l.mutex);
  try {
    l.all.insert(made);
  } catch (const std::bad_alloc&) {
    delete made;
    errno = ENOMEM;
    return nullptr;
  }
  l.count.fetch_add(1, std::memory_order_release);
  return reinterpret_cast<DIR*>(made);
}

/// The next entry. Returns null at the end, and null with `errno` for an error. glibc's `dirent` equals the kernel's
/// record.
dirent64* next_entry(listing& l) {
  if (l.next >= l.size) {
    if (l.at_end) return nullptr;
    size_t size = 0;
    const int before = errno;
    const int error = with_file(l.fd, [&](using_file& f) {
      return f.client().list(f.handle(), l.fetched, l.records, sizeof l.records, &size);
    });
    // As in glibc, a folder that has been removed has no more entries.
    if (error != 0 && errno == ENOENT) errno = before;
    if (error != 0) return nullptr;
    l.size = size;
    l.next = 0;
    l.at_end = size == 0;
    if (l.at_end) return nullptr;
  }
  auto* e = reinterpret_cast<dirent64*>(l.records + l.next);
  const size_t least = offsetof(dirent64, d_name) + 1;
  if (l.size - l.next < least || e->d_reclen < least || e->d_reclen > l.size - l.next) {
    l.at_end = true;
    l.next = l.size;
    errno = EIO;
    return nullptr;
  }
  l.next += e->d_reclen;
  l.position = l.fetched = e->d_off;
  return e;
}

/// The position after the last of these records; `otherwise` if there is none.
int64_t behind_last(const char* records, size_t size, int64_t otherwise) {
  for (size_t at = 0; at + offsetof(dirent64, d_name) < size;) {
    dirent64 e;
    std::memcpy(&e, records + at, offsetof(dirent64, d_name));
    otherwise = e.d_off;
    if (e.d_reclen == 0) break;
    at += e.d_reclen;
  }
  return otherwise;
}

void go_to(listing& l, int64_t position) {
  l.position = l.fetched = position;
  l.size = l.next = 0;
  l.at_end = false;
}

// The descriptor by which executed programs inherit the working folder. It has a high number, see process.cpp.
std::atomic<int> cwd_descriptor{-1};
// The same of a child of vfork(), which has the memory and the thread-local data of the thread that waits for it.
struct borrowed_descriptor {
  pid_t child = 0;
  int fd = -1;
};
thread_local borrowed_descriptor borrowed;

void set_cwd_descriptor(int fd) {
  if (const int former = current_cwd_descriptor(); former >= 0) {
    if (!is_borrowed()) set_file(former, nullptr);
    IO_REAL(close)(former);
  }
  if (is_borrowed())
    borrowed = {getpid(), fd};
  else
    cwd_descriptor.store(fd);
}

int enter(const place& p) {
  const auto enter_known = [&] {
    const int fd = open_remote(p, O_PATH | O_DIRECTORY, 0, true);
    if (fd < 0) return -1;
    const int high = duplicate_above(fd, F_DUPFD, 200);
    const int why = errno;
    ::close(fd);
    if (high < 0) return result_of(why);
    try {
      const auto folder = is_borrowed() ? remote_file::inherit(high) : file_of(high);
      if (folder == nullptr) throw std::bad_alloc();
      set_remote_cwd(folder->path());
    } catch (const std::bad_alloc&) {
      ::close(high);
      throw;
    }
    set_cwd_descriptor(high);
    return 0;
  };
  return unless_no_memory(enter_known, result_of);
}

int leave_to(int result) {
  if (result == 0 && remote_cwd()) {
    set_cwd_descriptor(-1);
    set_remote_cwd(std::nullopt);
  }
  return result;
}

char* no_path(int error) {
  errno = error;
  return nullptr;
}

/// Copies a path to the caller's memory or to memory of malloc(). Returns null and sets `errno` on failure.
char* copied(const std::string& text, char* to, size_t room, bool any_size) {
  if (to == nullptr) {
    const size_t size = any_size ? text.size() + 1 : room;
    if (size < text.size() + 1) return no_path(ERANGE);
    to = static_cast<char*>(std::malloc(size));
    if (to == nullptr) return nullptr;
  } else if (text.size() >= room) {
    return no_path(ERANGE);
  }
  return std::strcpy(to, text.c_str());
}

/// As realpath(). Returns an empty string and sets `errno` if there is no such file.
std::string real_path(const char* path) {
  constexpr int most_links = 40;
  std::string left = path, done;
  if (left[0] != '/') {
    const std::string folder = present_cwd();
    if (folder.empty()) {
      errno = ENOENT;
      return "";
    }
    left = outer(folder) + "/" + left;
  }
  for (int links = 0; !left.empty();) {
    const size_t begin = left.find_first_not_of('/');
    if (begin == std::string::npos) break;
    size_t end = left.find('/', begin);
    if (end == std::string::npos) end = left.size();
    const std::string part = left.substr(begin, end - begin);
    left.erase(0, end);
    if (part == ".") continue;
    if (part == "..") {
      done.erase(std::min(done.rfind('/'), done.size()));
      continue;
    }
    const std::string next = done + "/" + part;
    // The folders that contain the prefix need not exist.
    if (configured().prefix.compare(0, next.size(), next) == 0) {
      done = next;
      continue;
    }
    struct stat s {};
    if (::lstat(next.c_str(), &s) != 0) return "";
    if (!S_ISLNK(s.st_mode)) {
      if (!S_ISDIR(s.st_mode) && !left.empty()) {
        errno = ENOTDIR;
        return "";
      }
      done = next;
      continue;
    }
    char target[PATH_MAX];
    const ssize_t n = ::readlink(next.c_str(), target, sizeof target);
    if (n < 0) return "";
    if (++links > most_links) {
      errno = ELOOP;
      return "";
    }
    left.insert(0, std::string(target, static_cast<size_t>(n)));
    if (target[0] == '/') done.clear();
  }
  return done.empty() ? "/" : done;
}

}  // namespace

int current_cwd_descriptor() {
  if (borrowed.child != 0) {
    if (borrowed.child == getpid()) return borrowed.fd;
    borrowed = {};  // the child has ended; this is its parent again
  }
  return cwd_descriptor.load(std::memory_order_relaxed);
}

std::string present_cwd() {
  std::string path = remote_cwd().value_or("");
  const int fd = current_cwd_descriptor();
  if (fd < 0 || is_borrowed() || file_of(fd) == nullptr) return path;
  const int before = errno;
  if (with_file(fd, [&](using_file& f) { return f.client().locate(f.handle(), &path); }) == 0)
    set_remote_cwd(path);
  else if (errno == ENOENT || errno == ESTALE)
    path.clear();
  errno = before;
  return path;
}

void inherit_cwd(int fd) {
  const auto file = file_of(fd);
  cwd_descriptor.store(fd);
  set_remote_cwd(file->path());
}

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT DIR* opendir(const char* path) {
  const place p(path);
  if (!p.remote()) return IO_REAL(opendir)(p.local());
  const int fd = open_remote(p, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (fd < 0) return nullptr;
  DIR* d = list_of(fd);
  if (d == nullptr) close(fd);
  return d;
}
IO_EXPORT DIR* fdopendir(int fd) { return is_remote(fd) ? list_of(fd) : IO_REAL(fdopendir)(fd); }
IO_EXPORT int closedir(DIR* d) {
  listing* l = listing_of(d);
  if (l == nullptr) return IO_REAL(closedir)(d);
  {
    listings& all = open_listings();
    std::lock_guard guard(all.mutex);
    all.all.erase(l);
    all.count.fetch_sub(1, std::memory_order_release);
  }
  const int result = close(l->fd);
  delete l;
  return result;
}
IO_EXPORT struct dirent64* readdir64(DIR* d) {
  listing* l = listing_of(d);
  return l == nullptr ? IO_REAL(readdir64)(d) : next_entry(*l);
}
static_assert(sizeof(struct dirent) == sizeof(struct dirent64));
IO_EXPORT struct dirent* readdir(DIR* d) { return reinterpret_cast<struct dirent*>(readdir64(d)); }
IO_EXPORT int readdir64_r(DIR* d, struct dirent64* to, struct dirent64** result) {
  listing* l = listing_of(d);
  if (l == nullptr) return IO_REAL(readdir64_r)(d, to, result);
  const int before = std::exchange(errno, 0);
  const dirent64* e = next_entry(*l);
  const int error = std::exchange(errno, before);
  *result = e == nullptr ? nullptr : static_cast<dirent64*>(std::memcpy(to, e, e->d_reclen));
  return e == nullptr ? error : 0;
}
IO_EXPORT int readdir_r(DIR* d, struct dirent* to, struct dirent** result) {
  return readdir64_r(d, reinterpret_cast<dirent64*>(to), reinterpret_cast<dirent64**>(result));
}
IO_EXPORT ssize_t getdents64(int fd, void* to, size_t room) noexcept {
  if (!is_remote(fd)) return IO_REAL(getdents64)(fd, to, room);
  size_t size = 0;
  const int result = with_file(fd, [&](using_file& f) {
    remote_file::position at(f.file());
    const int error = f.client().list(f.handle(), at.get(), to, std::min<size_t>(room, most_records), &size);
    if (error == 0) at.set(behind_last(static_cast<const char*>(to), size, at.get()));
    return error;
  });
  return result == 0 ? static_cast<ssize_t>(size) : -1;
}
IO_EXPORT void rewinddir(DIR* d) noexcept {
  if (listing* l = listing_of(d))
    go_to(*l, 0);
  else
    IO_REAL(rewinddir)(d);
}
IO_EXPORT long telldir(DIR* d) noexcept {
  listing* l = listing_of(d);
  return l == nullptr ? IO_REAL(telldir)(d) : static_cast<long>(l->position);
}
IO_EXPORT void seekdir(DIR* d, long position) noexcept {
  if (listing* l = listing_of(d))
    go_to(*l, position);
  else
    IO_REAL(seekdir)(d, position);
}
IO_EXPORT int dirfd(DIR* d) noexcept {
  listing* l = listing_of(d);
  return l == nullptr ? IO_REAL(dirfd)(d) : l->fd;
}

IO_EXPORT int chdir(const char* path) noexcept {
  const place p(path);
  return p.remote() ? enter(p) : leave_to(IO_REAL(chdir)(p.local()));
}
IO_EXPORT int fchdir(int fd) noexcept {
  if (!is_remote(fd)) return leave_to(IO_REAL(fchdir)(fd));
  return enter(place(fd, "."));
}
IO_EXPORT char* getcwd(char* to, size_t room) noexcept {
  return unless_no_memory(
      [=]() -> char* {
        const auto inner = remote_cwd();
        if (!inner) return IO_REAL(getcwd)(to, room);
        if (to != nullptr && room == 0) return no_path(EINVAL);
        const std::string path = present_cwd();
        return path.empty() ? no_path(ENOENT) : copied(outer(path), to, room, room == 0);
      },
      no_path);
}
IO_EXPORT char* __getcwd_chk(char* to, size_t room, size_t) { return getcwd(to, room); }
IO_EXPORT char* getwd(char* to) noexcept {
  if (to == nullptr) return no_path(EINVAL);
  return getcwd(to, PATH_MAX);
}
IO_EXPORT char* get_current_dir_name() noexcept {
  return unless_no_memory(
      [] {
        const auto inner = remote_cwd();
        return inner ? getcwd(nullptr, 0) : IO_REAL(get_current_dir_name)();
      },
      no_path);
}

IO_EXPORT char* realpath(const char* path, char* to) noexcept {
  const place p(path);
  if (!p.remote()) return IO_REAL(realpath)(p.local(), to);
  return unless_no_memory(
      [&]() -> char* {
        const std::string text = real_path(p.names_descriptor() ? outer(p.inner()).c_str() : path);
        return text.empty() ? nullptr : copied(text, to, PATH_MAX, true);
      },
      no_path);
}
IO_EXPORT char* __realpath_chk(const char* path, char* to, size_t) { return realpath(path, to); }
IO_EXPORT char* canonicalize_file_name(const char* path) noexcept { return realpath(path, nullptr); }
