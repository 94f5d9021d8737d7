// Operations on strings, and look-up of named numbers.
#include <lct.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "lib/layers/lct/dictionary.hpp"
#include "lib/layers/lct/misuse.hpp"

namespace {

/// A copy in memory that the caller frees by free().
const char* for_c(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

const char* replace(const char* function, const char* in, const char* from, const char* to, bool all) {
  lct::require(function, "in", in);
  lct::require(function, "from", from);
  lct::require(function, "to", to);
  return lct::or_null(function, [&] {
    const std::string_view text = in, pattern = from;
    std::string out;
    size_t at = 0;
    while (!pattern.empty()) {
      const size_t next = text.find(pattern, at);
      if (next == text.npos) break;
      out.append(text, at, next - at).append(to);
      at = next + pattern.size();
      if (!all) break;
    }
    out.append(text, at);
    return for_c(out);
  });
}

}  // namespace

const char* LCT_str_replace_one(const char* in, const char* from, const char* to) {
  return replace("LCT_str_replace_one", in, from, to, false);
}
const char* LCT_str_replace_all(const char* in, const char* from, const char* to) {
  return replace("LCT_str_replace_all", in, from, to, true);
}

int LCT_str_int_search(LCT_dict_str_int_t dict[], int count, const char* key, int default_val, int* val) {
  lct::require("LCT_str_int_search", "val", val);
  const LCT_dict_str_int_t* entry = lct::find_entry("LCT_str_int_search", dict, count, key);
  *val = entry != nullptr ? entry->val : default_val;
  return entry != nullptr;
}

uint64_t LCT_parse_arg(LCT_dict_str_int_t dict[], int count, const char* key, const char* delimiter) {
  constexpr const char* me = "LCT_parse_arg";
  lct::require(me, "delimiter", delimiter);
  if (key == nullptr) return 0;
  return lct::or_fail(me, [&] {
    uint64_t bits = 0;
    const std::string_view list = key;
    for (size_t at = 0; at < list.size();) {
      const size_t end = std::min(list.find_first_of(delimiter, at), list.size());
      const std::string name(list.substr(at, end - at));
      at = end + 1;
      if (name.empty()) continue;
      if (const LCT_dict_str_int_t* entry = lct::find_entry(me, dict, count, name.c_str())) {
        bits |= static_cast<uint64_t>(int64_t{entry->val});
      } else {
        LCT_Warn(LCT_log_ctx_default, "%s: '%s' is none of: %s", me, name.c_str(), lct::keys_of(dict, count).c_str());
      }
    }
    return bits;
  });
}
