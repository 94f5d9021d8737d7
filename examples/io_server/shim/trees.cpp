// Functions of the C library that list folders and trees of folders by internal calls, which can't be replaced:
// scandir, glob, ftw and nftw.
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "opening.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

template <class Body>
int without_exceptions(Body body) {
  return unless_no_memory(body, result_of);
}

/// As scandir(), for an open listing, which it closes.
int scan(DIR* d, struct dirent*** names, int (*wanted)(const struct dirent*),
         int (*compare)(const struct dirent**, const struct dirent**)) {
  if (d == nullptr) return -1;
  std::vector<struct dirent*> found;
  int error = 0;
  for (;;) {
    errno = 0;
    const struct dirent* e = ::readdir(d);
    if (e == nullptr) {
      error = errno;
      break;
    }
    if (wanted != nullptr && wanted(e) == 0) continue;
    void* copy = std::malloc(e->d_reclen);
    if (copy == nullptr) {
      error = ENOMEM;
      break;
    }
    try {
      found.push_back(static_cast<struct dirent*>(std::memcpy(copy, e, e->d_reclen)));
    } catch (const std::bad_alloc&) {
      std::free(copy);
      error = ENOMEM;
      break;
    }
  }
  ::closedir(d);
  auto** all =
      error == 0 ? static_cast<struct dirent**>(std::malloc((found.size() + 1) * sizeof(struct dirent*))) : nullptr;
  if (all == nullptr) {
    for (struct dirent* e : found) std::free(e);
    return result_of(error != 0 ? error : ENOMEM);
  }
  if (!found.empty()) std::memcpy(all, found.data(), found.size() * sizeof found[0]);
  if (compare != nullptr)
    qsort(all, found.size(), sizeof *all, reinterpret_cast<int (*)(const void*, const void*)>(compare));
  *names = all;
  errno = 0;
  return static_cast<int>(found.size());
}

/// How often nftw() tries to return to the program's working folder if there is no memory for a request.
constexpr int most_tries = 3;

using visitor = int (*)(const char*, const struct stat*, int, struct FTW*);

/// One call of ftw() or nftw().
class tree_walk {
 public:
  tree_walk(visitor call, __ftw_func_t old_call, int flags) : call_(call), old_call_(old_call), flags_(flags) {}

  int run(const char* path) {
    std::string top = path;
    if (top.empty()) return result_of(ENOENT);
    while (top.size() > 1 && top.back() == '/') top.pop_back();
    const size_t slash = top.rfind('/');
    const size_t base = slash == std::string::npos || top.size() == 1 ? 0 : slash + 1;
    struct stat s {};
    int kind = 0;
    if (attributes(top, s) == 0) {
      kind = S_ISDIR(s.st_mode) ? FTW_D : S_ISLNK(s.st_mode) ? FTW_SL : FTW_F;
    } else if (!is_physical() && errno == ENOENT && ::lstat(top.c_str(), &s) == 0 && S_ISLNK(s.st_mode)) {
      kind = FTW_SLN;
    } else {
      return -1;
    }
    device_ = s.st_dev;
    if ((flags_ & FTW_CHDIR) != 0) {
      char text[PATH_MAX];
      if (::getcwd(text, sizeof text) == nullptr) return -1;
      start_ = text;
      if (enter(top.substr(0, base)) != 0) return -1;
    }
    int result =
        without_exceptions([&] { return kind == FTW_D ? folder(top, base, 0, s) : report(top, base, 0, s, kind); });
    if ((flags_ & FTW_ACTIONRETVAL) != 0 && (result == FTW_SKIP_SUBTREE || result == FTW_SKIP_SIBLINGS)) result = 0;
    const int error = errno;
    if ((flags_ & FTW_CHDIR) != 0 && back_to_start() != 0 && result == 0) return -1;
    errno = error;
    return result;
  }

 private:
  bool is_physical() const { return (flags_ & FTW_PHYS) != 0; }
  bool acts() const { return (flags_ & FTW_ACTIONRETVAL) != 0; }
  int attributes(const std::string& path, struct stat& s) const {
    const std::string whole = from_start(path);
    return is_physical() ? ::lstat(whole.c_str(), &s) : ::stat(whole.c_str(), &s);
  }
  /// The path for calls while FTW_CHDIR changes the working folder.
  std::string from_start(const std::string& path) const {
    return start_.empty() || path[0] == '/' ? path : start_ + "/" + path;
  }
  int enter(const std::string& path) const {
    return (flags_ & FTW_CHDIR) == 0 ? 0 : ::chdir(path.empty() ? start_.c_str() : from_start(path).c_str());
  }

