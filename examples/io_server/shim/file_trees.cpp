// Replaces fts_open() and its relatives: those of the C library see local folders only. If one of the paths is remote,
// the functions here walk the trees of all paths. They never change the working folder, so fts_accpath equals fts_path.
#include <dirent.h>
#include <fts.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "never_destroyed.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

using compare_entries = int (*)(const FTSENT**, const FTSENT**);
static_assert(sizeof(FTS) == sizeof(FTS64) && sizeof(FTSENT) == sizeof(FTSENT64) &&
              offsetof(FTSENT, fts_name) == offsetof(FTSENT64, fts_name));

// Options that fts.h reserves for the implementation.
constexpr int names_only = FTS_NAMEONLY, stopped = FTS_STOP;

struct walks {
  std::atomic<int> count{0};
  std::mutex mutex;
  std::unordered_set<const void*> all;  // under mutex
};

walks& open_walks() { return never_destroyed<walks>(); }

bool is_walk(const void* f) {
  walks& w = open_walks();
  if (w.count.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard guard(w.mutex);
  return w.all.count(f) != 0;
}

/// Allocates an entry with its status and its path as one block, which free() frees. Returns null without memory.
FTSENT* make_entry(const char* name, size_t size, const std::string& path) {
  const size_t head =
      (offsetof(FTSENT, fts_name) + size + 1 + alignof(struct stat) - 1) / alignof(struct stat) * alignof(struct stat);
  auto* const block = static_cast<char*>(std::calloc(1, head + sizeof(struct stat) + path.size() + 1));
  if (block == nullptr) return nullptr;
  auto* const e = reinterpret_cast<FTSENT*>(block);
  std::memcpy(block + offsetof(FTSENT, fts_name), name, size);
  e->fts_namelen = static_cast<unsigned short>(size);
  e->fts_statp = reinterpret_cast<struct stat*>(block + head);
  e->fts_path = e->fts_accpath = block + head + sizeof(struct stat);
  std::memcpy(e->fts_path, path.c_str(), path.size() + 1);
  e->fts_pathlen = static_cast<unsigned short>(path.size());
  e->fts_instr = FTS_NOINSTR;
  return e;
}

void free_list(FTSENT* e) {
  while (e != nullptr) std::free(std::exchange(e, e->fts_link));
}

bool is_dot(const char* name) { return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0; }

/// Fills in fts_statp by stat() or lstat(), and returns the value for fts_info.
unsigned short kind_of(const FTS& f, FTSENT& e, bool follow) {
  struct stat& s = *e.fts_statp;
  if ((f.fts_options & FTS_LOGICAL) != 0 || follow) {
    if (::stat(e.fts_accpath, &s) != 0) {
      const int error = errno;
      if (::lstat(e.fts_accpath, &s) == 0) {
        errno = 0;
        return FTS_SLNONE;
      }
      e.fts_errno = error;
      s = {};
      return FTS_NS;
    }
  } else if (::lstat(e.fts_accpath, &s) != 0) {
    e.fts_errno = errno;
    s = {};
    return FTS_NS;
  }
  if (S_ISLNK(s.st_mode)) return FTS_SL;
  if (!S_ISDIR(s.st_mode)) return S_ISREG(s.st_mode) ? FTS_F : FTS_DEFAULT;
  e.fts_dev = s.st_dev;
  e.fts_ino = s.st_ino;
  e.fts_nlink = s.st_nlink;
  if (is_dot(e.fts_name)) return FTS_DOT;
  for (FTSENT* t = e.fts_parent; t->fts_level >= FTS_ROOTLEVEL; t = t->fts_parent) {
    if (t->fts_ino != e.fts_ino || t->fts_dev != e.fts_dev) continue;
    e.fts_cycle = t;
    return FTS_DC;
  }
  return FTS_D;
}

/// Links the entries in their order, which the program's function determines if there is one. Returns the first.
FTSENT* linked(const FTS& f, std::vector<FTSENT*>& entries) {
  if (f.fts_compar != nullptr && entries.size() > 1)
    qsort(entries.data(), entries.size(), sizeof(FTSENT*), f.fts_compar);
  for (size_t i = 0; i + 1 < entries.size(); ++i) entries[i]->fts_link = entries[i + 1];
  if (entries.empty()) return nullptr;
  entries.back()->fts_link = nullptr;
  return entries.front();
}

enum class wanted { to_visit, status, names };

/// Lists the current folder. Returns null if it is empty or can't be listed.
FTSENT* list_folder(FTS& f, wanted what) {
  FTSENT& here = *f.fts_cur;
  std::vector<FTSENT*> entries;
  const auto fail = [&](int error) -> FTSENT* {
    for (FTSENT* e : entries) std::free(e);
    here.fts_info = FTS_ERR;
    f.fts_options |= stopped;
    errno = error;
    return nullptr;
  };
  const std::unique_ptr<DIR, int (*)(DIR*)> d(::opendir(here.fts_accpath), ::closedir);
  if (d == nullptr) {
    if (what == wanted::to_visit) {
      here.fts_info = FTS_DNR;
      here.fts_errno = errno;
    }
    return nullptr;
  }
  const bool only_folders = (f.fts_options & (FTS_NOSTAT | FTS_PHYSICAL)) == (FTS_NOSTAT | FTS_PHYSICAL);
  try {
    std::string path = here.fts_path;
    if (path.empty() || path.back() != '/') path += '/';
    const size_t base = path.size();
    while (const dirent* const found = ::readdir(d.get())) {
      if ((f.fts_options & FTS_SEEDOT) == 0 && is_dot(found->d_name)) continue;
      path.replace(base, std::string::npos, found->d_name);
      if (path.size() > USHRT_MAX) return fail(ENAMETOOLONG);
      entries.push_back(nullptr);
      FTSENT* const e = entries.back() = make_entry(found->d_name, path.size() - base, path);
      if (e == nullptr) return fail(ENOMEM);
      e->fts_level = static_cast<short>(here.fts_level + 1);
      e->fts_parent = &here;
      const bool may_be_folder = found->d_type == DT_DIR || found->d_type == DT_UNKNOWN;
      const bool no_status = what == wanted::names || (only_folders && !may_be_folder);
      e->fts_info = no_status ? FTS_NSOK : kind_of(f, *e, false);
    }
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
  f.fts_nitems = static_cast<int>(entries.size());
  if (entries.empty() && what == wanted::to_visit) here.fts_info = FTS_DP;
  return linked(f, entries);
}

/// Begins the walk of a path that the program has passed: sets fts_name to the path's last part.
void begin_root(FTS& f, FTSENT& root) {
  const char* const slash = std::strrchr(root.fts_name, '/');
  if (slash != nullptr && (slash != root.fts_name || slash[1] != '\0')) {
    root.fts_namelen = static_cast<unsigned short>(std::strlen(slash + 1));
    std::memmove(root.fts_name, slash + 1, root.fts_namelen + size_t{1});
  }
  f.fts_dev = root.fts_dev;
}

FTSENT* shown(FTS& f, FTSENT* e) {
  f.fts_cur = e;
  f.fts_path = e->fts_path;
  f.fts_pathlen = e->fts_pathlen;
  return e;
}

/// Follows the link if the program has asked for it.
void prepare(const FTS& f, FTSENT& e) {
  if (e.fts_instr != FTS_FOLLOW) return;
  e.fts_info = kind_of(f, e, true);
  e.fts_instr = FTS_NOINSTR;
}

/// Returns the entry that fts_read() reports after `done`.
FTSENT* leave_entry(FTS& f, FTSENT* done) {
  for (;;) {
    FTSENT* const next = done->fts_link;
    if (next == nullptr) break;
    std::free(std::exchange(done, next));
    if (done->fts_level == FTS_ROOTLEVEL)
      begin_root(f, *done);
    else if (done->fts_instr == FTS_SKIP)
      continue;
    prepare(f, *done);
    return shown(f, done);
  }
  FTSENT* const above = done->fts_parent;
  std::free(done);
  if (above->fts_level == FTS_ROOTPARENTLEVEL) {
    std::free(above);
    errno = 0;
    f.fts_path = nullptr;
    return f.fts_cur = nullptr;
  }
  above->fts_info = above->fts_errno != 0 ? FTS_ERR : FTS_DP;
  return shown(f, above);
}

FTSENT* read_walk(FTS& f) {
  if (f.fts_cur == nullptr || (f.fts_options & stopped) != 0) return nullptr;
  FTSENT* const here = f.fts_cur;
  const int instruction = std::exchange(here->fts_instr, FTS_NOINSTR);
  if (instruction == FTS_AGAIN) {
    here->fts_info = kind_of(f, *here, false);
    return here;
  }
  if (instruction == FTS_FOLLOW && (here->fts_info == FTS_SL || here->fts_info == FTS_SLNONE)) {
    here->fts_info = kind_of(f, *here, true);
    return here;
  }
  if (here->fts_info != FTS_D) return leave_entry(f, here);
  const bool is_skipped = instruction == FTS_SKIP || ((f.fts_options & FTS_XDEV) != 0 && here->fts_dev != f.fts_dev);
  if (is_skipped || (f.fts_options & names_only) != 0) free_list(std::exchange(f.fts_child, nullptr));
  f.fts_options &= ~names_only;
  if (is_skipped) {
    here->fts_info = FTS_DP;
    return here;
  }
  if (f.fts_child == nullptr) f.fts_child = list_folder(f, wanted::to_visit);
  if (f.fts_child == nullptr) return (f.fts_options & stopped) != 0 ? nullptr : here;
  FTSENT* const first = std::exchange(f.fts_child, nullptr);
  prepare(f, *first);
  return shown(f, first);
}

FTSENT* children_of(FTS& f, int instruction) {
  if (instruction != 0 && instruction != FTS_NAMEONLY) {
    errno = EINVAL;
    return nullptr;
  }
  FTSENT* const here = f.fts_cur;
  errno = 0;
  if ((f.fts_options & stopped) != 0 || here == nullptr) return nullptr;
  if (here->fts_info == FTS_INIT) return here->fts_link;
  if (here->fts_info != FTS_D) return nullptr;
  free_list(std::exchange(f.fts_child, nullptr));
  if (instruction == FTS_NAMEONLY) f.fts_options |= names_only;
  return f.fts_child = list_folder(f, instruction == FTS_NAMEONLY ? wanted::names : wanted::status);
}

void free_walk(FTS* f) {
  if (f->fts_cur != nullptr) {
    FTSENT* e = f->fts_cur;
    while (e->fts_level >= FTS_ROOTLEVEL)
      std::free(std::exchange(e, e->fts_link != nullptr ? e->fts_link : e->fts_parent));
    std::free(e);
  }
  free_list(f->fts_child);
  std::free(f);
}

/// Throws std::bad_alloc.
FTS* open_walk(char* const* paths, int options, compare_entries compare) {
  std::unique_ptr<FTS, void (*)(FTS*)> f(static_cast<FTS*>(std::calloc(1, sizeof(FTS))), free_walk);
  if (f == nullptr) throw std::bad_alloc();
  f->fts_compar = reinterpret_cast<int (*)(const void*, const void*)>(compare);
  f->fts_options = options | FTS_NOCHDIR;
  FTSENT* const above = make_entry("", 0, "");
  if (above == nullptr) throw std::bad_alloc();
  above->fts_level = FTS_ROOTPARENTLEVEL;
  f->fts_cur = above;
  FTSENT* const begin = make_entry("", 0, "");  // before the first path
  if (begin == nullptr) throw std::bad_alloc();
  begin->fts_parent = above;
  begin->fts_info = FTS_INIT;
  f->fts_cur = begin;
  std::vector<FTSENT*> roots;
  for (; *paths != nullptr; ++paths) {
    const size_t size = std::strlen(*paths);
    if (size == 0 || size > USHRT_MAX) return errno = size == 0 ? ENOENT : ENAMETOOLONG, nullptr;
    roots.push_back(nullptr);
    FTSENT* const e = roots.back() = make_entry(*paths, size, *paths);
    if (e == nullptr) throw std::bad_alloc();
    (roots.size() == 1 ? begin : roots[roots.size() - 2])->fts_link = e;
    e->fts_parent = above;
    e->fts_info = kind_of(*f, *e, (options & FTS_COMFOLLOW) != 0);
    if (e->fts_info == FTS_DOT) e->fts_info = FTS_D;
  }
  begin->fts_link = linked(*f, roots);
  walks& w = open_walks();
  const std::lock_guard guard(w.mutex);
  w.all.insert(f.get());
  w.count.fetch_add(1, std::memory_order_release);
  return f.release();
}

int close_walk(FTS* f) {
  walks& w = open_walks();
  {
    const std::lock_guard guard(w.mutex);
    w.all.erase(f);
    w.count.fetch_sub(1, std::memory_order_relaxed);
  }
  free_walk(f);
  return 0;
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT FTS* fts_open(char* const* paths, int options, int (*compare)(const FTSENT**, const FTSENT**)) {
  return unless_no_memory(
      [&] {
        std::vector<place> places;
        for (char* const* p = paths; *p != nullptr; ++p) places.emplace_back(*p);
        const bool any = std::any_of(places.begin(), places.end(), [](const place& p) { return p.remote(); });
        if (any && (options & ~FTS_OPTIONMASK) == 0) return open_walk(paths, options, compare);
        std::vector<char*> local;
        for (const place& p : places) local.push_back(const_cast<char*>(p.local()));
        local.push_back(nullptr);
        return IO_REAL(fts_open)(local.data(), options, compare);
      },
      [](int error) -> FTS* { return errno = error, nullptr; });
}
IO_EXPORT FTSENT* fts_read(FTS* f) { return is_walk(f) ? read_walk(*f) : IO_REAL(fts_read)(f); }
IO_EXPORT FTSENT* fts_children(FTS* f, int instruction) {
  return is_walk(f) ? children_of(*f, instruction) : IO_REAL(fts_children)(f, instruction);
}
IO_EXPORT int fts_close(FTS* f) { return is_walk(f) ? close_walk(f) : IO_REAL(fts_close)(f); }

// The structures of the names with 64 differ by name only.
IO_EXPORT FTS64* fts64_open(char* const* paths, int options, int (*compare)(const FTSENT64**, const FTSENT64**)) {
  return reinterpret_cast<FTS64*>(fts_open(paths, options, reinterpret_cast<compare_entries>(compare)));
}
IO_EXPORT FTSENT64* fts64_read(FTS64* f) { return reinterpret_cast<FTSENT64*>(fts_read(reinterpret_cast<FTS*>(f))); }
IO_EXPORT FTSENT64* fts64_children(FTS64* f, int instruction) {
  return reinterpret_cast<FTSENT64*>(fts_children(reinterpret_cast<FTS*>(f), instruction));
}
IO_EXPORT int fts64_close(FTS64* f) { return fts_close(reinterpret_cast<FTS*>(f)); }
