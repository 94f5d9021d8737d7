/* The hash of a string by which HG makes the id of a function of its name: djb2 (h = h * 33 + c, from 5381). */
#ifndef MERCURY_HASH_STRING_H
#define MERCURY_HASH_STRING_H

#include <mercury_util_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 for NULL. */
static HG_UTIL_INLINE unsigned int hg_hash_string(const char* string) {
  unsigned int h = 5381;
  if (string == NULL) return 0;
  for (; *string != 0; ++string) h = h * 33 + (unsigned char)*string;
  return h;
}

#ifdef __cplusplus
}
#endif

#endif
