#include "lib/layers/lct/dictionary.hpp"

#include <cstring>

#include "lib/layers/lct/misuse.hpp"

namespace lct {

const LCT_dict_str_int_t* find_entry(const char* function, const LCT_dict_str_int_t* dict, int count, const char* key) {
  if (count < 0 || (count > 0 && dict == nullptr))
    fail(function, "count = %d, but must be the number of entries of dict, which is %s", count,
         dict == nullptr ? "NULL" : "not NULL");
  for (int i = 0; i < count; ++i) {
    const char* own = dict[i].key;
    if (own == key || (own != nullptr && key != nullptr && std::strcmp(own, key) == 0)) return &dict[i];
  }
  return nullptr;
}

std::string keys_of(const LCT_dict_str_int_t* dict, int count) {
  std::string keys;
  for (int i = 0; i < count; ++i) {
    if (dict[i].key == nullptr) continue;
    if (!keys.empty()) keys += ", ";
    keys += dict[i].key;
  }
  return keys;
}

}  // namespace lct
