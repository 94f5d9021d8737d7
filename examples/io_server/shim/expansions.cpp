// wordexp(), which looks at folders by internal calls that can't be replaced. It is refused for patterns of remote
// files: the C library would look at local ones.
#include <wordexp.h>

#include <cerrno>
#include <cstring>

#include "calls.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

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
