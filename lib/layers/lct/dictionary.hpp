// Look-up in the user's tables of names and numbers.
#pragma once

#include <lct.h>

#include <string>

namespace lct {

/// The entry with this key, or null. NULL is a valid key.
const LCT_dict_str_int_t* find_entry(const char* function, const LCT_dict_str_int_t* dict, int count, const char* key);

/// "a, b, c".
std::string keys_of(const LCT_dict_str_int_t* dict, int count);

}  // namespace lct
