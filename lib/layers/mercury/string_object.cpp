// The functions of mercury_string_object.h.
#include <mercury_string_object.h>

#include <cstdlib>
#include <cstring>

#include "lib/layers/mercury/misuse.hpp"

namespace {
hg_return_t set(const char* function, hg_string_object_t* string, char* s, hg_bool_t is_const, hg_bool_t is_owned) {
  if (string == nullptr) return mercury::fail(HG_FAIL, function, "string is NULL, but must not be");
  *string = {s, is_const, is_owned};
  return HG_SUCCESS;
}
}  // namespace

hg_return_t hg_string_object_init(hg_string_object_t* string) {
  return set(__func__, string, nullptr, HG_FALSE, HG_FALSE);
}

hg_return_t hg_string_object_init_char(hg_string_object_t* string, char* s, hg_bool_t is_owned) {
  return set(__func__, string, s, HG_FALSE, is_owned);
}

hg_return_t hg_string_object_init_const_char(hg_string_object_t* string, const char* s, hg_bool_t is_owned) {
  return set(__func__, string, const_cast<char*>(s), HG_TRUE, is_owned);
}

hg_return_t hg_string_object_free(hg_string_object_t* string) {
  if (string != nullptr && string->is_owned) std::free(string->data);
  return set(__func__, string, nullptr, HG_FALSE, HG_FALSE);
}

hg_return_t hg_string_object_dup(hg_string_object_t string, hg_string_object_t* new_string) {
  char* copy = nullptr;
  if (string.data != nullptr && (copy = strdup(string.data)) == nullptr) return HG_NOMEM_ERROR;
  const hg_return_t result = set(__func__, new_string, copy, HG_FALSE, HG_TRUE);
  if (result != HG_SUCCESS) std::free(copy);
  return result;
}

char* hg_string_object_swap(hg_string_object_t* string, char* s) {
  if (string == nullptr) return nullptr;
  char* old = string->data;
  string->data = s;
  return old;
}
