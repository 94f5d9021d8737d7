/* Strings that record whether they own their characters. One thread at a time may use an object. */
#ifndef MERCURY_STRING_OBJECT_H
#define MERCURY_STRING_OBJECT_H

#include <mercury_types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hg_string_object {
  char* data;
  hg_bool_t is_const; /* the program must not change the characters */
  hg_bool_t is_owned; /* the characters are memory of malloc(), which hg_string_object_free() frees */
} hg_string_object_t;

/* Initializes a string object without characters. */
HG_EXPORT hg_return_t hg_string_object_init(hg_string_object_t* string);
HG_EXPORT hg_return_t hg_string_object_init_char(hg_string_object_t* string, char* s, hg_bool_t is_owned);
HG_EXPORT hg_return_t hg_string_object_init_const_char(hg_string_object_t* string, const char* s, hg_bool_t is_owned);
HG_EXPORT hg_return_t hg_string_object_free(hg_string_object_t* string);
/* Creates a copy that owns its characters. */
HG_EXPORT hg_return_t hg_string_object_dup(hg_string_object_t string, hg_string_object_t* new_string);
/* Replaces the characters by `s`. Returns the old characters, which the object no longer owns. is_owned is unchanged:
 * if it is true, the object now owns `s`. */
HG_EXPORT char* hg_string_object_swap(hg_string_object_t* string, char* s);

#ifdef __cplusplus
}
#endif

#endif
