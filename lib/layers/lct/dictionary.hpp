// Names and the numbers they stand for, as users give them.
#pragma once

#include <lct.h>

#include <string>

namespace lct {

/// The entry with this key, or null. A key that is NULL is one, too.
const LCT_dict_str_int_t* find_entry(const char* function, const LCT_dict_str_int_t* dict, int count,
                                     const char* key);

/// "a, b, c".
std::string keys_of(const LCT_dict_str_int_t* dict, int count);

}  // namespace lct