  /// Tried several times without memory: the program continues in the working folder of its call.
  int back_to_start() const {
    for (int n = 1; n < most_tries; ++n)
      if (without_exceptions([&] { return ::chdir(start_.c_str()); }) == 0) return 0;
    return without_exceptions([&] { return ::chdir(start_.c_str()); });
  }

  int report(const std::string& path, size_t base, int level, const struct stat& s, int kind) const {
    if (old_call_ != nullptr)
      return old_call_(path.c_str(), &s, kind == FTW_SLN ? FTW_NS : kind == FTW_SL ? FTW_F : kind);
    struct FTW where {
      static_cast<int>(base), level
    };
    return call_(path.c_str(), &s, kind, &where);
  }

  int folder(const std::string& path, size_t base, int level, const struct stat& s) {
    if (!is_physical() && !seen_.insert({s.st_dev, s.st_ino}).second) return 0;
    std::vector<std::string> names;
    {
      const std::unique_ptr<DIR, int (*)(DIR*)> d(::opendir(from_start(path).c_str()), ::closedir);
      if (d == nullptr) return errno == EACCES ? report(path, base, level, s, FTW_DNR) : -1;
      const auto next = [&] {
        errno = 0;  // readdir() changes it only if it fails
        return ::readdir(d.get());
      };
      while (const struct dirent* e = next())
        if (std::strcmp(e->d_name, ".") != 0 && std::strcmp(e->d_name, "..") != 0) names.emplace_back(e->d_name);
      if (errno != 0) return -1;
    }
    if ((flags_ & FTW_DEPTH) == 0)
      if (const int result = report(path, base, level, s, FTW_D); result != 0) return result;
    if (enter(path) != 0) return -1;
    const std::string prefix = path.back() == '/' ? path : path + "/";
    int result = 0;
    for (const std::string& name : names) {
      result = entry(prefix + name, prefix.size(), level + 1);
      if (acts() && result == FTW_SKIP_SUBTREE) result = 0;
      if (result != 0) break;
    }
    if (acts() && result == FTW_SKIP_SIBLINGS) result = 0;
    // With FTW_CHDIR, the working folder at this call is the reported folder itself, as with glibc.
    if (result == 0 && (flags_ & FTW_DEPTH) != 0) result = report(path, base, level, s, FTW_DP);
    if (enter(path.substr(0, base)) != 0 && result == 0) return -1;
    return result;
  }

  int entry(const std::string& path, size_t base, int level) {
    struct stat s {};
    if (attributes(path, s) != 0) {
      if (errno != EACCES && errno != ENOENT) return -1;
      const bool dangles = !is_physical() && ::lstat(from_start(path).c_str(), &s) == 0 && S_ISLNK(s.st_mode);
      return report(path, base, level, s, dangles ? FTW_SLN : FTW_NS);
    }
    if ((flags_ & FTW_MOUNT) != 0 && s.st_dev != device_) return 0;
    if (S_ISDIR(s.st_mode)) return folder(path, base, level, s);
    return report(path, base, level, s, S_ISLNK(s.st_mode) ? FTW_SL : FTW_F);
  }

