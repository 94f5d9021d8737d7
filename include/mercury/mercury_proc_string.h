/* Strings as arguments of functions. NULL is decoded as NULL. Decoding allocates with malloc(); HG_FREE frees. */
#ifndef MERCURY_PROC_STRING_H
#define MERCURY_PROC_STRING_H

#include <mercury_proc.h>
#include <mercury_string_object.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const char* hg_const_string_t;
typedef char* hg_string_t;

HG_EXPORT hg_return_t hg_proc_hg_const_string_t(hg_proc_t proc, hg_const_string_t* data);
HG_EXPORT hg_return_t hg_proc_hg_string_t(hg_proc_t proc, hg_string_t* data);
HG_EXPORT hg_return_t hg_proc_hg_string_object_t(hg_proc_t proc, hg_string_object_t* string);

#ifdef __cplusplus
}
#endif

#endif
