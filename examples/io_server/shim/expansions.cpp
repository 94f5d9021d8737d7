// fts_open() and wordexp(), which look at folders by internal calls that can't be replaced. They are refused for remote
// folders: the C library would look at local ones.
#include <fts.h>
#include <wordexp.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "calls.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

template <class Function, class Compare>
auto open_trees(Function real, char* const* paths, int options, Compare compare) -> decltype(real(paths, 0, compare)) {
  using result = decltype(real(paths, 0, compare));
  return unless_no_memory(
      [&]() -> result {
        std::vector<place> places;
        for (char* const* p = paths; *p != nullptr; ++p) places.emplace_back(*p);
        std::vector<char*> local;
        for (const place& p : places) {
          if (p.remote()) return errno = EOPNOTSUPP, nullptr;
          local.push_back(const_cast<char*>(p.local()));
        }
        local.push_back(nullptr);
        return real(local.data(), options, compare);
      },
      [](int error) -> result { return errno = error, nullptr; });
}

bool has_pattern(const char* text) { return std::strpbrk(text, "*?[") != nullptr; }

/// Returns whether a word is a remote path, and the text or the word has a pattern. If a local folder has the name of a
/// remote one, the C library has compared the pattern with files there; otherwise it has left the pattern as it is.
bool has_remote_pattern(const char* text, const wordexp_t& words) {
  const bool any = has_pattern(text);
  for (size_t i = 0; i < words.we_wordc; ++i) {
    const char* const word = words.we_wordv[words.we_offs + i];
    if ((any || has_pattern(word)) && place(word).remote()) return true;
  }
  return false;
}

}  // namespace

}  // namespace io_shim

using namespace io_shim;

IO_EXPORT FTS* fts_open(char* const* paths, int options, int (*compare)(const FTSENT**, const FTSENT**)) {
  return open_trees(IO_REAL(fts_open), paths, options, compare);
}
IO_EXPORT FTS64* fts64_open(char* const* paths, int options, int (*compare)(const FTSENT64**, const FTSENT64**)) {
  return open_trees(IO_REAL(fts64_open), paths, options, compare);
}

IO_EXPORT int wordexp(const char* text, wordexp_t* words, int flags) {
  const int result = IO_REAL(wordexp)(text, words, flags);
  if (result != 0 || configured().server.empty() || is_inside()) return result;
  // In a remote working folder, a pattern has been compared with the files of a local one.
  const bool is_relative = has_pattern(text) && remote_cwd().has_value();
  if (!is_relative && !has_remote_pattern(text, *words)) return result;
  if ((flags & WRDE_APPEND) == 0) wordfree(words);
  errno = EOPNOTSUPP;
  return WRDE_NOSYS;
}