  const visitor call_;
  const __ftw_func_t old_call_;
  const int flags_;
  dev_t device_ = 0;
  std::string start_;  // the working folder at the call, with FTW_CHDIR
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT int scandir(const char* path, struct dirent*** names, int (*wanted)(const struct dirent*),
                      int (*compare)(const struct dirent**, const struct dirent**)) {
  return without_exceptions([&] {
    const place p(path);
    if (!p.remote()) return IO_REAL(scandir)(p.local(), names, wanted, compare);
    return scan(::opendir(path), names, wanted, compare);
  });
}
IO_EXPORT int scandirat(int folder, const char* path, struct dirent*** names, int (*wanted)(const struct dirent*),
                        int (*compare)(const struct dirent**, const struct dirent**)) {
  return without_exceptions([&] {
    const place p(folder, path);
    if (!p.remote()) return IO_REAL(scandirat)(folder, p.local(), names, wanted, compare);
    const int fd = open_remote(p, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) return -1;
    DIR* const d = ::fdopendir(fd);
    if (d == nullptr) ::close(fd);
    return scan(d, names, wanted, compare);
  });
}
// The functions of the names with 64 have the same types but for the names of the structures.
IO_EXPORT int scandir64(const char* path, struct dirent64*** names, int (*wanted)(const struct dirent64*),
                        int (*compare)(const struct dirent64**, const struct dirent64**)) {
  return scandir(path, reinterpret_cast<struct dirent***>(names),
                 reinterpret_cast<int (*)(const struct dirent*)>(wanted),
                 reinterpret_cast<int (*)(const struct dirent**, const struct dirent**)>(compare));
}
IO_EXPORT int scandirat64(int folder, const char* path, struct dirent64*** names, int (*wanted)(const struct dirent64*),
                          int (*compare)(const struct dirent64**, const struct dirent64**)) {
  return scandirat(folder, path, reinterpret_cast<struct dirent***>(names),
                   reinterpret_cast<int (*)(const struct dirent*)>(wanted),
                   reinterpret_cast<int (*)(const struct dirent**, const struct dirent**)>(compare));
}

// A pattern may have several places, e.g. {/remote,/tmp}/*, so all patterns are expanded by the replaced functions.
IO_EXPORT int glob(const char* pattern, int flags, int (*on_error)(const char*, int),
                   glob_t* found) noexcept(noexcept(::glob(pattern, flags, on_error, found))) {
  if (configured().server.empty() || is_inside() || (flags & GLOB_ALTDIRFUNC) != 0)
    return IO_REAL(glob)(pattern, flags, on_error, found);
  // No exception may pass the C library's function.
  found->gl_opendir = [](const char* path) -> void* {
    return unless_no_memory([&] { return ::opendir(path); }, [](int error) { return errno = error, nullptr; });
  };
  found->gl_readdir = [](void* d) { return ::readdir(static_cast<DIR*>(d)); };
  found->gl_closedir = [](void* d) { (void)::closedir(static_cast<DIR*>(d)); };
  found->gl_stat = [](const char* path, struct stat* s) { return without_exceptions([&] { return ::stat(path, s); }); };
  found->gl_lstat = [](const char* path, struct stat* s) {
    return without_exceptions([&] { return ::lstat(path, s); });
  };
  const int result = IO_REAL(glob)(pattern, flags | GLOB_ALTDIRFUNC, on_error, found);
  found->gl_flags &= ~GLOB_ALTDIRFUNC;
  return result;
}
IO_EXPORT int glob64(const char* pattern, int flags, int (*on_error)(const char*, int),
                     glob64_t* found) noexcept(noexcept(::glob64(pattern, flags, on_error, found))) {
  static_assert(sizeof(glob_t) == sizeof(glob64_t));
  return glob(pattern, flags, on_error, reinterpret_cast<glob_t*>(found));
}

IO_EXPORT int ftw(const char* path, __ftw_func_t call, int descriptors) {
  return without_exceptions([&] {
    const place p(path);
    if (!p.remote()) return IO_REAL(ftw)(p.local(), call, descriptors);
    return tree_walk(nullptr, call, 0).run(path);
  });
}
IO_EXPORT int nftw(const char* path, __nftw_func_t call, int descriptors, int flags) {
  return without_exceptions([&] {
    const place p(path);
    if (!p.remote()) return IO_REAL(nftw)(p.local(), call, descriptors, flags);
    constexpr int all = FTW_PHYS | FTW_MOUNT | FTW_CHDIR | FTW_DEPTH | FTW_ACTIONRETVAL;
    if ((flags & ~all) != 0) return result_of(EINVAL);
    return tree_walk(call, nullptr, flags).run(path);
  });
}
IO_EXPORT int ftw64(const char* path, __ftw64_func_t call, int descriptors) {
  return ftw(path, reinterpret_cast<__ftw_func_t>(call), descriptors);
}
IO_EXPORT int nftw64(const char* path, __nftw64_func_t call, int descriptors, int flags) {
  return nftw(path, reinterpret_cast<__nftw_func_t>(call), descriptors, flags);
}
